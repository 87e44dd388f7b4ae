// SPDX-License-Identifier: BSD-3-Clause
// Clocks that a servo can set, one per node. A reading at a true time is exact and changes nothing;
// how a frame gets its stamps is the clock's own affair, because it depends on where the clock is:
// beside the wire or behind the software.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// Readings and stamps are ps since the epoch of the simulation.
class NodeClock
{
public:
	virtual ~NodeClock() = default;

	/// What the clock reads at \p t; at past times by what was in force then.
	virtual std::int64_t ReadingPs(TimePs t) = 0;
	/// What software gets that asks at \p now, which moves on if it has to wait.
	virtual std::int64_t ReadNowPs(TimePs &now) { return ReadingPs(now); }
	/// Rate from \p now on, as an offset from nominal in 2^-16 ppm; the reading is continuous.
	/// Clamped to RateLimitPpb().
	virtual void AdjFine(TimePs now, std::int64_t scaled_ppm) = 0;
	virtual void Step(TimePs now, std::int64_t delta_ns) = 0;
	virtual std::int64_t ScaledPpm() const = 0;
	virtual std::int64_t RateLimitPpb() const { return 1'000'000; }

	/// Stamp of a frame whose reference plane left at \p sfd and which the driver had at \p
	/// handed.
	virtual std::int64_t TxStampPs(TimePs sfd, TimePs handed) = 0;
	/// Stamp of a frame whose reference plane arrived at \p sfd and which software saw at \p
	/// seen, which is now.
	virtual std::int64_t RxStampPs(TimePs sfd, TimePs seen) = 0;
	/// Who tells the TX stamp of a frame.
	enum class TxSource {
		kWire,    // TxStampPs() of its reference plane
		kDriver,  // TxStampPs() of the moment the driver had it
		kOutcome, // the driver itself, when it knows which slot the frame had
	};
	virtual TxSource TxStampSource() const = 0;
	/// Whether PTP software takes the stamps for those of hardware and sets its servo
	/// accordingly.
	bool PassesForHardware() const { return TxStampSource() != TxSource::kDriver; }

	/// What the clock read when it gave \p stamp_ps; differs from it where stamps are of a
	/// free-running counter.
	virtual std::int64_t ReadingOfStampPs(std::int64_t stamp_ps) { return stamp_ps; }
	/// Reading of what stamps are of, without their rounding: the clock, or its free-running
	/// counter.
	virtual std::int64_t CounterPs(TimePs t) { return ReadingPs(t); }
	/// Rate of the clock against its stamps.
	virtual double RateOfStamps() const { return 1.0; }
	/// Whether stamps change when the clock is set.
	virtual bool StampsFollow() const { return true; }

	virtual const char *Source() const = 0;
	virtual const char *Stamps() const = 0;
};

/// A clock on an oscillator: reading = anchor + local time x rate. Every law that was ever in force
/// is kept, so that past readings stay what they were (a few dozen bytes per sync).
class OscillatorClock : public NodeClock
{
public:
	explicit OscillatorClock(Oscillator &oscillator) : oscillator_(oscillator)
	{
		laws_.push_back({ 0, 0, 0, 0 });
	}

	std::int64_t ReadingPs(TimePs t) override
	{
		return ReadingOf(LawAt(t), oscillator_.Local(t));
	}
	/// Least true time at which the clock reads \p reading_ps or later, by the law in force
	/// now.
	TimePs TrueOf(std::int64_t reading_ps);
	void AdjFine(TimePs now, std::int64_t scaled_ppm) override;
	void Step(TimePs now, std::int64_t delta_ns) override { StepPs(now, delta_ns * kPsPerNs); }
	void StepPs(TimePs now, std::int64_t delta_ps);
	std::int64_t ScaledPpm() const override { return scaled_ppm_; }

	std::int64_t TxStampPs(TimePs, TimePs handed) override { return ReadingPs(handed); }
	std::int64_t RxStampPs(TimePs, TimePs seen) override { return ReadingPs(seen); }
	TxSource TxStampSource() const override { return TxSource::kDriver; }
	const char *Source() const override { return "system clock"; }
	const char *Stamps() const override { return "software"; }

protected:
	struct Law {
		TimePs from;
		std::int64_t local;
		std::int64_t reading;
		std::int64_t rate; // reading per local, minus one, x 2^48
	};

	static std::int64_t ReadingOf(const Law &law, std::int64_t local)
	{
		const std::int64_t span = local - law.local;
		return law.reading + span +
		       static_cast<std::int64_t>(static_cast<__int128>(span) * law.rate >> 48);
	}

	const Law &LawAt(TimePs t) const;
	const Law &LawNow() const { return laws_.back(); }

	Oscillator &oscillator_;

private:
	void Put(const Law &law);

	std::vector<Law> laws_;
	std::int64_t scaled_ppm_ = 0;
};

/// PHC of a NIC that latches both directions at the wire, every resolution_ns of its own
/// oscillator.
class HardwareClock final : public OscillatorClock
{
public:
	HardwareClock(Oscillator &oscillator, std::int64_t resolution_ns)
		: OscillatorClock(oscillator), tick_ps_(resolution_ns * kPsPerNs)
	{
	}

	std::int64_t TxStampPs(TimePs sfd, TimePs) override { return Latch(sfd); }
	std::int64_t RxStampPs(TimePs sfd, TimePs) override { return Latch(sfd); }
	TxSource TxStampSource() const override { return TxSource::kWire; }
	const char *Source() const override { return "NIC oscillator"; }
	const char *Stamps() const override { return "hardware"; }

private:
	std::int64_t Latch(TimePs t);

	std::int64_t tick_ps_;
};

/// Clock of a bridge: stamps are of its free-running counter (LocalClock of IEEE Std 802.1AS-2020
/// clause 10.1.2), the disciplined time for its gates is computed from it.
class BridgeClock final : public OscillatorClock
{
public:
	BridgeClock(Oscillator &oscillator, std::int64_t resolution_ns)
		: OscillatorClock(oscillator), tick_ps_(resolution_ns * kPsPerNs)
	{
	}

	std::int64_t TxStampPs(TimePs sfd, TimePs) override { return Latch(sfd); }
	std::int64_t RxStampPs(TimePs sfd, TimePs) override { return Latch(sfd); }
	TxSource TxStampSource() const override { return TxSource::kWire; }
	std::int64_t ReadingOfStampPs(std::int64_t stamp_ps) override
	{
		return ReadingOf(LawNow(), stamp_ps);
	}
	std::int64_t CounterPs(TimePs t) override { return oscillator_.Local(t); }
	bool StampsFollow() const override { return false; }
	double RateOfStamps() const override
	{
		return 1.0 + static_cast<double>(LawNow().rate) / 0x1p48;
	}
	const char *Source() const override { return "bridge oscillator"; }
	const char *Stamps() const override { return "hardware"; }

private:
	std::int64_t Latch(TimePs t) { return FloorDiv(oscillator_.Local(t), tick_ps_) * tick_ps_; }

	std::int64_t tick_ps_;
};

/// \p scaled_ppm within the limit of a clock.
inline std::int64_t ClampScaledPpm(std::int64_t scaled_ppm, std::int64_t limit_ppb)
{
	const std::int64_t limit = limit_ppb * 65536 / 1000;
	return scaled_ppm < -limit ? -limit : scaled_ppm > limit ? limit : scaled_ppm;
}

} // namespace keepon::sim
