// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the frames of one stream or load: counters for all, one record per frame for
// streams.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/frame_header.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

inline constexpr std::int8_t kPending = -1;

/// One entry per frame of a stream, by sequence number. Times are true time in ps; -1: did not
/// happen (yet).
struct StreamRecords {
	std::vector<std::int64_t> submit_ps;
	std::vector<std::int64_t> wire_ps; // reference plane at the talker
	std::vector<std::int8_t> verdict;
	std::vector<std::vector<std::int64_t>> arrival_ps; // per listener, reference plane
	std::vector<std::vector<std::int64_t>> stamp_ns;   // per listener, its own clock
	// Per listener up to the last whose host has a way to the application: from the datapath of a
	// guest, and by the application.
	std::vector<std::vector<std::int64_t>> handed_ps;
	std::vector<std::vector<std::int64_t>> read_ps;
	bool guest = false;                  // its talker is one
	std::vector<std::int64_t> queued_ps; // of a guest's frames: in the ring of its device

	std::int64_t Count() const { return static_cast<std::int64_t>(verdict.size()); }
	std::int64_t Append();
};

class Application;

/// What a flow is called in results.
enum class FlowKind { kStream, kLoad, kPtp };

struct Flow {
	std::string id;
	FlowKind kind = FlowKind::kLoad;
	bool is_stream = false;        // every frame has a record
	Application *source = nullptr; // makes its frames; set before the start
	NodeId talker = 0;
	std::uint32_t port = 0; // of its talker, if that is a station
	std::uint32_t frame_bytes = 0;
	std::uint8_t tc = 0;
	FrameHeader header; // of all its frames
	std::vector<NodeId> listeners;
	std::int64_t first_txtime_ns = 0;        // network time of sequence number 0
	std::int64_t cycle_ns = 0;               // after which the releases repeat
	std::vector<std::int64_t> turns_ns{ 0 }; // releases in a cycle, from number 0 on

	std::int64_t submitted = 0;
	std::array<std::int64_t, KPN_VERDICT_COUNT> verdicts{};
	std::int64_t on_wire = 0;
	std::vector<std::int64_t> delivered; // per listener
	std::int64_t delivered_bytes = 0;
	// the same, and what the talker's wire saw, of frames whose reference plane was in the window
	std::int64_t window_sent_bytes = 0;
	std::int64_t window_delivered_bytes = 0;
	std::int64_t torn =
		0; // arrived, though its bytes had changed after the commit: the FCS is good
	std::int64_t wrong_bytes = 0; // arrived, but not the bytes of this frame followed by zeros
	std::int64_t duplicates = 0;  // on the wire once more
	std::int64_t ghosts = 0;      // reported as sent, never on the wire
	bool redundant = false;       // it has several ways to its listener
	bool tags = false;            // its talker puts in R-tags
	std::int64_t split = 0;       // deliveries that copies made by bridges could make
	std::vector<std::int64_t> lost; // by place, deliveries that can no longer happen
	StreamRecords records;

	/// Network time at which frame \p seq is to leave.
	std::int64_t TxTime(std::int64_t seq) const
	{
		const auto turns = static_cast<std::int64_t>(turns_ns.size());
		return first_txtime_ns + seq / turns * cycle_ns +
		       turns_ns[static_cast<std::size_t>(seq % turns)];
	}
};

inline std::int64_t StreamRecords::Append()
{
	submit_ps.push_back(-1);
	wire_ps.push_back(-1);
	verdict.push_back(kPending);
	for (auto &column : arrival_ps)
		column.push_back(-1);
	for (auto &column : stamp_ns)
		column.push_back(-1);
	for (auto *columns : { &handed_ps, &read_ps })
		for (auto &column : *columns)
			column.push_back(-1);
	if (guest)
		queued_ps.push_back(-1);
	return Count() - 1;
}

} // namespace keepon::sim
