// SPDX-License-Identifier: BSD-3-Clause
// The PHC of a keepon station that counts its receive ring as well: RX stamps come from a frame's
// place among all that arrived.
#pragma once

#include "keepon/sim/keepon_clock.hpp"
#include "keepon/sim/rx_ring.hpp"

namespace keepon::sim
{

class DualClock final : public KeeponClock
{
public:
	explicit DualClock(KeeponTransmitter &transmitter)
		: KeeponClock(transmitter), owner_(transmitter)
	{
	}

	/// Where the ring does not know, as without it.
	std::int64_t RxStampPs(TimePs sfd, TimePs seen) override
	{
		const auto stamp_ps = owner_.Rx()->StampPs(sfd);
		return stamp_ps ? *stamp_ps : KeeponClock::RxStampPs(sfd, seen);
	}
	const char *Stamps() const override { return "slot (tx), receive ring (rx)"; }

private:
	KeeponTransmitter &owner_; // has its ring once it is linked
};

} // namespace keepon::sim
