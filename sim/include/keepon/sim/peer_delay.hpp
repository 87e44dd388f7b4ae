// SPDX-License-Identifier: BSD-3-Clause
// One port's measurement of the delay to its neighbour and of the neighbour's rate (IEEE Std
// 802.1AS-2020 clauses 11.2.19, 10.2.5.3 and 11.1.2): requester's side. One exchange at a time;
// what is not complete when the next begins is lost.
#pragma once

#include <cstdint>
#include <deque>

#include "keepon/sim/servo.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class PeerDelay
{
public:
	/// \param delay_samples  of the median; \param rate_samples  exchanges between the two that
	/// give the rate
	PeerDelay(std::size_t delay_samples, std::size_t rate_samples)
		: delays_(delay_samples), rate_samples_(rate_samples)
	{
	}

	/// A new exchange begins. Returns its sequence number.
	std::uint16_t Begin();
	void Sent(std::uint16_t sequence, std::int64_t t1_ps) { Put(sequence, 0, t1_ps); }
	/// Pdelay_Resp: the neighbour got the request at \p t2, and we its answer at \p t4.
	void Response(std::uint16_t sequence, std::int64_t t2_ps, std::int64_t t4_ps);
	void ResponseFollowUp(std::uint16_t sequence, std::int64_t t3_ps)
	{
		Put(sequence, 2, t3_ps);
	}
	/// The own clock, and with it the stamps to come, was set forward by \p delta_ps.
	void Stepped(std::int64_t delta_ps);
	/// The own clock's rate changed by \p change: what was measured before is of another clock.
	void RateChanged(double change);

	bool Valid() const { return valid_; }
	/// Mean link delay in the neighbour's time, median of the last ones.
	std::int64_t DelayPs() const { return delay_ps_; }
	/// Neighbour's rate by the own clock's.
	double RateRatio() const { return ratio_; }
	std::int64_t Complete() const { return complete_; }
	std::int64_t Lost() const { return lost_; }

private:
	struct Pair {
		std::int64_t t3_ps;
		std::int64_t t4_ps;
	};

	void Put(std::uint16_t sequence, int which, std::int64_t stamp_ps);
	void Finish();

	MovingMedian delays_;
	std::size_t rate_samples_;
	std::uint16_t sequence_ = 0;
	bool open_ = false;
	unsigned have_ = 0;
	std::int64_t stamps_ps_[4] = {};
	std::deque<Pair> pairs_;
	bool valid_ = false;
	std::int64_t delay_ps_ = 0;
	double ratio_ = 1.0;
	std::int64_t complete_ = 0;
	std::int64_t lost_ = 0;
};

} // namespace keepon::sim
