// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/oscillator.hpp"

#include <algorithm>
#include <cmath>

namespace keepon::sim
{

namespace
{
constexpr TimePs kSegmentPs = 1'000'000'000; // 1 ms
constexpr double kRateUnit = 0x1p48;
} // namespace

Oscillator::Oscillator(double ppm, double wander_ppb_per_s, double wander_ppb, Rng rng)
	: centre_(std::llround(ppm * 1e-6 * kRateUnit)),
	  bound_(std::llround(wander_ppb * 1e-9 * kRateUnit)),
	  step_(std::llround(wander_ppb_per_s * 1e-9 * kRateUnit * 1e-3)),
	  identity_(centre_ == 0 && step_ == 0), rng_(rng)
{
	segments_.push_back(MakeSegment(0, 0, centre_));
}

Oscillator::Segment Oscillator::MakeSegment(TimePs start, std::int64_t local, std::int64_t rate)
{
	const double ratio = static_cast<double>(rate) / kRateUnit;
	return { start, local, rate, ratio / (1.0 + ratio) };
}

void Oscillator::Extend()
{
	const Segment &last = segments_.back();
	const TimePs start = last.start + kSegmentPs;
	const std::int64_t rate = last.rate + rng_.Below(2 * step_ + 1) - step_;
	segments_.push_back(MakeSegment(start, LocalIn(last, start),
					std::clamp(rate, centre_ - bound_, centre_ + bound_)));
}

const Oscillator::Segment &Oscillator::SegmentAt(TimePs t)
{
	if (step_ == 0)
		return segments_.front();
	const auto index = static_cast<std::size_t>(std::max<TimePs>(t, 0) / kSegmentPs);
	while (segments_.size() <= index)
		Extend();
	return segments_[index];
}

TimePs Oscillator::TrueOf(std::int64_t local)
{
	if (identity_)
		return local;
	const Segment *segment = &segments_.front();
	if (step_ != 0) {
		while (segments_.back().local < local)
			Extend();
		// Local and true time differ by far less than a segment per segment: start near and
		// walk.
		last_ = std::min(last_, segments_.size() - 1);
		while (last_ > 0 && segments_[last_].local >= local)
			last_--;
		while (last_ + 1 < segments_.size() && segments_[last_ + 1].local < local)
			last_++;
		segment = &segments_[last_];
	}
	const std::int64_t span = local - segment->local;
	TimePs t = segment->start + span -
		   static_cast<TimePs>(static_cast<double>(span) * segment->back);
	// The estimate in double is off by some ps at most; the definition decides.
	while (LocalIn(*segment, t) < local)
		t++;
	while (t > segment->start && LocalIn(*segment, t - 1) >= local)
		t--;
	return t;
}

} // namespace keepon::sim
