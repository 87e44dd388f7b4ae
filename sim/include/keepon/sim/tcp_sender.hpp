// SPDX-License-Identifier: BSD-3-Clause
// The sending end of an established TCP connection whose application always has something to send,
// or a stated number of bytes: a machine that knows no network. ACKs and times come in; segments
// are asked for one by one with Send() as long as there are some, and time passes with OnTimer().
//
//   open --a loss is found--> recovery --all of then is acknowledged--> open
//     \--the timer goes off--> loss (slow start) --all of then is acknowledged--> open
//     \--the host refuses a segment--> reduced --more than then is acknowledged--> open
//
// RFC 5681 (windows), 6582 (NewReno, without SACK), 6675 (SACK), 6298 (RTO), 8985 (RACK-TLP: losses
// found by time, tail loss probes), 6937 (PRR), 6928 (initial window). Without `rack` SACK works as
// RFC 6675 has it. Not modelled: undoing reductions that were wrong (F-RTO, Eifel), pacing, ECN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "keepon/sim/tcp_congestion.hpp"
#include "keepon/sim/tcp_prr.hpp"
#include "keepon/sim/tcp_rtt.hpp"
#include "keepon/sim/tcp_scoreboard.hpp"
#include "keepon/sim/tcp_segment.hpp"

namespace keepon::sim
{

struct TcpSenderSpec {
	std::string congestion = "cubic"; // name of a TcpCongestionKind
	bool sack = true;
	bool rack = true;         // needs sack
	std::uint32_t mss = 1448; // SMSS
	std::int64_t transfer_bytes = INT64_MAX / 2;
	TcpTimerSpec timers;
};

enum class TcpState : std::uint8_t { kOpen, kReduced, kRecovery, kLoss };

struct TcpSenderCounts {
	std::int64_t segments = 0;
	std::int64_t retransmissions = 0;
	std::int64_t recoveries = 0; // entered
	std::int64_t timeouts = 0;   // RTOs
	std::int64_t probes = 0;     // tail loss probes
	std::int64_t refused = 0;    // segments that the host dropped and reported
};

class TcpSender
{
public:
	explicit TcpSender(const TcpSenderSpec &spec);

	/// The next segment, if one may be sent now.
	std::optional<TcpSegment> Send(TimePs now);
	/// \p segment, the last that was sent, was not: the host's qdisc has dropped it and says so.
	/// Nothing more is to be asked for before the next ACK, timer or end of a frame.
	void OnRefused(const TcpSegment &segment, TimePs now);
	void OnAck(const TcpAck &ack, TimePs now);
	/// When OnTimer() is to be called; kNever: not before the next segment or ACK.
	TimePs NextTimer() const;
	void OnTimer(TimePs now);

	TcpState State() const { return state_; }
	const TcpWindow &Window() const { return window_; }
	const TcpRtt &Rtt() const { return rtt_; }
	const TcpScoreboard &Board() const { return board_; }
	std::int64_t Una() const { return una_; }
	std::int64_t Nxt() const { return nxt_; }
	std::int64_t Pipe() const
	{
		return std::max<std::int64_t>(board_.Pipe() - duplicate_acks_, 0);
	}
	const TcpSenderCounts &Counts() const { return counts_; }

private:
	void SampleRtt(const TcpNews &news, const TcpAck &ack, TimePs now);
	void CountDuplicates(const TcpNews &news);
	void OnProbeAnswer(const TcpNews &news, const TcpAck &ack);
	void NoteRack(const TcpNews &news, TimePs now);
	void NoteLatest(const TcpNews::Latest &latest, TimePs now);
	void NoteReordering(const TcpNews &news);
	std::int64_t DetectByRack(TimePs now);
	std::int64_t Detect(const TcpNews &news, TimePs now);
	TimePs ReorderingWindow() const;
	void EnterRecovery();
	void EnterReduced();
	void BeginReduction();
	bool Reducing() const
	{
		return state_ == TcpState::kRecovery || state_ == TcpState::kReduced;
	}
	/// Neither losses nor the timer have taken over: probes may be sent, and losses wait a little.
	bool Calm() const { return state_ == TcpState::kOpen || state_ == TcpState::kReduced; }
	void EnterLoss(TimePs now);
	void Reduce(std::int64_t delivered, bool good);
	void Leave();
	void Grow(const TcpNews &news, TimePs now);
	void SetTimers(const TcpNews &news, std::int64_t una_before, TimePs now);
	void SetProbeTimer(TimePs now);
	TcpSegment Repeat(std::size_t index, TimePs now);
	std::optional<TcpSegment> SendNew(TimePs now);
	TimePs Tick(TimePs now, TimePs delay) const;

	TcpSenderSpec spec_;
	std::unique_ptr<TcpCongestion> congestion_;
	TcpWindow window_;
	TcpRtt rtt_;
	TcpScoreboard board_;
	TcpPrr prr_;
	TcpState state_ = TcpState::kOpen;
	TcpSenderCounts counts_;
	std::int64_t timeout_una_ = 0;    // SND.UNA at the last timeout
	std::int64_t una_ = 0;            // SND.UNA
	std::int64_t nxt_ = 0;            // SND.NXT
	std::int64_t window_end_ = 0;     // SND.UNA + SND.WND
	std::int64_t recover_ = -1;       // HighData when the last loss was found
	std::int64_t duplicate_acks_ = 0; // without SACK: segments known to have left the network
	bool cwnd_limited_ = false;       // the window was used up since the last ACK
	// RACK (RFC 8985 section 6.1)
	TimePs rack_sent_ = -1;
	std::int64_t rack_end_ = 0;
	TimePs rack_rtt_ = 0;
	std::int64_t rack_most_ = 0;    // the highest end that has arrived
	bool reordered_ = false;        // ever
	std::int64_t windows_ = 1;      // quarters of the least round trip
	std::int64_t wider_until_ = -1; // it has got wider; not again before this is acknowledged
	int windows_persist_ = 0;       // for so many more recoveries
	// a tail loss probe (section 7)
	bool probe_due_ = false;
	std::int64_t probe_end_ = -1; // TLP.end_seq
	bool probe_repeats_ = false;  // TLP.is_retrans
	TimePs rto_at_ = kNever;
	TimePs probe_at_ = kNever;
	TimePs reorder_at_ = kNever;
	// The host has refused the first of all: tried again without a window (Linux, probe0).
	TimePs persist_at_ = kNever;
	bool persist_due_ = false;
	enum class Last : std::uint8_t { kNew, kAgain, kProbe, kPersist, kTimeout };
	Last last_ = Last::kNew; // what Send() gave last
	bool timeout_repeats_ = false;
};

} // namespace keepon::sim
