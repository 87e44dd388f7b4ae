// SPDX-License-Identifier: BSD-3-Clause
// The scoreboard of a TCP sender (RFC 6675 section 3): every segment from SND.UNA to SND.NXT, when
// it was sent, and whether it is known to have arrived or to be lost. Who decides that one is lost
// is tcp_sender.hpp.
#pragma once

#include <cstdint>
#include <deque>

#include "keepon/sim/tcp_segment.hpp"

namespace keepon::sim
{

/// What an ACK says that was not known before.
struct TcpNews {
	std::int64_t acked = 0;     // segments cumulatively acknowledged, SACKed before or not
	std::int64_t delivered = 0; // segments now known to have arrived
	std::int64_t sacked = 0;    // of them by SACK
	bool duplicate = false;     // a block reports bytes that came twice (RFC 2883)
	TimePs rtt_sent = kNever;   // the last delivered one that was sent once was sent then
	// Of those delivered, the one that was sent last of what was sent once, and of what was
	// sent again (RFC 8985 section 6.2, step 2).
	struct Latest {
		TimePs sent = -1;
		std::int64_t end = 0;
	} once, again;
	// Of those delivered, the end of the first that was sent once, and of the last (step 3).
	std::int64_t first_end = INT64_MAX;
	std::int64_t last_end = 0;
};

class TcpScoreboard
{
public:
	struct Sent {
		std::int64_t seq = 0;
		std::uint32_t bytes = 0;
		TimePs at = 0; // it was sent, the last time
		bool sacked = false;
		bool lost = false;  // what was sent first, or all of it
		bool again = false; // a retransmission that is not known to be lost is under way
		bool twice = false; // was ever retransmitted
		std::int64_t End() const { return seq + bytes; }
	};

	/// A new segment, at SND.NXT.
	void OnSent(std::int64_t seq, std::uint32_t bytes, TimePs now);
	/// The segment at \p index is sent again.
	void OnSentAgain(std::size_t index, TimePs now);
	/// The last new segment was not sent after all.
	void TakeBack();
	/// The segment that begins at \p seq was not sent again after all.
	void TakeBackAgain(std::int64_t seq);
	TcpNews OnAck(const TcpAck &ack);

	/// Segments from SND.UNA on, by index.
	std::size_t Count() const { return segments_.size(); }
	const Sent &operator[](std::size_t index) const { return segments_[index]; }
	/// Pipe: how many are thought to be on the way.
	std::int64_t Pipe() const
	{
		return static_cast<std::int64_t>(segments_.size()) - sacked_ - lost_ + again_;
	}
	std::int64_t Sacked() const { return sacked_; }
	std::int64_t Again() const { return again_; }
	/// Lost and not sent again: the first of them is at NextLost().
	std::int64_t LostWaiting() const { return lost_ - again_; }
	std::size_t NextLost();
	/// One past the last index that was SACKed.
	std::size_t SackedEnd() const { return sacked_end_ > base_ ? sacked_end_ - base_ : 0; }
	/// One past the last index that was retransmitted.
	std::size_t AgainEnd() const { return again_end_ > base_ ? again_end_ - base_ : 0; }

	/// All of what was sent of the segment at \p index is lost. False if that was known.
	bool MarkLost(std::size_t index);
	/// IsLost() of RFC 6675 for all: DupThresh segments above it have been SACKed. Returns how
	/// many are lost that were not.
	std::int64_t MarkByDupThresh();

private:
	void Deliver(const Sent &segment, TcpNews &news) const;
	void Sack(std::int64_t left, std::int64_t right, TcpNews &news);
	std::size_t IndexOf(std::int64_t seq) const;

	std::deque<Sent> segments_;
	std::uint64_t base_ = 0; // segments acknowledged so far: position of index 0
	std::uint64_t sacked_end_ = 0;
	std::uint64_t again_end_ = 0;
	std::uint64_t lost_from_ = 0; // nothing lost waits before this position
	std::int64_t sacked_ = 0;
	std::int64_t lost_ = 0;
	std::int64_t again_ = 0;
	std::int64_t una_ = 0;
};

} // namespace keepon::sim
