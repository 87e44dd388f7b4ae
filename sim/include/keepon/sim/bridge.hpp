// SPDX-License-Identifier: BSD-3-Clause
// A store-and-forward bridge (IEEE Std 802.1Q-2022 clause 8.6): a frame is complete frame_bytes
// after its SFD, takes processing_ns, and waits in one of eight queues per port; strict priority
// among those whose gate lets it pass to its last bit. Placeholders end at the port they arrive at
// and never become packets.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "keepon/sim/gates.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// FIFO of packet indices that keeps its memory.
class PacketFifo
{
public:
	bool Empty() const { return count_ == 0; }
	std::size_t Count() const { return count_; }
	std::uint32_t Front() const { return items_[first_]; }

	void Push(std::uint32_t packet)
	{
		if (count_ == items_.size())
			Grow();
		items_[(first_ + count_++) & (items_.size() - 1)] = packet;
	}

	std::uint32_t Pop()
	{
		const std::uint32_t packet = items_[first_];
		first_ = (first_ + 1) & (items_.size() - 1);
		count_--;
		return packet;
	}

private:
	void Grow();

	std::vector<std::uint32_t> items_ = std::vector<std::uint32_t>(8);
	std::size_t first_ = 0;
	std::size_t count_ = 0;
};

class Bridge
{
public:
	struct Port {
		std::uint32_t end = 0; // link end of this bridge
		NodeId peer = 0;
		TimePs busy_until = 0;
		TimePs service_at = kNever;
		std::uint32_t queue_place = 0;
		std::uint32_t gate_place = 0;
		Gates gates;
		std::array<PacketFifo, 8> queues;
		std::size_t waiting = 0;
		std::int64_t forwarded = 0;
		std::int64_t forwarded_bytes = 0;
		std::int64_t queue_drops = 0;
		std::int64_t gate_drops = 0;
		std::size_t waiting_max = 0;
	};

	/// Where a flow leaves, and how many listeners are that way.
	struct Exit {
		std::uint16_t port;
		std::uint16_t listeners;
	};

	Bridge(World &world, NodeId node, std::string name, const BridgeSpec &spec);

	std::uint32_t AddPort(std::uint32_t end, NodeId peer, const std::string &peer_name);
	/// Index of the port towards \p peer, or -1.
	int PortTo(NodeId peer) const;
	/// \param base_ns  network time; the bridge's clock agrees with it at the start of the
	/// simulation
	void SetGates(std::uint32_t port, std::int64_t base_ns,
		      const std::vector<GateEntry> &entries);
	/// One more listener of \p flow is behind \p port.
	void AddRoute(FlowId flow, std::uint32_t port);

	void OnArrive(std::uint32_t packet);
	/// Send a frame of its own, of PTP, from \p port.
	void SendOwn(FlowId flow, std::int64_t seq, std::uint32_t port);
	/// The clock was set: gates are where they are now.
	void OnClockSet();

	const std::string &Name() const { return name_; }
	const std::vector<Port> &Ports() const { return ports_; }
	const BridgeSpec &Spec() const { return spec_; }
	/// The clock of its gates if PTP sets it, else NULL.
	BridgeClock *Clock() { return clock_.get(); }

private:
	std::int64_t GateTime(TimePs t)
	{
		return clock_ ? clock_->ReadingPs(t) : oscillator_.Local(t);
	}
	TimePs TrueOfGate(std::int64_t time)
	{
		return clock_ ? clock_->TrueOf(time) : oscillator_.TrueOf(time);
	}
	void OnService(TimePs time, std::uint64_t port);
	void Enqueue(Port &port, std::uint32_t packet);
	void Service(Port &port);
	void Schedule(Port &port, TimePs time);
	void Transmit(Port &port, std::uint32_t packet);

	World &world_;
	NodeId node_;
	std::string name_;
	BridgeSpec spec_;
	Oscillator oscillator_;
	std::unique_ptr<BridgeClock> clock_;
	std::vector<Port> ports_;
	std::vector<std::vector<Exit>> exits_; // by flow
	MemberEvent<&Bridge::OnService> service_{ *this };
};

} // namespace keepon::sim
