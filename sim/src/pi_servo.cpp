// SPDX-License-Identifier: BSD-3-Clause
// The servo "pi": linuxptp's.
#include <algorithm>
#include <cmath>

#include "keepon/sim/servo.hpp"

namespace keepon::sim
{

namespace
{

/// What decides about steps.
class StepRule
{
public:
	explicit StepRule(const ServoSpec &spec)
		: step_ns_(spec.step_threshold_ns), first_ns_(spec.first_step_threshold_ns)
	{
	}

	bool FirstUpdate(double offset_ns)
	{
		const bool step = (first_ && first_ns_ > 0 &&
				   std::abs(offset_ns) > static_cast<double>(first_ns_)) ||
				  TooFar(offset_ns);
		first_ = false;
		return step;
	}

	bool TooFar(double offset_ns) const
	{
		return step_ns_ > 0 && std::abs(offset_ns) > static_cast<double>(step_ns_);
	}

private:
	std::int64_t step_ns_;
	std::int64_t first_ns_;
	bool first_ = true;
};

/// The first two offsets, far enough apart, give the rate; from then on a proportional and an
/// integral part.
class PiServo final : public Servo
{
public:
	PiServo(const ServoSpec &spec, PiConstants constants, double rate_ppb, double limit_ppb)
		: constants_(constants), rule_(spec), drift_ppb_(-rate_ppb), limit_ppb_(limit_ppb)
	{
	}

	ServoOutput Sample(std::int64_t offset_ps, std::int64_t local_ps) override
	{
		const double offset_ns = static_cast<double>(offset_ps) / kPsPerNs;
		if (samples_ == 0) {
			first_offset_ps_ = offset_ps;
			first_local_ps_ = local_ps;
			samples_ = 1;
			return { ServoState::kUnlocked, -drift_ppb_ };
		}
		if (samples_ == 1)
			return Estimate(offset_ps, local_ps);
		if (rule_.TooFar(offset_ns)) {
			samples_ = 0;
			return { ServoState::kUnlocked, -drift_ppb_ };
		}
		const double integral = constants_.ki * offset_ns;
		const double wanted = drift_ppb_ + constants_.kp * offset_ns + integral;
		const double ppb = std::clamp(wanted, -limit_ppb_, limit_ppb_);
		if (ppb == wanted) // at the limit the integral part does not wind up
			drift_ppb_ += integral;
		return { ServoState::kLocked, -ppb };
	}

	void Reset() override { samples_ = 0; }

private:
	ServoOutput Estimate(std::int64_t offset_ps, std::int64_t local_ps)
	{
		const double span_ps = static_cast<double>(local_ps - first_local_ps_);
		if (span_ps <= 0) {
			samples_ = 0;
			return { ServoState::kUnlocked, -drift_ppb_ };
		}
		// linuxptp waits 0.016 / ki seconds, at most 1000, so that noise of stamps does not
		// become a rate.
		const double wait_s = std::min(0.016 / constants_.ki, 1000.0);
		if (span_ps * 1.001 < wait_s * 1e12)
			return { ServoState::kUnlocked, -drift_ppb_ };
		const double growth = static_cast<double>(offset_ps - first_offset_ps_) / span_ps;
		drift_ppb_ = std::clamp(drift_ppb_ + (1e9 - drift_ppb_) * growth, -limit_ppb_,
					limit_ppb_);
		samples_ = 2;
		const bool step = rule_.FirstUpdate(static_cast<double>(offset_ps) / kPsPerNs);
		return { step ? ServoState::kJump : ServoState::kLocked, -drift_ppb_ };
	}

	PiConstants constants_;
	StepRule rule_;
	double drift_ppb_; // of the clock without adjustment, as far as known
	double limit_ppb_;
	int samples_ = 0;
	std::int64_t first_offset_ps_ = 0;
	std::int64_t first_local_ps_ = 0;
};

std::unique_ptr<Servo> Make(const ServoSetup &setup)
{
	return std::make_unique<PiServo>(
		setup.spec, PiConstantsFor(setup.spec, setup.interval_s, setup.hardware_stamps),
		setup.rate_ppb, setup.limit_ppb);
}

const Registry<ServoKind>::Entry kEntry{ "pi", { Make, false } };

} // namespace

PiConstants PiConstantsFor(const ServoSpec &spec, double interval_s, bool hardware_stamps)
{
	const double kp_scale = spec.kp_scale > 0 ? spec.kp_scale : hardware_stamps ? 0.7 : 0.1;
	const double ki_scale = spec.ki_scale > 0 ? spec.ki_scale : hardware_stamps ? 0.3 : 0.001;
	return { std::min(kp_scale * std::pow(interval_s, spec.kp_exponent),
			  spec.kp_norm_max / interval_s),
		 std::min(ki_scale * std::pow(interval_s, spec.ki_exponent),
			  spec.ki_norm_max / interval_s) };
}

} // namespace keepon::sim
