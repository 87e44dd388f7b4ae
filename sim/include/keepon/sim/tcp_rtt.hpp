// SPDX-License-Identifier: BSD-3-Clause
// Round-trip time and retransmission timeout (RFC 6298), and the least round trip of late that RACK
// asks for (RFC 8985 section 6.2).
#pragma once

#include <cstdint>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// How a host keeps its timers. RFC 6298 has a least RTO of 1 s and leaves G to the host; what
/// Linux has is the default: HZ = 250, and 200 ms as the least of 4 x RTTVAR instead of the least
/// RTO (kernel/tests measures its own).
struct TcpTimerSpec {
	TimePs granularity_ps = 4'000'000'000;         // G
	TimePs variance_ps_min = 200'000'000'000;      // of K x RTTVAR
	TimePs rto_ps_min = 0;                         // of RTO
	TimePs rto_ps_max = 120'000'000'000'000;       // of RTO, backed off
	TimePs rto_ps_initial = 1'000'000'000'000;     // before the first sample
	TimePs delayed_ack_ps = 40'000'000'000;        // longest wait of an ACK
	TimePs worst_delayed_ack_ps = 200'000'000'000; // WCDelAckT of RFC 8985
};

/// When a timer set at \p now for \p delay goes off: at a tick, never early, so by up to two ticks
/// late, as that of a host that counts time in ticks of \p granularity. 0: at once.
inline TimePs TickOf(TimePs now, TimePs delay, TimePs granularity)
{
	if (granularity == 0)
		return now + delay;
	return (now / granularity + (delay + granularity - 1) / granularity + 1) * granularity;
}

class TcpRtt
{
public:
	explicit TcpRtt(const TcpTimerSpec &spec) : spec_(spec), rto_(spec.rto_ps_initial) {}

	/// A round trip of \p rtt_ps was seen at \p now: of a segment sent once, or by a time
	/// stamp that names the copy (Karn's algorithm, RFC 6298 section 3). Takes back all backing
	/// off.
	void OnSample(TimePs rtt_ps, TimePs now);
	/// The timer has gone off (RFC 6298 (5.5)).
	void BackOff();

	bool HasSample() const { return srtt_ > 0; }
	TimePs Srtt() const { return srtt_; }
	TimePs Rto() const { return rto_; }
	TimePs Latest() const { return latest_; }
	/// The least of the last kMinWindowPs or somewhat more; 0 before the first sample.
	TimePs Min() const { return min_; }

private:
	static constexpr TimePs kMinWindowPs = 300'000'000'000'000; // 5 minutes

	TcpTimerSpec spec_;
	TimePs srtt_ = 0;
	TimePs rttvar_ = 0;
	TimePs rto_;
	TimePs latest_ = 0;
	TimePs min_ = 0;
	TimePs min_at_ = 0;
};

} // namespace keepon::sim
