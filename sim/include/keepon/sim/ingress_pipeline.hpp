// SPDX-License-Identifier: BSD-3-Clause
// What a bridge does with a frame that has arrived, by its header alone (IEEE Std 802.1Q-2022
// clause 8.6, in this order):
//
//   stream identification -> filters -> priority to traffic class -> forwarding
//
// A frame of a reserved address, or of one of the bridge's own, goes up to the bridge instead.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "keepon/sim/address_table.hpp"
#include "keepon/sim/application.hpp"
#include "keepon/sim/frame_header.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// What filters may change of a frame.
struct Treatment {
	int priority;          // by which its queue is chosen; the frame keeps its own
	bool drop_eligible;    // on the wire from here on
	std::int32_t sequence; // of the R-tag from here on; -1: none
	TimePs wait = 0;       // from the filters on, until its queue may send it, if it sorts
};

/// One stage of per-stream filtering and policing (clause 8.6.5): stream gates, flow meters, ATS
/// schedulers, elimination of duplicates.
class IngressFilter
{
public:
	virtual ~IngressFilter() = default;

	/// Where \p packet, received whole at \p now, is lost, World::Place(); nothing if it goes
	/// on. \p stream: handle of its stream, numbered from 0 in the order in which routes were
	/// added.
	virtual std::optional<std::uint32_t> Drops(const Packet &packet, std::uint32_t stream,
						   TimePs now, Treatment &treatment) = 0;
};

class IngressPipeline
{
public:
	/// Where frames leave, and how many listeners are that way: the latter for accounting only.
	struct Exit {
		std::uint16_t port;
		std::uint16_t listeners;
	};

	/// What becomes of a frame: it leaves by `exits`, from queue `queue` of each; goes up to
	/// `receiver`; or, with neither, was lost at `place`.
	struct Decision {
		const std::vector<Exit> *exits = nullptr;
		int queue = 0;
		bool drop_eligible = false;
		std::int32_t sequence = -1;
		TimePs wait = 0;
		Receiver *receiver = nullptr;
		std::uint32_t place = 0;
	};

	/// \param unknown_place  where frames are lost that are for nobody known
	explicit IngressPipeline(std::uint32_t unknown_place) : unknown_place_(unknown_place) {}

	/// Handle of the stream of frames to \p header's address.
	std::uint32_t StreamOf(const FrameHeader &header) { return EntryOf(header).stream; }
	/// One more listener of frames to \p header's address is behind \p port.
	void AddRoute(const FrameHeader &header, std::uint32_t port);
	/// \p port leads to their one listener, too.
	void AddWay(const FrameHeader &header, std::uint32_t port);
	/// Frames to \p header's address are for the bridge itself.
	void AddReceiver(const FrameHeader &header, Receiver &receiver);
	/// Filters are asked in the order in which they were added.
	void AddFilter(std::unique_ptr<IngressFilter> filter)
	{
		filters_.push_back(std::move(filter));
	}
	/// Queue of frames of \p priority in every port; at first queue n has priority n.
	void SetQueue(int priority, int queue)
	{
		queues_[static_cast<std::size_t>(priority)] = static_cast<std::uint8_t>(queue);
	}

	int QueueOf(const FrameHeader &header) const { return queues_[header.priority]; }
	/// \param now  when \p packet was received whole
	Decision Decide(const Packet &packet, TimePs now);

private:
	struct Entry {
		std::uint32_t stream = 0;
		std::vector<Exit> exits;
		Receiver *receiver = nullptr;
	};

	Entry &EntryOf(const FrameHeader &header);

	AddressTable<Entry> entries_;
	std::vector<std::unique_ptr<IngressFilter>> filters_;
	std::array<std::uint8_t, 8> queues_{ 0, 1, 2, 3, 4, 5, 6, 7 };
	std::uint32_t unknown_place_;
};

} // namespace keepon::sim
