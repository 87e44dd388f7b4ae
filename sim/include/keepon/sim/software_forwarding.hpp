// SPDX-License-Identifier: BSD-3-Clause
// A bridge whose frames are forwarded by software on the cores of a host, as Linux does:
//
//   receive ring of the port -> interrupt, or the next look of a thread that polls -> turn on a
//   core -> ingress pipeline
//
// What is at the frames of a port stays at them until its ring is empty, so only the first one
// waits for it; after 64 frames others of its priority have their turn. Beside it the cores have
// other interrupts, at random times, and processes that always run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "keepon/sim/fifo.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class SoftwareForwarding final
{
public:
	/// \param forward  called with each frame when a core has done what it costs
	SoftwareForwarding(World &world, NodeId node, const std::string &name,
			   const SoftwareSpec &spec, std::function<void(std::uint32_t)> forward);
	SoftwareForwarding(const SoftwareForwarding &) = delete;
	SoftwareForwarding &operator=(const SoftwareForwarding &) = delete;

	void AddPort(const std::string &peer_name);
	/// A frame was received whole at \p port: it is in the ring now, or lost.
	void OnFrame(std::uint32_t port, std::uint32_t packet);
	/// What the bridge does with frames that software has come to.
	IngressPipeline &Ingress() { return ingress_; }

private:
	struct Ring {
		Ring(HostCpu &cpu, CpuPriority priority, std::uint32_t place)
			: napi(cpu, priority), full_place(place)
		{
		}

		HostCpu::Thread napi;
		Fifo<std::uint32_t> packets; // the first is the one that software is at
		std::uint32_t full_place;
		std::uint32_t turn = 0; // frames since it came to them
	};

	void OnDone(TimePs, std::uint64_t port);
	void OnInterrupt(TimePs, std::uint64_t);
	void OnHog(TimePs, std::uint64_t hog);

	World &world_;
	NodeId node_;
	std::string name_;
	SoftwareSpec spec_;
	std::function<void(std::uint32_t)> forward_;
	IngressPipeline ingress_;
	HostCpu cpu_;
	Latency wait_;
	Latency frame_;
	Rng poll_rng_;
	Latency irq_gap_;
	HostCpu::Thread irq_;
	TimePs irq_due_ = 0;
	std::deque<HostCpu::Thread> hogs_; // they stay where they are
	std::deque<Ring> rings_;
	MemberEvent<&SoftwareForwarding::OnDone> done_{ *this };
	MemberEvent<&SoftwareForwarding::OnInterrupt> interrupt_{ *this };
	MemberEvent<&SoftwareForwarding::OnHog> hog_{ *this };
};

} // namespace keepon::sim
