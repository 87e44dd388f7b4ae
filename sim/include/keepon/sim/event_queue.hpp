// SPDX-License-Identifier: BSD-3-Clause
// Pending events in order of (time, rank, order of scheduling): a four-way heap of 32-byte records,
// no allocation per event. It knows no component: an event knows who handles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// Hears of an event it has pushed. What `argument` means is its own affair.
class EventHandler
{
public:
	virtual void Handle(TimePs time, std::uint64_t argument) = 0;

protected:
	~EventHandler() = default;
};

/// Events of one kind are calls of one member function (what ns-3 makes with MakeEvent, and a
/// self-message in OMNeT++): a component has one of these for each kind of event it handles,
///
///	MemberEvent<&Bridge::OnService> service_{ *this };
///
/// and pushes it. A component that has some stays where it is.
template <auto Method>
class MemberEvent;

template <class Owner, void (Owner::*Method)(TimePs, std::uint64_t)>
class MemberEvent<Method> final : public EventHandler
{
public:
	explicit MemberEvent(Owner &owner) : owner_(owner) {}
	MemberEvent(const MemberEvent &) = delete;
	MemberEvent &operator=(const MemberEvent &) = delete;
	virtual ~MemberEvent() = default;

	void Handle(TimePs time, std::uint64_t argument) override
	{
		(owner_.*Method)(time, argument);
	}

private:
	Owner &owner_;
};

struct Event {
	TimePs time;
	std::uint64_t order;
	std::uint64_t argument;
	EventHandler *handler;
};

class EventQueue
{
public:
	void Push(TimePs time, EventHandler &handler, std::uint64_t argument = 0)
	{
		Insert({ time, kRanks + pushed_++, argument, &handler });
	}

	/// Before all that is pushed without a rank for the same time, in order of \p rank: for
	/// what may be pushed at any time before, when that must make no difference.
	void PushRanked(TimePs time, EventHandler &handler, std::uint64_t argument,
			std::uint32_t rank)
	{
		pushed_++;
		Insert({ time, rank, argument, &handler });
	}

	bool Empty() const { return heap_.empty(); }
	const Event &Top() const { return heap_.front(); }
	std::uint64_t Pushed() const { return pushed_; }

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
	static constexpr std::uint64_t kRanks = std::uint64_t{ 1 } << 32;

	// The most frequent of all: compilers that have to choose where to inline it choose
	// wrongly.
	[[gnu::always_inline]] void Insert(const Event &event)
	{
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

	static bool Before(const Event &a, const Event &b)
	{
		return a.time < b.time || (a.time == b.time && a.order < b.order);
	}

	std::vector<Event> heap_;
	std::uint64_t pushed_ = 0;
};

} // namespace keepon::sim
