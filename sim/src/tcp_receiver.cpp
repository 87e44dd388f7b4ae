// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/tcp_receiver.hpp"

#include <algorithm>

namespace keepon::sim
{

bool TcpReceiver::OnSegment(const TcpSegment &segment, TimePs now)
{
	if (segment.seq <= last_ack_) // RFC 7323 section 4.3
		ts_recent_ = std::max(ts_recent_, segment.ts_val);
	if (now - arrived_ > spec_.timers.variance_ps_min)
		quick_ = spec_.quick_acks;
	arrived_ = now;
	const bool known = segment.End() <= next_ ||
			   std::any_of(blocks_.begin(), blocks_.end(), [&](const SackBlock &block) {
				   return block.left <= segment.seq && segment.End() <= block.right;
			   });
	if (known) {
		duplicates_++;
		duplicate_ = { segment.seq, segment.End() };
		quick_ = spec_.quick_acks;
		return true;
	}
	const bool holes = !blocks_.empty();
	if (segment.seq > next_) {
		out_of_order_++;
		Keep(segment.seq, segment.End());
		return true;
	}
	next_ = segment.End();
	Advance();
	// At once: what fills a hole or leaves one, and each second full segment.
	if (holes || next_ - last_ack_ > spec_.mss)
		return true;
	if (quick_ > 0) {
		quick_--;
		return true;
	}
	if (delayed_until_ == kNever)
		delayed_until_ =
			TickOf(now, spec_.timers.delayed_ack_ps, spec_.timers.granularity_ps);
	return false;
}

/// Blocks that it touches become one with it, which is the first from now on.
void TcpReceiver::Keep(std::int64_t left, std::int64_t right)
{
	SackBlock grown{ left, right };
	std::erase_if(blocks_, [&](const SackBlock &block) {
		if (block.right < grown.left || block.left > grown.right)
			return false;
		grown = { std::min(grown.left, block.left), std::max(grown.right, block.right) };
		return true;
	});
	blocks_.insert(blocks_.begin(), grown);
}

void TcpReceiver::Advance()
{
	std::erase_if(blocks_, [&](const SackBlock &block) {
		if (block.left > next_)
			return false;
		next_ = std::max(next_, block.right);
		return true;
	});
}

TcpAck TcpReceiver::MakeAck()
{
	TcpAck ack;
	ack.ack = last_ack_ = next_;
	ack.window = spec_.window_bytes;
	ack.ts_ecr = ts_recent_;
	delayed_until_ = kNever;
	if (spec_.sack && duplicate_.right > duplicate_.left)
		ack.blocks[ack.block_count++] = duplicate_;
	duplicate_ = {};
	for (const SackBlock &block : blocks_) {
		if (!spec_.sack || ack.block_count == TcpAck::kBlocks)
			break;
		ack.blocks[ack.block_count++] = block;
	}
	return ack;
}

} // namespace keepon::sim
