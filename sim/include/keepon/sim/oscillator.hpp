// SPDX-License-Identifier: BSD-3-Clause
// An oscillator: local ps as a function of true ps. Constant offset plus a bounded random walk of
// the rate (random-walk frequency noise; IEEE Std 1139-2008), held constant for 1 ms at a time. It
// never steps; clocks built on it may.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/rng.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class Oscillator
{
public:
	/// \param ppm  rate offset, |ppm| at most 1000
	/// \param wander_ppb_per_s  greatest change of the rate per second; 0: constant rate
	/// \param wander_ppb  the walk stays within this distance of the offset
	Oscillator(double ppm, double wander_ppb_per_s, double wander_ppb, Rng rng);

	/// Local time at \p t, both from 0; exact integer arithmetic, rounded down, never
	/// decreasing.
	std::int64_t Local(TimePs t)
	{
		if (identity_)
			return t;
		return LocalIn(SegmentAt(t), t);
	}

	/// Least true time whose local time is not before \p local.
	TimePs TrueOf(std::int64_t local);

	bool IsIdentity() const { return identity_; }
	bool IsConstant() const { return step_ == 0; }

private:
	struct Segment {
		TimePs start;
		std::int64_t local;
		std::int64_t rate; // local per true, minus one, x 2^48
		double back;       // one minus true per local, about
	};

	static Segment MakeSegment(TimePs start, std::int64_t local, std::int64_t rate);

	static std::int64_t LocalIn(const Segment &segment, TimePs t)
	{
		const std::int64_t span = t - segment.start;
		return segment.local + span +
		       static_cast<std::int64_t>(static_cast<__int128>(span) * segment.rate >> 48);
	}

	const Segment &SegmentAt(TimePs t);
	void Extend();

	std::vector<Segment> segments_;
	std::size_t last_ = 0;
	std::int64_t centre_;
	std::int64_t bound_;
	std::int64_t step_;
	bool identity_;
	Rng rng_;
};

} // namespace keepon::sim
