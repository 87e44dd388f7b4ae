// SPDX-License-Identifier: BSD-3-Clause
// Pending events in order of (time, order of scheduling): a four-way heap of 32-byte records, no
// allocation per event. It knows no component; Simulation dispatches by kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

enum class EventKind : std::uint16_t {
	kPoll,        // component: station
	kRxPoll,      // station: the poller of the receive ring
	kNicWake,     // station: a committed frame is about to be fetched
	kSync,        // station: ideal synchronisation
	kProbe,       // station: compare what the core believes with the truth
	kDriverEnter, // station, argument: frame in the pool
	kSubmit,      // station, frame
	kEtfTimer,    // station
	kTransmit,    // station: a frame of a launch-time NIC may start
	kReclaim,     // station: completion interrupt
	kTalk,        // station, argument: stream index at the station
	kLoad,        // station, argument: load index at the station
	kArrive,      // link end, argument: packet
	kPortService, // bridge, argument: port
	kFault,       // argument: fault
	kPtp,         // argument: action of PtpNetwork
};

struct Event {
	TimePs time;
	std::uint64_t order;
	std::uint64_t argument;
	std::uint32_t component;
	EventKind kind;
};

class EventQueue
{
public:
	void Push(TimePs time, EventKind kind, std::uint32_t component, std::uint64_t argument = 0)
	{
		const Event event{ time, order_++, argument, component, kind };
		std::size_t at = heap_.size();
		heap_.push_back(event);
		while (at > 0) {
			const std::size_t parent = (at - 1) / 4;
			if (!Before(event, heap_[parent]))
				break;
			heap_[at] = heap_[parent];
			at = parent;
		}
		heap_[at] = event;
	}

	bool Empty() const { return heap_.empty(); }
	const Event &Top() const { return heap_.front(); }
	std::uint64_t Pushed() const { return order_; }

	Event Pop()
	{
		const Event top = heap_.front();
		const Event last = heap_.back();
		heap_.pop_back();
		const std::size_t size = heap_.size();
		if (size == 0)
			return top;
		std::size_t at = 0;
		for (;;) {
			const std::size_t child = 4 * at + 1;
			if (child >= size)
				break;
			const std::size_t end = child + 4 < size ? child + 4 : size;
			std::size_t least = child;
			for (std::size_t i = child + 1; i < end; i++) {
				if (Before(heap_[i], heap_[least]))
					least = i;
			}
			if (!Before(heap_[least], last))
				break;
			heap_[at] = heap_[least];
			at = least;
		}
		heap_[at] = last;
		return top;
	}

private:
	static bool Before(const Event &a, const Event &b)
	{
		return a.time < b.time || (a.time == b.time && a.order < b.order);
	}

	std::vector<Event> heap_;
	std::uint64_t order_ = 0;
};

} // namespace keepon::sim
