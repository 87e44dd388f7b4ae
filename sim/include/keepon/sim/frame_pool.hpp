// SPDX-License-Identifier: BSD-3-Clause
// Frames of one station with their bytes; allocated by the block when more are under way than ever
// before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

class FramePool
{
public:
	/// Of a flow that begins later: the pool holds its frames.
	void Fit(std::uint32_t frame_bytes)
	{
		if (blocks_.empty())
			stride_ = std::max<std::size_t>(stride_, (frame_bytes + 15) / 8 * 8);
		else if (frame_bytes > stride_)
			throw std::logic_error(
				"a flow with longer frames came after the first frame");
	}

	TxFrame &Take()
	{
		if (free_.empty())
			Grow();
		const std::uint32_t index = free_.back();
		free_.pop_back();
		return (*this)[index];
	}

	void Give(const TxFrame &frame) { free_.push_back(frame.index); }

	/// Frames of \p flow that were taken and not given back.
	std::int64_t InUse(FlowId flow) const
	{
		std::vector<bool> used(blocks_.size() * kBlock, true);
		for (const std::uint32_t index : free_)
			used[index] = false;
		std::int64_t count = 0;
		for (std::uint32_t i = 0; i < used.size(); i++)
			count += used[i] && blocks_[i / kBlock].frames[i % kBlock].flow == flow;
		return count;
	}

	TxFrame &operator[](std::uint32_t index)
	{
		return blocks_[index / kBlock].frames[index % kBlock];
	}
	std::uint8_t *Data(const TxFrame &frame)
	{
		return blocks_[frame.index / kBlock].data.get() + frame.index % kBlock * stride_;
	}

private:
	static constexpr std::uint32_t kBlock = 64;

	struct Block {
		std::unique_ptr<TxFrame[]> frames;
		std::unique_ptr<std::uint8_t[]> data;
	};

	void Grow()
	{
		const auto first = static_cast<std::uint32_t>(blocks_.size()) * kBlock;
		blocks_.push_back({ std::make_unique<TxFrame[]>(kBlock),
				    std::make_unique<std::uint8_t[]>(kBlock * stride_) });
		for (std::uint32_t i = kBlock; i-- > 0;) {
			TxFrame &frame = blocks_.back().frames[i];
			frame.index = first + i;
			frame.frame.data = blocks_.back().data.get() + i * stride_;
			frame.frame.cookie = &frame;
			free_.push_back(frame.index);
		}
	}

	std::size_t stride_ = (KPN_FRAME_BYTES_MAX + 15) / 8 * 8;
	std::vector<Block> blocks_;
	std::vector<std::uint32_t> free_;
};

} // namespace keepon::sim
