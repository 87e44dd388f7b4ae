// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/credit_shaper.hpp"

#include <algorithm>
#include <string>

namespace keepon::sim
{

CreditShaper::CreditShaper(EgressPort &port, int queue, std::int64_t idle_slope_bps)
	: port_(port), queue_(queue), rate_bps_(8'000'000'000'000 / port.Wire().ByteTimePs()),
	  idle_slope_bps_(idle_slope_bps)
{
	const Gates &gates = port.GateList();
	if (gates.Any() && idle_slope_bps > 0) {
		const Credit asked = Credit{ idle_slope_bps } * gates.CyclePs();
		const Credit open = std::max<Credit>(gates.OpenPs(queue), 1);
		idle_slope_bps_ =
			static_cast<std::int64_t>(std::min<Credit>(asked / open, INT64_MAX));
	}
	if (idle_slope_bps_ < 1 || idle_slope_bps_ > rate_bps_)
		throw ValueError("idle slope " + std::to_string(idle_slope_bps_) +
				 " bit/s of queue " + std::to_string(queue) +
				 ", while its gate is open, is not within 1 to " +
				 std::to_string(rate_bps_));
	at_ = port.OpenTime(queue, 0);
}

/// Credit at \p now, from when on things change.
void CreditShaper::Settle(TimePs now)
{
	const std::int64_t open = port_.OpenTime(queue_, now);
	if (open > at_) {
		credit_ += Credit{ idle_slope_bps_ } * (open - at_);
		at_ = open;
	}
	if (empty_ && now >= sent_until_)
		credit_ = std::min<Credit>(credit_, 0);
}

void CreditShaper::OnQueued(TimePs now)
{
	Settle(now);
	empty_ = false;
}

void CreditShaper::OnEmpty(TimePs now)
{
	Settle(now);
	empty_ = true;
}

TimePs CreditShaper::EligibleAt(const QueuedFrame &, TimePs now)
{
	const std::int64_t open = std::max(port_.OpenTime(queue_, now), at_);
	const Credit credit = credit_ + Credit{ idle_slope_bps_ } * (open - at_);
	if (credit >= 0)
		return now;
	const Credit wait = (-credit + idle_slope_bps_ - 1) / idle_slope_bps_;
	return std::max(port_.TrueOfOpen(queue_, open + static_cast<std::int64_t>(wait)), now + 1);
}

void CreditShaper::OnSent(const QueuedFrame &frame, TimePs start, TimePs end)
{
	Settle(start);
	const auto sent = static_cast<Credit>(
		nic_wire_frame_ps(frame.frame_bytes, port_.Wire().ByteTimePs()));
	credit_ -= (rate_bps_ - idle_slope_bps_) * sent;
	at_ = std::max(at_, port_.OpenTime(queue_, end));
	sent_until_ = end;
}

} // namespace keepon::sim
