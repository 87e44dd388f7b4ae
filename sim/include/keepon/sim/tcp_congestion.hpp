// SPDX-License-Identifier: BSD-3-Clause
// Congestion control of a TCP sender: by how much its window grows with what is acknowledged, and
// to what a loss reduces it. When there was a loss, and when a window may be used, are the affair
// of tcp_sender.hpp. Windows are in segments of SMSS bytes, as in RFC 9438.
#pragma once

#include <cstdint>
#include <memory>

#include "keepon/sim/registry.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

struct TcpWindow {
	std::int64_t cwnd = 0;
	std::int64_t ssthresh = INT64_MAX;
	std::int64_t credit = 0; // acknowledged in congestion avoidance, not yet turned into cwnd

	bool InSlowStart() const { return cwnd < ssthresh; }
};

/// What an ACK of new data tells a congestion control.
struct TcpProgress {
	std::int64_t acked = 0; // segments delivered by it
	std::int64_t una = 0;   // SND.UNA after it
	std::int64_t nxt = 0;   // SND.NXT
	TimePs now = 0;
	TimePs rtt = 0; // sampled by it; 0: none
};

class TcpCongestion
{
public:
	virtual ~TcpCongestion() = default;

	/// An ACK of new data while nothing is being recovered by fast recovery, and the window was
	/// used up.
	virtual void OnProgress(TcpWindow &window, const TcpProgress &progress) = 0;
	/// A loss was found: what ssthresh is then, 2 at least.
	virtual std::int64_t Reduced(const TcpWindow &window) = 0;
	/// It was the retransmission timer that found it.
	virtual void OnTimeout() {}
	/// Every round trip that is sampled, whatever becomes of the window.
	virtual void OnRtt(TcpWindow &, const TcpProgress &) {}
};

/// By name: "reno" and "cubic".
struct TcpCongestionKind {
	std::unique_ptr<TcpCongestion> (*make)();
};

/// Slow start of RFC 5681: a segment for each one acknowledged, as RFC 3465 counts them without a
/// limit. Returns what was acknowledged beyond ssthresh.
inline std::int64_t SlowStart(TcpWindow &window, std::int64_t acked)
{
	const std::int64_t grown =
		window.cwnd + acked < window.ssthresh ? window.cwnd + acked : window.ssthresh;
	const std::int64_t left = acked - (grown - window.cwnd);
	window.cwnd = grown;
	return left;
}

/// A segment more for every \p per segments acknowledged.
inline void Avoid(TcpWindow &window, std::int64_t per, std::int64_t acked)
{
	if (window.credit >= per) {
		window.credit = 0;
		window.cwnd++;
	}
	window.credit += acked;
	window.cwnd += window.credit / per;
	window.credit %= per;
}

} // namespace keepon::sim
