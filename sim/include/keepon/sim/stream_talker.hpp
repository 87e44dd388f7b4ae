// SPDX-License-Identifier: BSD-3-Clause
// The application of a periodic stream: a thread that sleeps until `advance` before each txtime, by
// its clock, and hands the frame over.
#pragma once

#include <cstdint>

#include "keepon/sim/application.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class StreamTalker final : public Application
{
public:
	StreamTalker(World &world, Host &host, FlowId flow, const StreamSpec &spec);

	void Start() override;
	TimePs QuietUntil() const override { return next_; }
	bool HearsSubmit() const override { return false; }

private:
	void OnTimer(TimePs, std::uint64_t);
	void Schedule(std::int64_t seq);

	World &world_;
	Host &host_;
	FlowId flow_;
	Latency &wakeup_;
	Latency &stack_;
	HostCpu::Thread thread_;
	std::int64_t ahead_ns_; // wake-up this long before the txtime
	TimePs next_ = 0;
	bool begun_ = false; // the first wake-up is set
	MemberEvent<&StreamTalker::OnTimer> timer_{ *this };
};

} // namespace keepon::sim
