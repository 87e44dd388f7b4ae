// SPDX-License-Identifier: BSD-3-Clause
// Leaf "fifo", where no other was asked for.
#include "keepon/sim/leaf_kind.hpp"

namespace keepon::sim
{

namespace
{

/// Nothing ever waits here: the driver has a queue of its own.
class FifoQdisc final : public Qdisc
{
public:
	explicit FifoQdisc(QdiscBelow &below) : below_(below) {}
	void Enqueue(TxFrame &frame) override { below_.HandOn(frame); }

private:
	QdiscBelow &below_;
};

std::unique_ptr<Qdisc> Make(const LeafSetup &setup)
{
	return std::make_unique<FifoQdisc>(setup.below);
}

const Registry<LeafKind>::Entry kEntry{ "fifo", { Make } };

} // namespace

} // namespace keepon::sim
