// SPDX-License-Identifier: BSD-3-Clause
// The ETF qdisc (Linux net/sched/sch_etf.c, without offload): frames in order of txtime, handed on
// delta before it by a timer that comes late; what is late when it enters or leaves is dropped (F8,
// F9, N25).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

class EtfQueue
{
public:
	struct Entry {
		std::int64_t txtime_ns;
		std::uint64_t order;
		std::uint32_t frame;
	};

	void Push(std::int64_t txtime_ns, std::uint32_t frame)
	{
		heap_.push_back({ txtime_ns, order_++, frame });
		std::push_heap(heap_.begin(), heap_.end(), Later);
	}

	bool Empty() const { return heap_.empty(); }
	const Entry &First() const { return heap_.front(); }

	std::uint32_t Pop()
	{
		std::pop_heap(heap_.begin(), heap_.end(), Later);
		const std::uint32_t frame = heap_.back().frame;
		heap_.pop_back();
		return frame;
	}

private:
	static bool Later(const Entry &a, const Entry &b)
	{
		return a.txtime_ns > b.txtime_ns ||
		       (a.txtime_ns == b.txtime_ns && a.order > b.order);
	}

	std::vector<Entry> heap_;
	std::uint64_t order_ = 0;
};

} // namespace keepon::sim
