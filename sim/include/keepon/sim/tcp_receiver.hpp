// SPDX-License-Identifier: BSD-3-Clause
// The receiving end of a TCP connection: what has arrived in order, SACK blocks of what has not
// (RFC 2018, 2883), and when an ACK is sent (RFC 5681 section 4.2). It knows no network: segments
// and times come in, ACKs go out. Its application reads at once.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/tcp_rtt.hpp"
#include "keepon/sim/tcp_segment.hpp"

namespace keepon::sim
{

struct TcpReceiverSpec {
	bool sack = true;
	std::uint32_t mss = 1448;
	std::int64_t window_bytes = 4 << 20;
	/// ACKs that are sent without delay at the start, after a segment that came twice, and after
	/// a pause as long as a least RTO, as Linux does (TCP_MAX_QUICKACKS).
	int quick_acks = 16;
	TcpTimerSpec timers;
};

class TcpReceiver
{
public:
	explicit TcpReceiver(const TcpReceiverSpec &spec) : spec_(spec), quick_(spec.quick_acks) {}

	/// True if an ACK is to be sent now; if not, one is due at NextTimer().
	bool OnSegment(const TcpSegment &segment, TimePs now);
	/// When an ACK that was delayed is due; kNever if none is.
	TimePs NextTimer() const { return delayed_until_; }
	/// The ACK to be sent now.
	TcpAck MakeAck();

	/// RCV.NXT: bytes that the application has, all of them in order.
	std::int64_t Next() const { return next_; }
	std::int64_t Duplicates() const { return duplicates_; }
	std::int64_t OutOfOrder() const { return out_of_order_; }

private:
	void Keep(std::int64_t left, std::int64_t right);
	void Advance();

	TcpReceiverSpec spec_;
	int quick_;
	std::int64_t next_ = 0;
	std::int64_t last_ack_ = 0; // Last.ACK.sent
	TimePs ts_recent_ = 0;      // TS.Recent
	TimePs delayed_until_ = kNever;
	TimePs arrived_ = 0; // the last segment
	/// What has arrived beyond next_, disjoint, the one that grew last first.
	std::vector<SackBlock> blocks_;
	SackBlock duplicate_; // to be sent once; empty: none
	std::int64_t duplicates_ = 0;
	std::int64_t out_of_order_ = 0;
};

} // namespace keepon::sim
