// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/host_stages.hpp"

namespace keepon::sim
{

const LatencySpec &HostStages::SpecOf(HostStage stage) const
{
	switch (stage) {
	case HostStage::kWakeup: return spec_.host.wakeup;
	case HostStage::kStack: return spec_.host.stack;
	case HostStage::kDriver: return spec_.host.driver;
	case HostStage::kTimer: return spec_.host.timer;
	case HostStage::kDatapath: return spec_.host.datapath;
	case HostStage::kDeliver: return spec_.host.deliver;
	case HostStage::kRx: break;
	}
	return spec_.host.rx;
}

Latency &HostStages::Of(HostStage stage, const char *purpose)
{
	for (Entry &entry : entries_) {
		if (entry.stage == stage && entry.purpose == purpose)
			return entry.latency;
	}
	return entries_.emplace_back(stage, purpose, SpecOf(stage), Rng(seed_, name_, purpose))
		.latency;
}

std::int64_t HostStages::Sum(HostStage stage, std::int64_t (Latency::*count)() const) const
{
	std::int64_t sum = 0;
	for (const Entry &entry : entries_) {
		if (entry.stage == stage)
			sum += (entry.latency.*count)();
	}
	return sum;
}

} // namespace keepon::sim
