// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/launchtime_transmitter.hpp"

#include <algorithm>

namespace keepon::sim
{

LaunchtimeTransmitter::LaunchtimeTransmitter(World &world, NodeId node, const std::string &name,
					     const StationSpec &spec, std::uint32_t byte_time_ps,
					     Oscillator &nic_oscillator, StationClock &clock,
					     TransmitterSink &sink)
	: world_(world), node_(node), spec_(spec.nic), wire_(nic_oscillator, byte_time_ps),
	  clock_(clock), fetch_rng_(world.seed, name, "fetch"), sink_(sink)
{
}

kpn_verdict LaunchtimeTransmitter::Submit(TxFrame &frame)
{
	if (frame.frame.frame_bytes > spec_.frame_bytes_max)
		return KPN_VERDICT_OVERSIZE;
	const bool launch_time = frame.frame.flags & KPN_FRAME_TXTIME;
	if ((launch_time ? launches_ : others_).size() >= spec_.ring_slots)
		return KPN_VERDICT_NO_ROOM;
	const TimePs fetch =
		(spec_.fetch_ns + fetch_rng_.Below(spec_.fetch_ns_max - spec_.fetch_ns + 1)) *
		kPsPerNs;
	if (!launch_time) {
		other_ready_ = std::max(other_ready_, world_.now + fetch);
		others_.push_back({ &frame, other_ready_, kNever });
	} else {
		launch_ready_ = std::max(launch_ready_, world_.now + fetch);
		const std::int64_t preamble_ns =
			CeilDiv(std::int64_t{ KPN_PREAMBLE_BYTES } * wire_.ByteTimePs(), kPsPerNs);
		const std::int64_t match_ns =
			CeilDiv(frame.frame.txtime_ns - preamble_ns, kComparatorNs) * kComparatorNs;
		const TimePs launch = clock_.TrueOf(match_ns);
		launches_.push_back({ &frame, std::max(launch_ready_, launch), launch });
		late_launches_ += launch_ready_ > launch;
	}
	Service();
	return KPN_VERDICT_PENDING;
}

void LaunchtimeTransmitter::Schedule(TimePs time)
{
	if (time >= service_at_)
		return;
	service_at_ = time;
	world_.events.Push(time, transmit_);
}

void LaunchtimeTransmitter::OnTransmit(TimePs time, std::uint64_t)
{
	if (time != service_at_)
		return;
	service_at_ = kNever;
	Service();
}

void LaunchtimeTransmitter::Service()
{
	if (launches_.empty() && others_.empty())
		return;
	if (world_.now < wire_.FreeAt()) {
		Schedule(wire_.FreeAt());
		return;
	}
	const TimePs launch = launches_.empty() ? kNever : launches_.front().earliest;
	const TimePs other = others_.empty() ? kNever : others_.front().earliest;
	if (launch <= world_.now)
		SendFirst(launches_);
	else if (other <= world_.now)
		SendFirst(others_);
	else
		Schedule(std::min(launch, other));
}

void LaunchtimeTransmitter::SendFirst(std::deque<Waiting> &queue)
{
	const Waiting first = queue.front();
	queue.pop_front();
	const WireFrame sent = wire_.Send(*first.frame, world_.now);
	frames_++;
	frame_bytes_ += sent.frame_bytes;
	sink_.OnWire(sent);
	kpn_verdict verdict = KPN_VERDICT_BEST_EFFORT;
	if (first.launch != kNever) // within one byte of the comparator's match it is on time
		verdict = wire_.LastStart() - first.launch <= wire_.ByteTimePs() ?
				  KPN_VERDICT_ON_TIME :
				  KPN_VERDICT_MOVED;
	sink_.OnOutcome(*first.frame, verdict);
	if (!launches_.empty() || !others_.empty())
		Schedule(wire_.FreeAt());
}

Counters LaunchtimeTransmitter::NicCounters() const
{
	return { { "frames", frames_ },
		 { "frame_bytes", frame_bytes_ },
		 { "late_launches", late_launches_ },
		 { "paused_ps", wire_.PausedPs() } };
}

} // namespace keepon::sim
