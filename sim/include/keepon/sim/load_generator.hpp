// SPDX-License-Identifier: BSD-3-Clause
// Applications that send best effort: at a rate, or as much as the transmitter takes.
#pragma once

#include <cstdint>

#include "keepon/sim/application.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// A thread that sleeps between frames, as those of streams do.
class PacedLoad final : public Application
{
public:
	PacedLoad(World &world, Host &host, FlowId flow, const LoadSpec &spec);

	void Start() override { world_.events.Push(start_, timer_); }

private:
	void OnTimer(TimePs, std::uint64_t);

	World &world_;
	Host &host_;
	FlowId flow_;
	LoadSpec spec_;
	Latency &wakeup_;
	Latency &stack_;
	HostCpu::Thread thread_;
	TimePs start_;
	std::int64_t count_ = 0; // frames made
	MemberEvent<&PacedLoad::OnTimer> timer_{ *this };
};

/// Keeps window_frames with the transmitter; costs no host anything.
class SaturatingLoad final : public Application
{
public:
	SaturatingLoad(World &world, Host &host, FlowId flow, const LoadSpec &spec);

	void Start() override { world_.events.Push(start_, refill_); }
	void OnOutcome(const TxFrame &frame, kpn_verdict verdict) override;

private:
	void OnRefill(TimePs, std::uint64_t);

	World &world_;
	Host &host_;
	FlowId flow_;
	TimePs start_;
	std::uint32_t window_frames_;
	std::uint32_t outstanding_ = 0; // frames not ended
	std::int64_t count_ = 0;        // frames made
	bool refill_pending_ = false;
	MemberEvent<&SaturatingLoad::OnRefill> refill_{ *this };
};

} // namespace keepon::sim
