// SPDX-License-Identifier: BSD-3-Clause
// Qdiscs of a station as they were asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace keepon::sim
{

struct EtfSpec {
	std::int64_t delta_ns = 0;
	bool deadline_mode = false;
	bool skip_sock_check = false;
	bool reschedule = false; // late frames that taprio gave their times get new ones (N27)
};

struct GuardSpec {
	std::uint64_t rate_bps = 0; // 0: the link's
	std::uint32_t mtu_bytes = 1522;
	std::uint32_t fudge_ns = 0;
	std::uint32_t tolerance_ns = 1'000'000;
	std::uint32_t limit_frames = 1000;
	bool late_send = false;
};

struct LeafSpec : EtfSpec, GuardSpec {
	std::string kind = "fifo"; // name of a LeafKind
	// The driver is given the txtimes of frames: etf is offloaded, or the driver reads them.
	bool keeps_txtime = false;
};

struct GateWindow {
	std::uint32_t classes;
	std::int64_t ns;
};

struct TaprioSpec {
	std::int64_t base_ns = 0;
	std::int64_t cycle_ns = 0; // 0: of all windows
	std::vector<GateWindow> windows;
	bool txtime_assist = false;
	bool offload = false; // the NIC has the gates: those of queues
	std::int64_t txtime_delay_ns = 0;
};

/// One leaf for each transmit queue; the queue of each class.
struct QdiscSpec {
	std::vector<std::uint32_t> queue_of_class;
	std::vector<LeafSpec> leaves;
	std::optional<TaprioSpec> taprio;
};

} // namespace keepon::sim
