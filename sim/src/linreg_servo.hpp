// SPDX-License-Identifier: BSD-3-Clause
// Servo by linear regression: a line through the last 4, 8, ... 64 offsets of the free-running
// clock tells its rate; the number of points whose line predicted the following offsets best is
// used. The method is that of linuxptp's `linreg` as documented (ptp4l(8), clock_servo).
#pragma once

#include <array>
#include <deque>

#include "keepon/sim/servo.hpp"

namespace keepon::sim
{

class LinregServo final : public Servo
{
public:
	LinregServo(const ServoSpec &spec, double rate_ppb, double limit_ppb)
		: step_ns_(spec.step_threshold_ns), first_step_ns_(spec.first_step_threshold_ns),
		  rate_ppb_(rate_ppb), limit_ppb_(limit_ppb)
	{
		Reset();
	}

	ServoOutput Sample(std::int64_t offset_ps, std::int64_t local_ps) override;
	void Reset() override;

private:
	static constexpr int kSizes = 5; // 4 << i points
	static constexpr double kErrorMemory = 0.9;

	struct Point {
		double free_ps;
		double behind_ps; // master minus free time, from that of the first point
	};

	/// behind = at_last + slope x (free - last free)
	struct Line {
		double at_last_ps = 0;
		double slope = 0;
		bool known = false;
	};

	Line Fit(std::size_t count) const;
	void Judge(const Point &point);

	std::int64_t step_ns_;
	std::int64_t first_step_ns_;
	double rate_ppb_;
	double limit_ppb_;
	bool first_ = true;
	FreeTime free_;
	double base_behind_ps_ = 0;
	std::deque<Point> points_;
	std::array<Line, kSizes> lines_{};
	std::array<double, kSizes> errors_ps_{};
};

} // namespace keepon::sim
