// SPDX-License-Identifier: BSD-3-Clause
// Release "etf": the qdisc keeps frames until shortly before their times.
#include "keepon/sim/release_kind.hpp"

#include "keepon/sim/etf_qdisc.hpp"

namespace keepon::sim
{

namespace
{

std::unique_ptr<Qdisc> Make(const ReleaseSetup &setup)
{
	return std::make_unique<EtfQdisc>(setup.host, setup.driver,
					  EtfSpec{ .delta_ns = setup.spec.etf_delta_ns }, nullptr,
					  nullptr);
}

const Registry<ReleaseKind>::Entry kEntry{ "etf", { true, Make } };

} // namespace

} // namespace keepon::sim
