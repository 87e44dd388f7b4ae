// SPDX-License-Identifier: BSD-3-Clause
// A store-and-forward bridge (IEEE Std 802.1Q-2022 clause 8.6): a frame is complete frame_bytes
// after its SFD, takes processing_ns, and waits in one of eight queues of an egress port. Placeholders end at the port they arrive at
// and never become packets. One without switching hardware comes to frames later
// (software_forwarding.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "keepon/sim/ats.hpp"
#include "keepon/sim/egress_port.hpp"
#include "keepon/sim/frer.hpp"
#include "keepon/sim/gates.hpp"
#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/psfp.hpp"
#include "keepon/sim/software_forwarding.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Bridge final : private EgressPort::Owner
{
public:
	struct Port {
		Port(World &world, EgressPort::Owner &owner, std::uint32_t number, const Mac &mac)
			: egress(world.events, world.now, owner, number, mac)
		{
		}

		EgressPort egress;
		std::uint32_t end = 0; // link end of this bridge
		NodeId peer = 0;
		std::uint32_t queue_place = 0;
		std::uint32_t gate_place = 0;
		std::int64_t forwarded = 0;
		std::int64_t forwarded_bytes = 0;
		std::int64_t preemptions = 0;
		std::int64_t queue_drops = 0;
		std::int64_t gate_drops = 0;
		std::size_t waiting_max = 0;
	};

	Bridge(World &world, NodeId node, std::string name, const BridgeSpec &spec);
	virtual ~Bridge() = default;

	std::uint32_t AddPort(std::uint32_t end, NodeId peer, const std::string &peer_name);
	/// Index of the port towards \p peer, or -1.
	int PortTo(NodeId peer) const;
	/// \param base_ns  network time; the bridge's clock agrees with it at the start of the
	/// simulation
	void SetGates(std::uint32_t port, std::int64_t base_ns,
		      const std::vector<GateEntry> &entries);
	/// Shape \p queue of a port, whose gates stay as they are.
	void SetShaper(std::uint32_t port, int queue, std::int64_t idle_slope_bps);
	/// \p queue of a port sends by eligibility time, if it is a frame of a stream with a scheduler.
	void SetAsynchronous(std::uint32_t port, int queue)
	{
		ports_[port].egress.SortByEligibility(queue);
	}
	void SetPreemption(std::uint32_t port, const MacMerge &merge);
	/// \param streams  handles of each filter's streams
	void SetPsfp(const PsfpSpec &spec, const std::vector<std::vector<std::uint32_t>> &streams);
	/// Its ATS schedulers, made when they are asked for.
	Ats &Schedulers();
	/// Its sequence generation and recovery, made when it is asked for.
	Frer &Redundancy();
	/// What it does with frames that have arrived.
	IngressPipeline &Ingress() { return software_ ? software_->Ingress() : ingress_; }

	void OnArrive(std::uint32_t packet);
	/// Send a frame of its own, of PTP, from \p port.
	void SendOwn(FlowId flow, std::int64_t seq, std::uint32_t port);
	/// The clock was set: gates are where they are now.
	void OnClockSet();

	const std::string &Name() const { return name_; }
	const std::deque<Port> &Ports() const { return ports_; }
	const BridgeSpec &Spec() const { return spec_; }
	/// The clock of its gates if PTP sets it, else NULL.
	BridgeClock *Clock() { return clock_.get(); }
	/// NULL without SetPsfp().
	const Psfp *Policing() const { return psfp_; }
	std::vector<StreamRecovery *> Recoveries() const
	{
		return frer_ ? frer_->Recoveries() : std::vector<StreamRecovery *>();
	}

private:
	void Process(std::uint32_t packet, IngressPipeline &ingress, TimePs received);
	void Enqueue(Port &port, int queue, std::uint32_t packet, TimePs wait = 0);
	void OnTransmit(EgressPort &egress, const QueuedFrame &frame,
			const Transmission &sent) override;
	void OnNeverFits(EgressPort &egress, const QueuedFrame &frame) override;

	World &world_;
	NodeId node_;
	std::string name_;
	BridgeSpec spec_;
	Oscillator oscillator_;
	std::unique_ptr<BridgeClock> clock_;
	std::deque<Port> ports_; // they stay where they are
	// With `software_` it knows no address, so that no frame of another bridge pays for that.
	IngressPipeline ingress_;
	std::unique_ptr<SoftwareForwarding> software_;
	const Psfp *psfp_ = nullptr; // of Ingress()
	Ats *ats_ = nullptr;         // of Ingress()
	Frer *frer_ = nullptr;       // of Ingress()
};

} // namespace keepon::sim
