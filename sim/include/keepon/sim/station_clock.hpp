// SPDX-License-Identifier: BSD-3-Clause
// The time of day of a station as its applications and its PHC have it: network time; or,
// running freely, agreed with it at the start and then its own oscillator; or whatever clock it
// follows. A fault may step any.
#pragma once

#include <cstdint>

#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class StationClock
{
public:
	StationClock(std::int64_t epoch_ns, bool free_running, Oscillator &oscillator)
		: epoch_ns_(epoch_ns), free_running_(free_running), oscillator_(oscillator)
	{
	}

	/// From now on this is \p clock, which outlives it.
	void Follow(OscillatorClock &clock) { followed_ = &clock; }

	/// Clock reading at \p t as ps since epoch_ns.
	std::int64_t ReadingPs(TimePs t)
	{
		if (followed_)
			return followed_->ReadingPs(t);
		return (free_running_ ? oscillator_.Local(t) : t) + step_ps_;
	}

	/// Least true time at which the clock reads \p time_ns or later.
	TimePs TrueOf(std::int64_t time_ns)
	{
		if (followed_)
			return followed_->TrueOf((time_ns - epoch_ns_) * kPsPerNs);
		const std::int64_t reading = (time_ns - epoch_ns_) * kPsPerNs - step_ps_;
		return free_running_ ? oscillator_.TrueOf(reading) : reading;
	}

	/// Full nanoseconds the clock shows at \p t.
	std::int64_t NowNs(TimePs t) { return epoch_ns_ + FloorDiv(ReadingPs(t), kPsPerNs); }

	/// What a timestamp unit latches at \p t: the time of the last tick of the NIC's \p
	/// oscillator, \p resolution_ns apart.
	std::int64_t StampNs(TimePs t, std::int64_t resolution_ns, Oscillator &oscillator)
	{
		const std::int64_t tick_ps = resolution_ns * kPsPerNs;
		const TimePs latched =
			oscillator.TrueOf(FloorDiv(oscillator.Local(t), tick_ps) * tick_ps);
		return epoch_ns_ + FloorDiv(ReadingPs(latched) + kPsPerNs / 2, kPsPerNs);
	}

	void Step(std::int64_t delta_ns) { step_ps_ += delta_ns * kPsPerNs; }
	std::int64_t EpochNs() const { return epoch_ns_; }
	bool FreeRunning() const { return free_running_; }

private:
	std::int64_t epoch_ns_;
	std::int64_t step_ps_ = 0;
	bool free_running_;
	Oscillator &oscillator_;
	OscillatorClock *followed_ = nullptr;
};

} // namespace keepon::sim
