// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/software_forwarding.hpp"

#include <utility>

namespace keepon::sim
{

namespace
{
/// Frames of one turn, as Linux has it for NAPI and xdpsock for a burst.
constexpr std::uint32_t kTurnFrames = 64;

/// Times between events of a Poisson process.
LatencySpec Exponential(std::int64_t mean_ns)
{
	LatencySpec spec;
	spec.tail_probability = 1;
	spec.tail_mean_ns = static_cast<double>(mean_ns);
	return spec;
}
} // namespace

SoftwareForwarding::SoftwareForwarding(World &world, NodeId node, const std::string &name,
				       const SoftwareSpec &spec,
				       std::function<void(std::uint32_t)> forward)
	: world_(world), node_(node), name_(name), spec_(spec), forward_(std::move(forward)),
	  ingress_(world.Place(name + " unknown destination")),
	  cpu_(world.events, world.now, spec.cores),
	  wait_(spec.wait, Rng(world.seed, name, "software wait")),
	  frame_(spec.frame, Rng(world.seed, name, "software frame")),
	  poll_rng_(world.seed, name, "software poll"),
	  irq_gap_(Exponential(spec.irq_gap_ns), Rng(world.seed, name, "software interrupts")),
	  irq_(cpu_, CpuPriority::kHardIrq)
{
	if (spec_.irq_gap_ns > 0)
		OnInterrupt(world_.now, 0);
	for (std::uint32_t hog = 0; hog < spec_.hogs; hog++) {
		hogs_.emplace_back(cpu_, CpuPriority::kNormal);
		OnHog(world_.now, hog);
	}
}

void SoftwareForwarding::AddPort(const std::string &peer_name)
{
	rings_.emplace_back(cpu_, static_cast<CpuPriority>(spec_.priority),
			    world_.Place(name_ + " receive ring from " + peer_name));
}

void SoftwareForwarding::OnFrame(std::uint32_t port, std::uint32_t packet)
{
	Ring &ring = rings_[port];
	if (ring.packets.Count() >= spec_.ring_frames) {
		const Packet &frame = world_.packets[packet];
		world_.Lose(node_, frame.flow, frame.seq, ring.full_place, frame.listeners);
		world_.packets.Free(packet);
		return;
	}
	ring.packets.Push(packet);
	if (ring.packets.Count() > 1)
		return;
	ring.turn = 0;
	const TimePs poll = poll_rng_.Below(spec_.poll_ns * kPsPerNs + 1);
	ring.napi.Run(world_.now + wait_.Draw() + poll, frame_.Draw(), done_, port);
}

void SoftwareForwarding::OnDone(TimePs, std::uint64_t port)
{
	Ring &ring = rings_[port];
	forward_(ring.packets.Pop());
	if (ring.packets.Empty())
		return;
	if (++ring.turn % kTurnFrames != 0)
		cpu_.Continue(ring.napi, frame_.Draw(), done_, port);
	else
		ring.napi.Run(world_.now, frame_.Draw(), done_, port);
}

/// The next one is due so long after the last one was, however late that had a core.
void SoftwareForwarding::OnInterrupt(TimePs, std::uint64_t)
{
	irq_due_ += irq_gap_.Draw();
	irq_.Run(irq_due_, spec_.irq_ns * kPsPerNs, interrupt_);
}

void SoftwareForwarding::OnHog(TimePs now, std::uint64_t hog)
{
	hogs_[hog].Run(now, spec_.hog_ns * kPsPerNs, hog_, hog);
}

} // namespace keepon::sim
