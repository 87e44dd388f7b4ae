// SPDX-License-Identifier: BSD-3-Clause
// What stands at the ends of ns-3's point-to-point links: talkers, bridges, listeners. An instant
// of a frame is the one at which its first byte is on the wire; the preamble belongs to the gap.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

namespace bench
{

/// ns-3's point-to-point device adds a PPP header; frames are made shorter by as much.
constexpr std::uint32_t kPppBytes = 2;
/// Preamble and gap between frames (IEEE Std 802.3).
constexpr std::uint32_t kPreambleBytes = 8;
constexpr std::uint32_t kGapBytes = 12;

struct Stream {
	std::string id;
	std::uint32_t number = 0;
	std::uint32_t frame_bytes = 0;
	std::int64_t period_ns = 0;
	std::int64_t first_ns = 0;
	std::vector<std::string> route; // talker first, listener last

	std::uint64_t sent = 0;
	std::uint64_t received = 0;
	std::uint64_t out_of_order = 0;
	std::int64_t delay_min_ns = std::numeric_limits<std::int64_t>::max();
	std::int64_t delay_max_ns = std::numeric_limits<std::int64_t>::min();

	std::int64_t DueNs() const
	{
		return first_ns + static_cast<std::int64_t>(sent) * period_ns;
	}
	/// The next frame of the stream.
	ns3::Ptr<ns3::Packet> Next();
};

/// Sends every frame at its instant and nothing between.
class Talker
{
public:
	explicit Talker(ns3::Ptr<ns3::NetDevice> device) : m_device(device) {}
	void Start(Stream &stream);

private:
	void Send(Stream *stream);

	ns3::Ptr<ns3::NetDevice> m_device;
};

/// Keeps its wire saturated with slots, back to back: placeholders, or the frame that is due.
/// While one slot is on the wire the next waits in the device's queue, which costs ns-3 no event.
class SaturatedTalker
{
public:
	SaturatedTalker(ns3::Ptr<ns3::NetDevice> device, std::uint32_t slot_bytes,
			std::int64_t slot_ns, std::int64_t phase_ns);
	void Add(Stream &stream) { m_streams.push_back(&stream); }
	void Start();
	std::uint64_t Slots() const { return m_started; }
	std::uint64_t Placeholders() const { return m_placeholders; }

private:
	void Begun(ns3::Ptr<const ns3::Packet> packet);
	void Queue();
	Stream *Due();

	ns3::Ptr<ns3::NetDevice> m_device;
	ns3::Ptr<ns3::Packet> m_placeholder;
	std::uint32_t m_slot_bytes;
	std::int64_t m_slot_ns;
	std::int64_t m_slot_start_ns; // of the slot that is queued next
	std::vector<Stream *> m_streams;
	std::int64_t m_next_due_ns = 0;
	std::uint64_t m_started = 0;
	std::uint64_t m_placeholders = 0;
};

/// Receives a frame whole, processes it, queues it at the port its stream leaves by. Not ns-3's
/// BridgeNetDevice, which takes no point-to-point devices; this one costs an event a frame.
class Bridge
{
public:
	explicit Bridge(std::int64_t processing_ns) : m_processing(ns3::NanoSeconds(processing_ns))
	{
	}
	void Attach(ns3::Ptr<ns3::NetDevice> device);
	void Route(const Stream &stream, ns3::Ptr<ns3::NetDevice> exit, std::uint64_t rate_bps);

private:
	struct Exit {
		ns3::Ptr<ns3::NetDevice> device;
		ns3::Time wait; // processing, and the preamble before the first byte
	};

	bool Receive(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t,
		     const ns3::Address &);
	void Forward(ns3::Ptr<ns3::NetDevice> exit, ns3::Ptr<ns3::Packet> packet);

	ns3::Time m_processing;
	std::vector<Exit> m_exits; // by stream
};

/// Counts what arrives, and how long after its instant.
class Listener
{
public:
	Listener(std::vector<Stream> &streams, std::uint64_t rate_bps)
		: m_streams(streams), m_rate(rate_bps)
	{
	}
	void Attach(ns3::Ptr<ns3::NetDevice> device);

private:
	bool Receive(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t,
		     const ns3::Address &);

	std::vector<Stream> &m_streams;
	ns3::DataRate m_rate;
};

} // namespace bench
