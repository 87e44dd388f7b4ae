// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/egress_port.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace keepon::sim
{

void EgressPort::Enqueue(int queue, const QueuedFrame &frame)
{
	queues_[static_cast<std::size_t>(queue)].Push(frame);
	Occupy(queue);
	Serve();
}

void EgressPort::PutBack(int queue, const QueuedFrame &frame)
{
	queues_[static_cast<std::size_t>(queue)].PushFront(frame);
	Occupy(queue);
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

/// When a frame may begin, from \p at on, so that it ends before its gate closes.
TimePs EgressPort::GateOpens(std::size_t queue, std::uint32_t frame_bytes, TimePs at)
{
	if (!gates_.Any())
		return at;
	const std::int64_t duration =
		std::int64_t{ KPN_PREAMBLE_BYTES + frame_bytes } * mac_.ByteTimePs();
	const std::int64_t local = GateTime(at);
	const std::int64_t start = gates_.EarliestStart(static_cast<int>(queue), local, duration);
	if (start == local)
		return at;
	return start == kNever ? kNever : std::max(TrueOfGate(start), at + 1);
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
		time = GateOpens(queue, head.frame_bytes, time);
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
	if (!occupied_)
		return;
	const TimePs at = std::max(now_, mac_.FreeAt());
	TimePs earliest = kNever;
	for (std::uint32_t left = occupied_; left && earliest > at;) {
		const auto queue = static_cast<std::size_t>(std::bit_width(left) - 1);
		left &= ~(1u << queue);
		const TimePs time = HeadAt(queue, at);
		if (time == now_) {
			Begin(queue);
			return;
		}
		earliest = std::min(earliest, time);
	}
	if (earliest != kNever)
		Schedule(earliest);
}

void EgressPort::Begin(std::size_t queue)
{
	sending_queue_ = static_cast<int>(queue);
	sending_ = Take(queue);
	sent_ = mac_.Send(sending_.frame_bytes, now_);
	if (selections_[queue])
		selections_[queue]->OnSent(sending_, mac_.TrueOf(sent_.start), mac_.FreeAt());
	AfterTaking(queue);
	owner_.OnTransmit(*this, sending_, sent_);
	Serve();
}

std::optional<EgressPort::Interrupted> EgressPort::CutShort()
{
	if (sending_queue_ < 0 || now_ >= mac_.TrueOf(sent_.LastBit()))
		return std::nullopt;
	const Interrupted cut{ sending_queue_, sending_, mac_.CutShort(now_) };
	if (cut.sent.frame_bytes == sending_.frame_bytes)
		return std::nullopt; // the last byte is under way
	sending_queue_ = -1;
	service_at_ = kNever; // the event for the end that was to come finds nothing to do
	return cut;
}

} // namespace keepon::sim
