// SPDX-License-Identifier: BSD-3-Clause
// The credit-based shaper (IEEE Std 802.1Q-2022 clause 8.6.8.2): a queue sends while its credit is
// not negative.
//
//   the queue sends                  idleSlope - the port's rate
//   frames wait                      idleSlope
//   empty, credit below 0            idleSlope, to 0 at most
//   empty, credit above 0            it is 0 at once
//   its gate is shut                 nothing changes
//
// A frame is sent from its preamble to the end of the gap behind it, so that slopes are of the
// wire. With gates that shut, idleSlope is operIdleSlope: that which was asked for, by what share
// of the cycle the gate is open. Credit is exact: in bits of 1e-12.
#pragma once

#include <cstdint>

#include "keepon/sim/egress_port.hpp"

namespace keepon::sim
{

class CreditShaper final : public TransmissionSelection
{
public:
	/// Throws ValueError: the slope is not within 1 and the port's rate. The port's gates are
	/// those that it keeps.
	CreditShaper(EgressPort &port, int queue, std::int64_t idle_slope_bps);

	TimePs EligibleAt(const QueuedFrame &head, TimePs now) override;
	void OnSent(const QueuedFrame &frame, TimePs start, TimePs end) override;
	void OnQueued(TimePs now) override;
	void OnEmpty(TimePs now) override;

private:
	using Credit = __int128;

	void Settle(TimePs now);

	EgressPort &port_;
	int queue_;
	std::int64_t rate_bps_;
	std::int64_t idle_slope_bps_;
	Credit credit_ = 0; // at at_
	std::int64_t at_;   // EgressPort::OpenTime()
	TimePs sent_until_ = 0;
	bool empty_ = true;
};

} // namespace keepon::sim
