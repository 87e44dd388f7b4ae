// SPDX-License-Identifier: BSD-3-Clause
// Servos: from measured offsets to what is set on a clock. Methods behind one interface, each in a
// file of its own; constants are linuxptp's documented defaults (ptp4l(8), version 3.1.1), the code is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "keepon/sim/registry.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

enum class ServoState { kUnlocked, kJump, kLocked };

/// kp = min(scale x interval^exponent, norm_max / interval), ki likewise; interval in s (ptp4l(8),
/// pi_proportional_scale). Scales of 0: 0.7 and 0.3 for stamps of hardware, 0.1 and 0.001 for those
/// of software.
struct ServoSpec {
	std::string kind = "pi"; // name of a ServoKind
	double kp_scale = 0;
	double kp_exponent = -0.3;
	double kp_norm_max = 0.7;
	double ki_scale = 0;
	double ki_exponent = 0.4;
	double ki_norm_max = 0.3;
	std::int64_t step_threshold_ns = 0;           // 0: never after the first update
	std::int64_t first_step_threshold_ns = 20000; // 0: not even then
	std::uint32_t filter_samples =
		10; // moving average over measured rates, "ratio" only (H8); 0: none
};

struct ServoOutput {
	ServoState state;
	// to set on the clock; with kJump the clock is to be stepped by minus the offset as well
	double rate_ppb;
};

class Servo
{
public:
	virtual ~Servo() = default;
	/// One measurement: the clock read \p local_ps when it was \p offset_ps ahead of its
	/// master.
	virtual ServoOutput Sample(std::int64_t offset_ps, std::int64_t local_ps) = 0;
	/// The clock was stepped from outside, or has another master: measure again, keep the
	/// rate.
	virtual void Reset() = 0;
};

struct ServoSetup {
	const ServoSpec &spec;
	double interval_s;
	bool hardware_stamps;
	double rate_ppb;  // that is set on the clock now
	double limit_ppb; // greatest rate it takes
};

/// A method, by the name that stands in `servo`.
struct ServoKind {
	std::unique_ptr<Servo> (*make)(const ServoSetup &setup);
	bool keeps_time_by_steps; // a step says nothing of what was measured before
};

/// The constants of "pi".
struct PiConstants {
	double kp;
	double ki;
};
PiConstants PiConstantsFor(const ServoSpec &spec, double interval_s, bool hardware_stamps);

/// Median of the last values (ptp4l's delay_filter); mean of the middle two for an even number.
class MovingMedian
{
public:
	explicit MovingMedian(std::size_t samples) : samples_(samples) {}

	std::int64_t Add(std::int64_t value);
	void Clear() { values_.clear(); }

private:
	std::size_t samples_;
	std::deque<std::int64_t> values_;
	std::vector<std::int64_t> sorted_;
};

/// Local time as if no rate had been set and no step made.
class FreeTime
{
public:
	/// To be called once per sample before the rate in force changes.
	double Advance(std::int64_t local_ps, double rate_ppb)
	{
		if (known_)
			free_ps_ +=
				static_cast<double>(local_ps - last_ps_) / (1.0 + rate_ppb * 1e-9);
		known_ = true;
		last_ps_ = local_ps;
		return free_ps_;
	}

	void Stepped(std::int64_t delta_ps) { last_ps_ += delta_ps; }
	void Reset() { known_ = false; }

private:
	bool known_ = false;
	std::int64_t last_ps_ = 0;
	double free_ps_ = 0;
};

} // namespace keepon::sim
