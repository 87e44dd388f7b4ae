// SPDX-License-Identifier: BSD-3-Clause
#include "linreg_servo.hpp"

#include <algorithm>
#include <cmath>

namespace keepon::sim
{

namespace
{

std::unique_ptr<Servo> Make(const ServoSetup &setup)
{
	return std::make_unique<LinregServo>(setup.spec, setup.rate_ppb, setup.limit_ppb);
}

const Registry<ServoKind>::Entry kEntry{ "linreg", { Make, false } };

} // namespace

void LinregServo::Reset()
{
	free_.Reset();
	points_.clear();
	lines_ = {};
	errors_ps_.fill(-1);
}

LinregServo::Line LinregServo::Fit(std::size_t count) const
{
	Line line;
	if (points_.size() < count)
		return line;
	const Point &last = points_.back();
	double mean_x = 0;
	double mean_y = 0;
	for (std::size_t i = points_.size() - count; i < points_.size(); i++) {
		mean_x += points_[i].free_ps - last.free_ps;
		mean_y += points_[i].behind_ps - last.behind_ps;
	}
	mean_x /= static_cast<double>(count);
	mean_y /= static_cast<double>(count);
	double xx = 0;
	double xy = 0;
	for (std::size_t i = points_.size() - count; i < points_.size(); i++) {
		const double x = points_[i].free_ps - last.free_ps - mean_x;
		xx += x * x;
		xy += x * (points_[i].behind_ps - last.behind_ps - mean_y);
	}
	if (xx <= 0)
		return line;
	line.slope = xy / xx;
	line.at_last_ps = last.behind_ps + mean_y - line.slope * mean_x;
	line.known = true;
	return line;
}

/// How far off was each line's prediction of the point that has come now?
void LinregServo::Judge(const Point &point)
{
	for (std::size_t i = 0; i < kSizes; i++) {
		if (!lines_[i].known)
			continue;
		const double expected = lines_[i].at_last_ps +
					lines_[i].slope * (point.free_ps - points_.back().free_ps);
		const double error = std::abs(point.behind_ps - expected);
		errors_ps_[i] = errors_ps_[i] < 0 ?
					error :
					kErrorMemory * errors_ps_[i] + (1 - kErrorMemory) * error;
	}
}

ServoOutput LinregServo::Sample(std::int64_t offset_ps, std::int64_t local_ps)
{
	const double offset_ns = static_cast<double>(offset_ps) / kPsPerNs;
	const double free_ps = free_.Advance(local_ps, rate_ppb_);
	const double behind_ps = static_cast<double>(local_ps - offset_ps) - free_ps;
	if (points_.empty())
		base_behind_ps_ = behind_ps;
	const Point point{ free_ps, behind_ps - base_behind_ps_ };
	if (!points_.empty())
		Judge(point);
	points_.push_back(point);
	if (points_.size() > std::size_t{ 4 } << (kSizes - 1))
		points_.pop_front();
	std::size_t best = kSizes;
	for (std::size_t i = 0; i < kSizes; i++) {
		lines_[i] = Fit(std::size_t{ 4 } << i);
		if (lines_[i].known &&
		    (best == kSizes || (errors_ps_[i] >= 0 && errors_ps_[i] < errors_ps_[best])))
			best = i;
	}
	if (best == kSizes)
		return { ServoState::kUnlocked, rate_ppb_ };

	const Line &line = lines_[best];
	const double drift_ppb = line.slope * 1e9;
	const auto beyond = [&](std::int64_t limit_ns) {
		return limit_ns > 0 && std::abs(offset_ns) > static_cast<double>(limit_ns);
	};
	const bool step = (first_ && beyond(first_step_ns_)) || beyond(step_ns_);
	first_ = false;
	if (step) {
		rate_ppb_ = std::clamp(drift_ppb, -limit_ppb_, limit_ppb_);
		free_.Stepped(-offset_ps);
		return { ServoState::kJump, rate_ppb_ };
	}
	// The offset as the line has it is to be gone by the next sample.
	const double interval_ps = points_.back().free_ps - points_[points_.size() - 2].free_ps;
	const double smoothed_ps =
		static_cast<double>(offset_ps) + (points_.back().behind_ps - line.at_last_ps);
	rate_ppb_ =
		std::clamp(drift_ppb - smoothed_ps / interval_ps * 1e9, -limit_ppb_, limit_ppb_);
	return { ServoState::kLocked, rate_ppb_ };
}

} // namespace keepon::sim
