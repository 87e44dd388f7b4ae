// SPDX-License-Identifier: BSD-3-Clause
// What a user may say about each thing in the network, with defaults. Ranges are checked where the
// values come in (bind/specs.cpp) and where they meet (Simulation). Times in ns, sizes in bytes, FCS
// included.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/qdisc_spec.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// The NIC as the drivers see it. Nobody has published prefetch, fetch, restart, how long a read of
/// the index takes and how late a receive index is: all of them are chosen, and scenarios set them
/// (station.nic), so these defaults serve the simulator's own tests only. Fields of the ring (prefetch, index, persistent, reserved) matter
/// to `keepon`; the coalescing, ring_slots and queue_frames to `standard`; fetch to all.
/// Of cards that ordinary drivers run: an MTU of 9000 bytes, header and FCS.
inline constexpr std::uint32_t kFrameBytesMax = 9018;

/// -1: no longer than the member before it, or 2000 ns of a restart and 500 of a receive index.
struct NicSpec {
	std::uint32_t prefetch_slots = 2;
	std::uint32_t fifo_bytes = 0;
	bool index_counts_done = true;
	std::int64_t index_lag_ns_min = 0;
	std::int64_t index_lag_ns_max = -1;
	// last bit of a received frame to the receive index showing it, drawn per reading
	std::int64_t rx_lag_ns_min = 500;
	std::int64_t rx_lag_ns_max = -1;
	bool persistent = true;
	std::int64_t index_read_ns = 800;
	std::int64_t fetch_ns = 800;
	std::int64_t fetch_ns_max = -1;
	std::int64_t restart_ns = -1;
	std::int64_t restart_ns_max = -1;
	std::uint32_t reserved_slots = 1;
	std::uint32_t placeholder_bytes_min = 64;
	std::uint32_t frame_bytes_max = 1522;
	std::uint32_t fragments_max = 1;
	std::uint32_t ring_slots = 256;
	std::uint32_t queue_frames = 1000;
	std::int64_t coalesce_ns = 5'000'000;
	std::uint32_t coalesce_frames = 10;
};

struct ClassSpec {
	int late = 0;
	int round = 0;
};

#define KEEPON_SIM_MEMBER(field, type, ...) std::optional<type> field;

/// Fields of struct kpn_config; those not given keep the core's defaults for the NIC and rate.
struct KeeponSpec {
	KPN_CONFIG_FIELDS(KEEPON_SIM_MEMBER)
	std::optional<int> clock; // enum kpn_clock_read, or kDual: the receive ring is a clock, too
	int merge = KPN_MERGE_STRIP;          // of both rings
	std::optional<std::int64_t> tau_ns;   // of the merge
	std::vector<std::uint16_t> partition; // empty: every slot open to every class
	std::map<int, ClassSpec> classes;

	static constexpr int kDual = KPN_CLOCK_COUNTER + 1;
	bool Dual() const { return clock == kDual; }
};

/// Test hooks; off, they cost nothing.
struct ProbeSpec {
	bool boundaries = false;            // measure every slot start against the grid
	std::int64_t boundary_bound_ps = 0; // what counts as on the grid
	std::int64_t head_interval_ns =
		0; // mean time between comparisons of kpn_pacer_head() with the truth; 0: none
	std::int64_t head_samples_max = 1'000'000;
	// A backend that lies to the core: tests must notice.
	std::optional<std::uint32_t> declared_prefetch_slots; // what caps say instead of the truth
	std::int64_t index_offset_slots = 0;                  // added to every reading of the index
};

/// The cores of a host (host_cpu.hpp) and what they do for frames that arrive.
struct CpuSpec {
	std::uint32_t cores = 0;     // 0: nobody contends, and the rest means nothing
	std::int64_t irq_ns = 0;     // an interrupt of the NIC, until its softirq may run
	std::int64_t softirq_ns = 0; // a received frame in it
};

/// What is a port's own, at stations with several links; the rest is the station's.
struct PortSpec {
	std::optional<NicSpec> nic;
	std::optional<double> nic_ppm;
	std::optional<KeeponSpec> keepon;
	std::optional<QdiscSpec> qdisc;
};

/// Latencies of a host by their stages.
struct HostSpec {
	LatencySpec wakeup;
	LatencySpec stack;
	LatencySpec driver;
	LatencySpec timer;
	LatencySpec poll;
	LatencySpec rx;       // complete frame at the NIC to software's stamp
	LatencySpec datapath; // of a guest: between its driver and the NIC, either way
	LatencySpec deliver;  // from there to the application that reads; 0: not modelled
};

/// A virtual machine: whose cores it runs on, and how far its clock is from the host's.
struct GuestSpec {
	std::int64_t host = -1;          // node of a station; -1: no guest
	std::int64_t clock_error_ns = 0; // either way, another after each interval
	std::int64_t clock_interval_ns = kNsPerS;
};

struct StationSpec {
	std::optional<QdiscSpec> qdisc;  // in front of the driver, instead of what `release` has
	std::string driver = "standard"; // name of a TransmitterKind
	std::string release = "txtime";  // name of a ReleaseKind
	std::string sync = "ideal";      // name of a SyncKind
	HostSpec host;
	CpuSpec cpu;
	GuestSpec guest;
	std::int64_t ingress_latency_ns = 0; // off RX stamps, as ptp4l(8) ingressLatency
	std::int64_t egress_latency_ns = 0;  // added to TX stamps, as ptp4l(8) egressLatency
	std::int64_t occupancy_ns = 0;
	std::int64_t etf_delta_ns = 200'000;
	std::int64_t sync_interval_ns = 125'000'000;
	double nic_ppm = 0;
	double cpu_ppm = 0;
	std::int64_t cpu_tick_ns = 1; // resolution of the CPU counter that driver keepon reads
	double wander_ppb_per_s = 0;
	double wander_ppb = 1000;
	std::int64_t stamp_resolution_ns = 8;
	NicSpec nic;
	KeeponSpec keepon;
	ProbeSpec probe;
	std::vector<PortSpec> ports; // in the order of links; empty: all have what stands above
};

/// How a bridge without switching hardware comes to its frames (software_forwarding.hpp).
struct SoftwareSpec {
	std::uint32_t cores = 1;
	int priority = 1; // enum CpuPriority: in softirq, or in a thread
	std::uint32_t ring_frames = 256;
	LatencySpec wait;            // from a complete frame to software, if it is not at others
	std::int64_t poll_ns = 0;    // and the period in which it looks by itself; 0: it does not
	LatencySpec frame;           // on a core, for each frame
	std::int64_t irq_gap_ns = 0; // mean, between other interrupts of the cores; 0: none
	std::int64_t irq_ns = 0;     // of each
	std::uint32_t hogs = 0;      // processes that always run
	std::int64_t hog_ns = 3'000'000; // until another of their priority has its turn
};

struct BridgeSpec {
	std::optional<SoftwareSpec> software;
	std::int64_t processing_ns = 2000;
	double ppm = 0;
	double wander_ppb_per_s = 0;
	double wander_ppb = 1000;
	std::uint32_t queue_frames = 1024;
	std::vector<std::int64_t> queues{ 0, 1, 2, 3, 4, 5, 6, 7 }; // of priorities 0 to 7
	bool ptp = false; // its gates follow a clock that PTP sets; if not, its crystal
	std::int64_t ptp_turnaround_ns = 500'000;
	std::int64_t stamp_resolution_ns = 8;
};

struct GateEntry {
	static constexpr std::uint32_t kHold = 0x100; // Set-And-Hold-MAC, else Set-And-Release-MAC
	std::uint32_t mask;                           // open gates, and kHold
	std::int64_t ns;
};

/// An entry of the list of a stream gate. -1: the priority stays, any number of octets.
struct StreamGateEntry {
	bool open = true;
	std::int64_t ns = 1;
	int priority = -1;
	std::int64_t octets = -1;
};

struct StreamGateSpec {
	std::string name;
	std::int64_t base_ns = 0;
	std::vector<StreamGateEntry> entries;
	// What shuts it for good: a frame while it is shut, an octet too many.
	bool close_on_invalid_rx = false;
	bool close_on_octets_exceeded = false;
};

struct FlowMeterSpec {
	std::string name;
	std::int64_t cir_bps = 0;
	std::int64_t cbs_bytes = 0;
	std::int64_t eir_bps = 0;
	std::int64_t ebs_bytes = 0;
	bool coupling = false;
	bool color_aware = false;
	bool drop_on_yellow = false;
	bool mark_all_red = false;
};

/// -1: any priority, any size, no gate, no meter.
struct StreamFilterSpec {
	std::vector<FlowId> flows; // whose frames are its stream; empty: any frame
	int priority = -1;
	std::int64_t max_sdu_bytes = -1;
	bool block_oversize = false;
	int gate = -1;
	int meter = -1;
};

/// Per-stream filtering and policing of a bridge.
struct PsfpSpec {
	bool as_linux = false; // rules of tc's gate and police actions
	std::vector<StreamGateSpec> gates;
	std::vector<FlowMeterSpec> meters;
	std::vector<StreamFilterSpec> filters;
};

/// ATS scheduler of a stream at a bridge; frames count with preamble and gap.
struct AtsSpec {
	std::vector<FlowId> flows; // whose frames are its stream
	std::int64_t cir_bps = 1;
	std::int64_t cbs_bytes = 1;
	std::int64_t max_residence_ns = 0;
	std::uint32_t group = 0; // of all that come from the same traffic class of a neighbour
};

/// Sequence recovery of a stream at a node (IEEE Std 802.1CB-2017 clause 7.4.3), and its latent
/// error detection (clause 7.4.4).
struct RecoverySpec {
	FlowId stream = 0;
	bool match = false; // match recovery; if not, vector recovery
	std::int64_t history_length = 2;
	std::int64_t reset_ns = kNsPerS; // any number is taken when no frame has passed for so long
	bool individual = false;         // first those of each port by themselves
	bool untag = false;              // frames go on without R-tag
	std::int64_t latent_period_ns = 0; // 0: latent errors are not looked for
	std::int64_t latent_reset_ns = 30 * kNsPerS;
	std::int64_t latent_difference = 0;
	std::int64_t latent_paths = 2;
};

struct StreamSpec {
	std::string id;
	NodeId talker = 0;
	std::vector<NodeId> listeners;
	std::vector<std::vector<NodeId>> routes; // bridges on the way to each; empty: none
	std::int64_t period_ns = 1'000'000;
	std::int64_t offset_ns = 0;
	// Releases of the frames in turn, from the start of each one's period on; the first is
	// offset_ns. Empty: all alike.
	std::vector<std::int64_t> turns_ns;
	// Time of as many frames as there are turns, where period_ns is rounded down. 0: that of as
	// many periods.
	std::int64_t cycle_ns = 0;
	std::int64_t start_ns =
		10'000'000; // no txtime before this, from the start of the simulation
	std::uint32_t frame_bytes = 64;
	int tc = 0;
	int queue = 7;
	std::int64_t advance_ns = 100'000;
};

/// Frames of an application, to one listener.
struct FlowSpec {
	std::string id;
	NodeId talker = 0;
	NodeId listener = 0;
	std::vector<NodeId> route; // bridges on the way
	std::uint32_t frame_bytes = 64;
	int tc = 0;
	int queue = 0;
};

struct LoadSpec {
	std::string id;
	NodeId talker = 0;
	NodeId listener = 0;
	std::vector<NodeId> route;
	std::string kind = "udp";  // name of a LoadKind, or "tcp"
	std::int64_t rate_bps = 0; // of the frames as handed over, preamble and gap not counted
	std::uint32_t frame_bytes = 1518;
	std::uint32_t window_frames = 32; // "saturate": frames kept with the transmitter
	std::string congestion = "cubic"; // "tcp": name of a TcpCongestionKind
	std::int64_t start_ns = 10'000'000;
	int tc = 1;
	int queue = 0;
};

struct FaultSpec {
	std::string kind; // name of a FaultKind
	NodeId node = 0;
	std::int64_t at_ns = 0;
	std::int64_t value_ns = 0;
	std::uint32_t port = 0; // for what happens to one; of a bridge, the peer (NodeId)
};

} // namespace keepon::sim
