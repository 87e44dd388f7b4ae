// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/egress_port.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace keepon::sim
{

void EgressPort::Enqueue(int queue, const QueuedFrame &frame)
{
	auto &frames = queues_[static_cast<std::size_t>(queue)];
	if (Sorts(queue))
		frames.Insert(frame, [](const QueuedFrame &one, const QueuedFrame &other) {
			return one.eligible < other.eligible;
		});
	else
		frames.Push(frame);
	Occupy(queue);
	Serve();
}

void EgressPort::Occupy(int queue)
{
	TransmissionSelection *const selection = selections_[static_cast<std::size_t>(queue)].get();
	if (selection && !(occupied_ & 1u << queue))
		selection->OnQueued(now_);
	occupied_ |= 1u << queue;
	waiting_++;
}

std::int64_t EgressPort::OpenTime(int queue, TimePs t)
{
	return gates_.Any() ? gates_.OpenTime(queue, GateTime(t)) : mac_.Local(t);
}

TimePs EgressPort::TrueOfOpen(int queue, std::int64_t open)
{
	return gates_.Any() ? TrueOfGate(gates_.TimeOfOpen(queue, open)) : mac_.TrueOf(open);
}

QueuedFrame EgressPort::Take(std::size_t queue)
{
	const QueuedFrame frame = queues_[queue].Pop();
	if (queues_[queue].Empty())
		occupied_ &= ~(1u << queue);
	waiting_--;
	return frame;
}

void EgressPort::AfterTaking(std::size_t queue)
{
	if (selections_[queue] && queues_[queue].Empty())
		selections_[queue]->OnEmpty(now_);
}

void EgressPort::Schedule(TimePs time)
{
	if (time >= service_at_)
		return;
	service_at_ = time;
	events_.Push(time, service_);
}

void EgressPort::OnService(TimePs time, std::uint64_t)
{
	if (service_at_ != time)
		return; // an earlier one was scheduled since and has done the work
	service_at_ = kNever;
	Serve();
}

/// When what takes \p bytes may begin, from \p at on, so that it ends before its gate closes.
TimePs EgressPort::GateOpens(int gate, std::uint32_t bytes, TimePs at)
{
	if (!gates_.Any())
		return at;
	const std::int64_t local = GateTime(at);
	const std::int64_t start =
		gates_.EarliestStart(gate, local, std::int64_t{ bytes } * mac_.ByteTimePs());
	if (start == local)
		return at;
	return start == kNever ? kNever : std::max(TrueOfGate(start), at + 1);
}

/// When HOLD is asserted, from \p at on: so much before its gate operation that what cannot be
/// interrupted has left the wire then (holdAdvance of clause 12.30).
TimePs EgressPort::HoldFrom(TimePs at)
{
	const std::int64_t advance = std::int64_t{ merge_->WaitBytesMax() } * mac_.ByteTimePs();
	const std::int64_t last =
		gates_.Any() ? gates_.LastStart(Gates::kRelease, GateTime(at), advance) : kNever;
	return last == kNever ? kNever : std::max(TrueOfGate(last), at);
}

/// When the head of a queue that is not empty may go, not before \p at; kNever: nobody can tell.
/// What can never go leaves the queue, once it is its turn.
TimePs EgressPort::HeadAt(std::size_t queue, TimePs at)
{
	while (!queues_[queue].Empty()) {
		const QueuedFrame &head = queues_[queue].Front();
		TimePs time = std::max(at, head.eligible);
		if (selections_[queue])
			time = selections_[queue]->EligibleAt(head, time);
		if (time == kNever)
			return kNever;
		time = GateOpens(static_cast<int>(queue), KPN_PREAMBLE_BYTES + head.frame_bytes,
				 time);
		if (time != kNever)
			return time;
		if (at > now_)
			return at;
		// It would block its queue for ever.
		owner_.OnNeverFits(*this, Take(queue));
		AfterTaking(queue);
	}
	return kNever;
}

/// Begin what may go. While the wire is busy nothing has to happen before the first instant at
/// which something may: there is no event for the end of a transmission.
void EgressPort::Serve()
{
	if (merge_ && merge_->Underway())
		MindFrameUnderway();
	if (!occupied_ && !(merge_ && merge_->Interrupted()))
		return;
	const TimePs at = std::max(now_, mac_.FreeAt());
	TimePs earliest = kNever;
	if (ServeQueues(merge_ ? occupied_ & ~merge_->Queues() : occupied_, at, earliest))
		return;
	if (merge_ && earliest > at && ServeMerge(at, earliest))
		return;
	if (earliest != kNever)
		Schedule(earliest);
}

/// Whether the head of one of \p queues has begun. If not, \p earliest is no later than the first
/// of them may.
bool EgressPort::ServeQueues(std::uint32_t queues, TimePs at, TimePs &earliest)
{
	while (queues && earliest > at) {
		const auto queue = static_cast<std::size_t>(std::bit_width(queues) - 1);
		queues &= ~(1u << queue);
		const TimePs time = HeadAt(queue, at);
		if (time == now_) {
			Begin(queue);
			return true;
		}
		earliest = std::min(earliest, time);
	}
	return false;
}

/// As ServeQueues(), of preemptable frames.
bool EgressPort::ServeMerge(TimePs at, TimePs &earliest)
{
	if (merge_->Underway())
		return false; // MindFrameUnderway() has scheduled what comes next
	at = GateOpens(Gates::kRelease, merge_->WaitBytesMax(), at);
	if (at == kNever)
		return false;
	if (!merge_->Interrupted())
		return ServeQueues(occupied_ & merge_->Queues(), at, earliest);
	if (at == now_) {
		merge_->Continue(mac_, now_);
		Serve();
		return true;
	}
	earliest = std::min(earliest, at);
	return false;
}

/// Interrupt it if an express frame or HOLD wants the wire, or let it go on to its end where it
/// cannot be interrupted any more.
void EgressPort::MindFrameUnderway()
{
	const TimePs until = merge_->InterruptibleUntil(mac_);
	if (now_ > until) {
		const Transmission sent = merge_->End();
		if (selections_[merged_queue_])
			selections_[merged_queue_]->OnSent(merged_, mac_.TrueOf(sent.start),
							   mac_.FreeAt());
		owner_.OnTransmit(*this, merged_, sent);
		return;
	}
	TimePs wanted = HoldFrom(now_);
	for (std::uint32_t left = occupied_ & ~merge_->Queues(); left && wanted > now_;) {
		const auto queue = static_cast<std::size_t>(std::bit_width(left) - 1);
		left &= ~(1u << queue);
		wanted = std::min(wanted, HeadAt(queue, now_));
	}
	if (wanted > now_)
		Schedule(std::min(wanted, until + 1));
	else
		merge_->Interrupt(mac_, now_);
}

void EgressPort::Begin(std::size_t queue)
{
	const QueuedFrame frame = Take(queue);
	if (merge_ && merge_->Queues() >> queue & 1) {
		merged_ = frame;
		merged_queue_ = queue;
		merge_->Begin(mac_, frame.frame_bytes, now_);
	} else {
		const Transmission sent = mac_.Send(frame.frame_bytes, now_);
		if (selections_[queue])
			selections_[queue]->OnSent(frame, mac_.TrueOf(sent.start), mac_.FreeAt());
		AfterTaking(queue);
		owner_.OnTransmit(*this, frame, sent);
	}
	Serve();
}

} // namespace keepon::sim
