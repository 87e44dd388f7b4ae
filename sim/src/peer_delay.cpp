// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/peer_delay.hpp"

#include <cmath>

namespace keepon::sim
{

namespace
{
/// No pair of crystals differs by more; a neighbour's clock was stepped in between.
constexpr double kRatioRange = 2e-3;
/// Smaller changes of the own rate pass: over the milliseconds of an exchange they are below a ns.
constexpr double kRateNotice = 1e-6;
} // namespace

std::uint16_t PeerDelay::Begin()
{
	lost_ += open_;
	open_ = true;
	have_ = 0;
	return ++sequence_;
}

void PeerDelay::Put(std::uint16_t sequence, int which, std::int64_t stamp_ps)
{
	if (!open_ || sequence != sequence_)
		return;
	stamps_ps_[which] = stamp_ps;
	have_ |= 1u << which;
	if (have_ == 0xf)
		Finish();
}

void PeerDelay::Response(std::uint16_t sequence, std::int64_t t2_ps, std::int64_t t4_ps)
{
	Put(sequence, 1, t2_ps);
	Put(sequence, 3, t4_ps);
}

void PeerDelay::Finish()
{
	const std::int64_t t1 = stamps_ps_[0];
	const std::int64_t t2 = stamps_ps_[1];
	const std::int64_t t3 = stamps_ps_[2];
	const std::int64_t t4 = stamps_ps_[3];

	open_ = false;
	complete_++;
	pairs_.push_back({ t3, t4 });
	if (pairs_.size() > rate_samples_ + 1)
		pairs_.pop_front();
	const Pair &first = pairs_.front();
	if (t4 > first.t4_ps) {
		const double ratio = static_cast<double>(t3 - first.t3_ps) /
				     static_cast<double>(t4 - first.t4_ps);
		if (std::abs(ratio - 1.0) < kRatioRange)
			ratio_ = ratio;
		else
			pairs_.assign(1, { t3, t4 });
	}
	// r (t4 - t1) - (t3 - t2), with the product split so that ps survive.
	const double stretch = (ratio_ - 1.0) * static_cast<double>(t4 - t1);
	delay_ps_ = delays_.Add(FloorDiv((t4 - t1) - (t3 - t2) + std::llround(stretch), 2));
	valid_ = true;
}

void PeerDelay::Stepped(std::int64_t delta_ps)
{
	for (Pair &pair : pairs_)
		pair.t4_ps += delta_ps;
	if (!open_)
		return;
	if (have_ & 1u) {
		stamps_ps_[0] += delta_ps;
	} else { // its stamp may be of before or after: not known
		lost_++;
		open_ = false;
	}
}

void PeerDelay::RateChanged(double change)
{
	if (std::abs(change) < kRateNotice)
		return;
	ratio_ /= 1.0 + change;
	pairs_.clear();
}

} // namespace keepon::sim
