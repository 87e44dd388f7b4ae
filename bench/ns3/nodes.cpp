// SPDX-License-Identifier: BSD-3-Clause
#include "nodes.hpp"

#include <algorithm>

#include "frame.hpp"

namespace bench
{

namespace
{

constexpr std::uint16_t kIpv4 = 0x0800; // a protocol number that ns-3's PPP header knows

/// A frame that finds no room would be missing from what is compared.
void Put(ns3::NetDevice &device, ns3::Ptr<ns3::Packet> packet)
{
	if (!device.Send(packet, device.GetBroadcast(), kIpv4))
		NS_FATAL_ERROR("a queue of a device is full");
}

} // namespace

ns3::Ptr<ns3::Packet> Stream::Next()
{
	auto packet = ns3::Create<ns3::Packet>(frame_bytes - kPppBytes);
	packet->AddPacketTag(FrameTag(number, sent++));
	return packet;
}

void Talker::Start(Stream &stream)
{
	ns3::Simulator::Schedule(ns3::NanoSeconds(stream.first_ns), &Talker::Send, this, &stream);
}

void Talker::Send(Stream *stream)
{
	Put(*m_device, stream->Next());
	ns3::Simulator::Schedule(ns3::NanoSeconds(stream->period_ns), &Talker::Send, this, stream);
}

SaturatedTalker::SaturatedTalker(ns3::Ptr<ns3::NetDevice> device, std::uint32_t slot_bytes,
				 std::int64_t slot_ns, std::int64_t phase_ns)
	: m_device(device), m_placeholder(ns3::Create<ns3::Packet>(slot_bytes - kPppBytes)),
	  m_slot_bytes(slot_bytes), m_slot_ns(slot_ns), m_slot_start_ns(phase_ns)
{
	m_device->TraceConnectWithoutContext("PhyTxBegin",
					     ns3::MakeCallback(&SaturatedTalker::Begun, this));
}

void SaturatedTalker::Start()
{
	m_next_due_ns = std::numeric_limits<std::int64_t>::max();
	for (const Stream *stream : m_streams)
		m_next_due_ns = std::min(m_next_due_ns, stream->DueNs());
	ns3::Simulator::Schedule(ns3::NanoSeconds(m_slot_start_ns), &SaturatedTalker::Queue, this);
}

void SaturatedTalker::Begun(ns3::Ptr<const ns3::Packet>)
{
	m_started++;
	Queue();
}

/// Called when slot n begins: slot n + 1 is decided.
void SaturatedTalker::Queue()
{
	Stream *stream = m_slot_start_ns < m_next_due_ns ? nullptr : Due();
	m_slot_start_ns += m_slot_ns;
	if (stream) {
		Put(*m_device, stream->Next());
		for (const Stream *other : m_streams)
			m_next_due_ns = std::min(m_next_due_ns, other->DueNs());
		return;
	}
	m_placeholders++;
	Put(*m_device, m_placeholder->Copy()); // faster than a new one
}

/// The stream whose frame is due in the slot that is queued next.
Stream *SaturatedTalker::Due()
{
	Stream *found = nullptr;
	m_next_due_ns = std::numeric_limits<std::int64_t>::max();
	for (Stream *stream : m_streams) {
		if (stream->DueNs() < m_slot_start_ns || stream->frame_bytes != m_slot_bytes)
			NS_FATAL_ERROR("stream " << stream->id << " does not fit the slots");
		if (stream->DueNs() == m_slot_start_ns)
			found = stream;
		else
			m_next_due_ns = std::min(m_next_due_ns, stream->DueNs());
	}
	return found;
}

void Bridge::Attach(ns3::Ptr<ns3::NetDevice> device)
{
	device->SetReceiveCallback(ns3::MakeCallback(&Bridge::Receive, this));
}

void Bridge::Route(const Stream &stream, ns3::Ptr<ns3::NetDevice> exit, std::uint64_t rate_bps)
{
	if (m_exits.size() <= stream.number)
		m_exits.resize(stream.number + 1);
	const ns3::Time preamble = ns3::DataRate(rate_bps).CalculateBytesTxTime(kPreambleBytes);
	m_exits[stream.number] = { exit, m_processing + preamble };
}

bool Bridge::Receive(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t,
		     const ns3::Address &)
{
	FrameTag tag;
	if (!packet->PeekPacketTag(tag) || tag.Stream() >= m_exits.size() ||
	    !m_exits[tag.Stream()].device)
		NS_FATAL_ERROR("a bridge got a frame it has no route for");
	const Exit &exit = m_exits[tag.Stream()];
	ns3::Simulator::Schedule(exit.wait, &Bridge::Forward, this, exit.device, packet->Copy());
	return true;
}

void Bridge::Forward(ns3::Ptr<ns3::NetDevice> exit, ns3::Ptr<ns3::Packet> packet)
{
	Put(*exit, packet);
}

void Listener::Attach(ns3::Ptr<ns3::NetDevice> device)
{
	device->SetReceiveCallback(ns3::MakeCallback(&Listener::Receive, this));
}

/// Called when the last byte is there; the instant is that of the first.
bool Listener::Receive(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t,
		       const ns3::Address &)
{
	FrameTag tag;
	if (!packet->PeekPacketTag(tag))
		NS_FATAL_ERROR("a listener got a placeholder");
	Stream &stream = m_streams.at(tag.Stream());
	const std::int64_t frame_ns =
		m_rate.CalculateBytesTxTime(stream.frame_bytes).GetNanoSeconds();
	const std::int64_t due_ns =
		stream.first_ns + static_cast<std::int64_t>(tag.Seq()) * stream.period_ns;
	const std::int64_t delay_ns = ns3::Simulator::Now().GetNanoSeconds() - frame_ns - due_ns;
	stream.out_of_order += tag.Seq() != stream.received;
	stream.received++;
	stream.delay_min_ns = std::min(stream.delay_min_ns, delay_ns);
	stream.delay_max_ns = std::max(stream.delay_max_ns, delay_ns);
	return true;
}

} // namespace bench
