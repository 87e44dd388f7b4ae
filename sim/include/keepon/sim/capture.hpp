// SPDX-License-Identifier: BSD-3-Clause
// Frames of every kind as stations' wires see them, in a window of time; placeholders are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// A frame at one end of a link. sfd_ps: true time of its reference plane there.
struct Sighting {
	TimePs sfd_ps = 0;
	std::int64_t seq = 0;
	FlowId flow = 0;
	NodeId node = 0;
	std::uint32_t frame_bytes = 0;
	bool outbound = false;
};

class Capture
{
public:
	/// \param nodes  by node, whether it takes part
	void Set(TimePs start, TimePs end, std::size_t limit, std::vector<bool> nodes)
	{
		start_ = start;
		end_ = end;
		limit_ = limit;
		nodes_ = std::move(nodes);
	}

	void Add(const Sighting &seen)
	{
		if (seen.sfd_ps < start_ || seen.sfd_ps >= end_ || !nodes_[seen.node])
			return;
		if (seen_.size() < limit_)
			seen_.push_back(seen);
		else
			end_ = seen.sfd_ps; // all before it are known, as none was left out yet
	}

	bool Wanted() const { return limit_ > 0; }
	TimePs Start() const { return start_; }
	/// Where the window ends: earlier than was asked for if there were more than the limit.
	TimePs End() const { return end_; }

	/// All frames in the window, in the order of their events.
	std::vector<Sighting> Seen() const
	{
		std::vector<Sighting> found;
		std::copy_if(seen_.begin(), seen_.end(), std::back_inserter(found),
			     [this](const Sighting &one) { return one.sfd_ps < end_; });
		return found;
	}

private:
	TimePs start_ = 0;
	TimePs end_ = 0;
	std::size_t limit_ = 0;
	std::vector<bool> nodes_;
	std::vector<Sighting> seen_;
};

} // namespace keepon::sim
