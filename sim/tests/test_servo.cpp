// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "checks.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/servo.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr std::int64_t kIntervalPs = 125'000'000'000;

std::unique_ptr<Servo> MakeServo(const ServoSpec &spec, double rate_ppb, double limit_ppb)
{
	return Registry<ServoKind>::Find(spec.kind)->make(
		{ spec, 0.125, true, rate_ppb, limit_ppb });
}

bool Near(double value, double expected, double tolerance)
{
	return std::abs(value - expected) <= tolerance;
}

/// A clock whose crystal is off by \p ppm and that starts \p offset_ns ahead, disciplined by \p
/// servo with exact stamps.
struct Loop {
	double offset_ns;
	double crystal_ppb;
	double rate_ppb = 0;
	double local_ps = 0;
	int steps = 0;

	ServoState Run(Servo &servo, int samples)
	{
		ServoState state = ServoState::kUnlocked;
		for (int i = 0; i < samples; i++) {
			const double growth = (1 + crystal_ppb * 1e-9) * (1 + rate_ppb * 1e-9);
			local_ps += static_cast<double>(kIntervalPs) * growth;
			offset_ns += static_cast<double>(kIntervalPs) * (growth - 1) / 1000;
			const ServoOutput output = servo.Sample(std::llround(offset_ns * 1000),
								std::llround(local_ps));
			state = output.state;
			if (state == ServoState::kUnlocked)
				continue;
			rate_ppb = output.rate_ppb;
			if (state == ServoState::kJump) {
				steps++;
				local_ps -= offset_ns * 1000;
				offset_ns = 0;
			}
		}
		return state;
	}
};

void TestConstants(Checks &checks)
{
	// ptp4l(8): kp = min(scale x sync^exponent, norm_max / sync), with scales by the kind of
	// stamps.
	const ServoSpec spec;
	const PiConstants second = PiConstantsFor(spec, 1.0, true);
	EXPECT(Near(second.kp, 0.7, 1e-12) && Near(second.ki, 0.3, 1e-12));
	const PiConstants software = PiConstantsFor(spec, 1.0, false);
	EXPECT(Near(software.kp, 0.1, 1e-12) && Near(software.ki, 0.001, 1e-12));
	const PiConstants eighth = PiConstantsFor(spec, 0.125, true);
	EXPECT(Near(eighth.kp, 0.7 * std::pow(0.125, -0.3), 1e-12) &&
	       Near(eighth.ki, 0.3 * std::pow(0.125, 0.4), 1e-12));
	const PiConstants slow = PiConstantsFor(spec, 4.0, true);
	EXPECT(Near(slow.kp, 0.7 / 4, 1e-12) && Near(slow.ki, 0.3 / 4, 1e-12));
	ServoSpec own;
	own.kp_scale = 0.2;
	own.ki_scale = 0.05;
	EXPECT(Near(PiConstantsFor(own, 1.0, false).kp, 0.2, 1e-12) &&
	       Near(PiConstantsFor(own, 1.0, true).ki, 0.05, 1e-12));
}

void TestConvergence(Checks &checks)
{
	for (const std::string &kind : Registry<ServoKind>::All()) {
		const bool steps = Registry<ServoKind>::Find(kind)->keeps_time_by_steps;
		for (const double ppb : { -50'000.0, 0.0, 37'000.0 }) {
			ServoSpec spec;
			spec.kind = kind;
			const auto servo = MakeServo(spec, 0, 1e6);
			Loop loop{ 80'000, ppb };
			const ServoState state = loop.Run(*servo, 400);
			EXPECT(Near(loop.offset_ns, 0, 0.01));
			EXPECT(Near(loop.rate_ppb, -ppb, 3 + 0.001 * std::abs(ppb)));
			EXPECT(state == (steps ? ServoState::kJump : ServoState::kLocked));
			EXPECT(loop.steps == (steps ? 400 : 1));
		}
	}
}

void TestSteps(Checks &checks)
{
	// Below the first threshold nothing is stepped; later offsets are only with a threshold of
	// their own.
	ServoSpec spec;
	Loop small{ 19'000, 0 };
	EXPECT(small.Run(*MakeServo(spec, 0, 1e6), 200) == ServoState::kLocked && small.steps == 0);
	for (const std::int64_t threshold : { std::int64_t{ 0 }, std::int64_t{ 2'000 } }) {
		spec.step_threshold_ns = threshold;
		const auto servo = MakeServo(spec, 0, 1e6);
		Loop loop{ 0, 0 };
		loop.Run(*servo, 100);
		EXPECT(loop.steps == 0);
		loop.offset_ns += 50'000;
		loop.Run(*servo, 100);
		EXPECT(loop.steps == (threshold > 0));
	}
	// The rate never exceeds what the clock takes, and the integral part does not wind up
	// meanwhile.
	spec.step_threshold_ns = 0;
	spec.first_step_threshold_ns = 0;
	const auto limited = MakeServo(spec, 0, 1000);
	Loop far{ 1'000, 0 };
	far.Run(*limited, 2);
	far.offset_ns = 100'000;
	double most = 0;
	double least = 0;
	for (int i = 0; i < 2000; i++) {
		far.Run(*limited, 1);
		most = std::max(most, std::abs(far.rate_ppb));
		least = std::min(least, far.offset_ns);
	}
	EXPECT(Near(most, 1000, 1e-9));
	EXPECT(Near(far.offset_ns, 0, 1) && least > -2'000);
}

void TestFilter(Checks &checks)
{
	// H12: stamps off by +-1 us in turn; ten ratios average what one ratio takes for a rate.
	double spread[2];
	for (int filtered = 0; filtered < 2; filtered++) {
		ServoSpec spec;
		spec.kind = std::string("ratio");
		spec.filter_samples = filtered ? 10 : 0;
		const auto servo = MakeServo(spec, 0, 1e6);
		Rng rng(7, "test", "noise");
		double sum = 0;
		for (int i = 0; i < 2000; i++) {
			const std::int64_t noise_ps = rng.Below(2'000'001) - 1'000'000;
			const ServoOutput output = servo->Sample(noise_ps, i * kIntervalPs);
			if (i >= 20)
				sum += output.rate_ppb * output.rate_ppb;
		}
		spread[filtered] = std::sqrt(sum / 1980);
	}
	EXPECT(spread[1] < spread[0] / 5);

	MovingMedian median(3);
	EXPECT(median.Add(10) == 10);
	EXPECT(median.Add(20) == 15);
	EXPECT(median.Add(1000) == 20);
	EXPECT(median.Add(30) == 30);
	median.Clear();
	EXPECT(median.Add(-7) == -7);
}

} // namespace

void TestServo(Checks &checks)
{
	TestConstants(checks);
	TestConvergence(checks);
	TestSteps(checks);
	TestFilter(checks);
}

} // namespace keepon::sim::test
