// SPDX-License-Identifier: BSD-3-Clause
// An egress port (IEEE Std 802.1Q-2022 clauses 8.6.6 to 8.6.9):
//
//   Enqueue() -> queue -> transmission selection of the queue -> gate -> MAC -> Owner::OnTransmit()
//
// Of the queues whose head may go now the highest goes; if none may, one event is pending for the
// first instant at which one may, and none while nothing waits. Bridges and the NIC with launch
// times send through it. A NIC whose frames nothing can overtake needs its MAC alone.
//
// With frame preemption (clauses 6.7.2 and 8.6.8) express queues go before preemptable ones,
// and an express frame that may go interrupts a preemptable one, as a HOLD does. What was
// interrupted goes on before any other preemptable frame, whatever its gate says then.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/fifo.hpp"
#include "keepon/sim/gates.hpp"
#include "keepon/sim/mac.hpp"
#include "keepon/sim/mac_merge.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// A frame that waits. `frame` is whatever its owner knows it by.
struct QueuedFrame {
	std::uint64_t frame;
	TimePs eligible; // not before: it has been fetched, its launch time has come
	std::uint32_t frame_bytes;
};

/// Transmission selection algorithm of one queue (clause 8.6.8). A queue without one has strict
/// priority. May be asked about the future, in any order, as long as nothing is sent.
class TransmissionSelection
{
public:
	virtual ~TransmissionSelection() = default;

	/// When the head of the queue may go, if nothing else is sent before: not before \p now,
	/// kNever if only another call of EgressPort::Serve() can tell.
	virtual TimePs EligibleAt(const QueuedFrame &head, TimePs now) = 0;
	/// \p frame has begun at \p start and leaves the wire free at \p end.
	virtual void OnSent(const QueuedFrame &frame, TimePs start, TimePs end) = 0;
	/// The queue, empty until \p now, has a frame.
	virtual void OnQueued(TimePs /*now*/) {}
	/// The last frame has left the queue; if it was sent, OnSent() came before.
	virtual void OnEmpty(TimePs /*now*/) {}
};

class EgressPort
{
public:
	static constexpr int kQueues = 8;

	class Owner
	{
	public:
		/// \p frame begins now, or a preemptable one will not be interrupted any more: \p sent
		/// says when what of it is on the wire.
		virtual void OnTransmit(EgressPort &port, const QueuedFrame &frame,
					const Transmission &sent) = 0;
		/// No window of its gate is long enough for \p frame, so it left its queue.
		virtual void OnNeverFits(EgressPort &port, const QueuedFrame &frame) = 0;

	protected:
		~Owner() = default;
	};

	/// \param number  by which the owner knows its ports
	EgressPort(EventQueue &events, const TimePs &now, Owner &owner, std::uint32_t number,
		   const Mac &mac)
		: events_(events), now_(now), owner_(owner), number_(number), mac_(mac)
	{
	}

	/// \param clock  of the gates; NULL: they go by \p oscillator
	void SetGates(const Gates &gates, Oscillator &oscillator, OscillatorClock *clock)
	{
		gates_ = gates;
		gate_oscillator_ = &oscillator;
		gate_clock_ = clock;
	}
	void SetSelection(int queue, std::unique_ptr<TransmissionSelection> selection)
	{
		selections_[static_cast<std::size_t>(queue)] = std::move(selection);
	}
	/// \p queue sends by QueuedFrame::eligible, and frames of one instant as they come.
	void SortByEligibility(int queue) { sorted_ |= 1u << queue; }
	bool Sorts(int queue) const { return sorted_ >> queue & 1; }

	/// Frames of some queues are preemptable; before the first Enqueue().
	void SetMerge(const MacMerge &merge) { merge_ = merge; }
	bool Merges() const { return merge_.has_value(); }

	/// \p frame is the last of \p queue, 0 to 7, unless that sorts; it goes at once if it may.
	void Enqueue(int queue, const QueuedFrame &frame);
	/// Something changed: a clock was set, a selection knows more.
	void Serve();

	std::uint32_t Number() const { return number_; }
	std::size_t Waiting() const { return waiting_; }
	std::size_t WaitingIn(int queue) const
	{
		return queues_[static_cast<std::size_t>(queue)].Count();
	}
	const Gates &GateList() const { return gates_; }
	/// For how long the gate of \p queue has been open at \p t, by the port's clock and from
	/// some instant on; and the least true time of such a length.
	std::int64_t OpenTime(int queue, TimePs t);
	TimePs TrueOfOpen(int queue, std::int64_t open);
	Mac &Wire() { return mac_; }
	const Mac &Wire() const { return mac_; }

private:
	std::int64_t GateTime(TimePs t)
	{
		return gate_clock_ ? gate_clock_->ReadingPs(t) : gate_oscillator_->Local(t);
	}
	TimePs TrueOfGate(std::int64_t time)
	{
		return gate_clock_ ? gate_clock_->TrueOf(time) : gate_oscillator_->TrueOf(time);
	}
	TimePs HeadAt(std::size_t queue, TimePs at);
	TimePs GateOpens(int gate, std::uint32_t bytes, TimePs at);
	bool ServeQueues(std::uint32_t queues, TimePs at, TimePs &earliest);
	bool ServeMerge(TimePs at, TimePs &earliest);
	void MindFrameUnderway();
	TimePs HoldFrom(TimePs at);
	void Begin(std::size_t queue);
	void Schedule(TimePs time);
	void OnService(TimePs time, std::uint64_t);
	void Occupy(int queue);
	QueuedFrame Take(std::size_t queue);
	void AfterTaking(std::size_t queue);

	EventQueue &events_;
	const TimePs &now_;
	Owner &owner_;
	std::uint32_t number_;
	Mac mac_;
	Gates gates_;
	Oscillator *gate_oscillator_ = nullptr;
	OscillatorClock *gate_clock_ = nullptr;
	std::array<Fifo<QueuedFrame>, kQueues> queues_;
	std::array<std::unique_ptr<TransmissionSelection>, kQueues> selections_;
	std::uint32_t occupied_ = 0; // a bit for each queue that is not empty
	std::uint32_t sorted_ = 0;
	std::size_t waiting_ = 0;
	TimePs service_at_ = kNever;
	std::optional<MacMerge> merge_;
	QueuedFrame merged_{}; // its preemptable frame
	std::size_t merged_queue_ = 0;
	MemberEvent<&EgressPort::OnService> service_{ *this };
};

} // namespace keepon::sim
