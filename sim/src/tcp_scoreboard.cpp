// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/tcp_scoreboard.hpp"

#include <algorithm>

namespace keepon::sim
{

void TcpScoreboard::OnSent(std::int64_t seq, std::uint32_t bytes, TimePs now)
{
	Sent segment;
	segment.seq = seq;
	segment.bytes = bytes;
	segment.at = now;
	segments_.push_back(segment);
}

void TcpScoreboard::OnSentAgain(std::size_t index, TimePs now)
{
	Sent &segment = segments_[index];
	again_ += !segment.again && segment.lost;
	segment.again = segment.lost;
	segment.twice = true;
	segment.at = now;
	again_end_ = std::max<std::uint64_t>(again_end_, base_ + index + 1);
}

void TcpScoreboard::TakeBack()
{
	lost_ -= segments_.back().lost;
	again_ -= segments_.back().again;
	segments_.pop_back();
}

void TcpScoreboard::TakeBackAgain(std::int64_t seq)
{
	const std::size_t index = IndexOf(seq);
	if (index == segments_.size() || segments_[index].seq != seq || !segments_[index].again)
		return; // acknowledged meanwhile, or a probe of what is not lost
	segments_[index].again = false;
	again_--;
	lost_from_ = std::min<std::uint64_t>(lost_from_, base_ + index);
}

void TcpScoreboard::Deliver(const Sent &segment, TcpNews &news) const
{
	news.delivered++;
	news.last_end = std::max(news.last_end, segment.End());
	if (!segment.twice) {
		news.rtt_sent =
			news.rtt_sent == kNever ? segment.at : std::max(news.rtt_sent, segment.at);
		news.first_end = std::min(news.first_end, segment.End());
	}
	TcpNews::Latest &latest = segment.twice ? news.again : news.once;
	if (segment.at > latest.sent || (segment.at == latest.sent && segment.End() > latest.end))
		latest = { segment.at, segment.End() };
}

TcpNews TcpScoreboard::OnAck(const TcpAck &ack)
{
	TcpNews news;
	bool repeated = false;
	std::size_t first = 0;
	if (ack.block_count > 0) {
		const SackBlock &block = ack.blocks[0];
		const bool inside = ack.block_count > 1 && block.left >= ack.blocks[1].left &&
				    block.right <= ack.blocks[1].right;
		news.duplicate = block.left < ack.ack || inside;
		first = news.duplicate;
	}
	while (!segments_.empty() && segments_.front().End() <= ack.ack) {
		const Sent &segment = segments_.front();
		news.acked++;
		repeated |= segment.twice;
		if (segment.sacked)
			sacked_--;
		else
			Deliver(segment, news);
		lost_ -= segment.lost;
		again_ -= segment.again;
		una_ = segment.End();
		base_++;
		segments_.pop_front();
	}
	if (repeated) // what came behind a hole has waited for it (RFC 6298 section 3)
		news.rtt_sent = kNever;
	for (std::size_t i = first; i < ack.block_count; i++)
		Sack(ack.blocks[i].left, ack.blocks[i].right, news);
	return news;
}

/// The segment that begins at \p seq or is the first behind it.
std::size_t TcpScoreboard::IndexOf(std::int64_t seq) const
{
	const auto found = std::lower_bound(
		segments_.begin(), segments_.end(), seq,
		[](const Sent &segment, std::int64_t at) { return segment.seq < at; });
	return static_cast<std::size_t>(found - segments_.begin());
}

void TcpScoreboard::Sack(std::int64_t left, std::int64_t right, TcpNews &news)
{
	for (std::size_t i = IndexOf(left); i < segments_.size() && segments_[i].End() <= right;
	     i++) {
		Sent &segment = segments_[i];
		if (segment.sacked)
			continue;
		Deliver(segment, news);
		lost_ -= segment.lost;
		again_ -= segment.again;
		segment.sacked = true;
		segment.lost = segment.again = false;
		sacked_++;
		news.sacked++;
		sacked_end_ = std::max<std::uint64_t>(sacked_end_, base_ + i + 1);
	}
}

std::size_t TcpScoreboard::NextLost()
{
	std::size_t index = lost_from_ > base_ ? lost_from_ - base_ : 0;
	while (index < segments_.size() && (!segments_[index].lost || segments_[index].again))
		index++;
	lost_from_ = base_ + index;
	return index;
}

bool TcpScoreboard::MarkLost(std::size_t index)
{
	Sent &segment = segments_[index];
	if (segment.sacked || (segment.lost && !segment.again))
		return false;
	lost_ += !segment.lost;
	again_ -= segment.again;
	segment.lost = true;
	segment.again = false;
	lost_from_ = std::min<std::uint64_t>(lost_from_, base_ + index);
	return true;
}

/// From the last SACKed one down; a retransmission that is lost is not found this way.
std::int64_t TcpScoreboard::MarkByDupThresh()
{
	std::int64_t above = 0;
	std::int64_t marked = 0;
	for (std::size_t i = SackedEnd(); i-- > 0;) {
		above += segments_[i].sacked;
		if (above >= kDupThresh && !segments_[i].sacked && !segments_[i].lost)
			marked += MarkLost(i);
	}
	return marked;
}

} // namespace keepon::sim
