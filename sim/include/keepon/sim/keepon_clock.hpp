// SPDX-License-Identifier: BSD-3-Clause
// The PHC of a keepon station: the core's. TX stamps are the PHC time of the slot a frame had
// (KeepON paper section 4.1), RX stamps what the PHC says when software sees the frame (D4).
// Whoever stamps reception otherwise overrides RxStampPs().
#pragma once

#include "keepon/sim/keepon_transmitter.hpp"
#include "keepon/sim/node_clock.hpp"

namespace keepon::sim
{

class KeeponClock : public NodeClock
{
public:
	explicit KeeponClock(KeeponTransmitter &transmitter) : transmitter_(transmitter) {}

	/// By the clock law and the true wire position: what slots and TX stamps follow.
	std::int64_t ReadingPs(TimePs t) override { return transmitter_.PhcPs(t); }
	std::int64_t ReadNowPs(TimePs &now) override { return transmitter_.GetTimePs(&now); }
	void AdjFine(TimePs, std::int64_t scaled_ppm) override
	{
		scaled_ppm_ = ClampScaledPpm(scaled_ppm, RateLimitPpb());
		transmitter_.AdjFine(scaled_ppm_);
	}
	void Step(TimePs, std::int64_t delta_ns) override { transmitter_.StepPhc(delta_ns); }
	std::int64_t ScaledPpm() const override { return scaled_ppm_; }

	/// Not asked for: the core tells the stamp with the outcome.
	std::int64_t TxStampPs(TimePs sfd, TimePs) override { return transmitter_.PhcPs(sfd); }
	std::int64_t RxStampPs(TimePs, TimePs) override { return transmitter_.GetTimePs(); }
	TxSource TxStampSource() const override { return TxSource::kOutcome; }
	const char *Source() const override { return transmitter_.ClockName(); }
	const char *Stamps() const override { return "slot (tx), software (rx)"; }

private:
	KeeponTransmitter &transmitter_;
	std::int64_t scaled_ppm_ = 0;
};

} // namespace keepon::sim
