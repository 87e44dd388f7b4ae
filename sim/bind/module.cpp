// SPDX-License-Identifier: BSD-3-Clause
// Python module keepon._sim: Simulation, and the specifications it takes. Reference: python/src/keepon/_sim.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "keepon/sim/simulation.hpp"
#include "results.hpp"
#include "specs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace keepon::sim::bind
{

namespace
{

/// Guards one run: signals are checked and progress is reported every 20 ms of real time, with the
/// GIL; the rest runs without.
class Breather
{
public:
	Breather(const Simulation &simulation, nb::object progress)
		: simulation_(simulation), progress_(std::move(progress))
	{
	}

	void operator()()
	{
		const auto now = Clock::now();
		if (now - last_ < std::chrono::milliseconds(20))
			return;
		last_ = now;
		nb::gil_scoped_acquire gil;
		if (PyErr_CheckSignals() != 0)
			throw nb::python_error();
		if (!progress_.is_none())
			progress_(simulation_.NowNs());
	}

private:
	using Clock = std::chrono::steady_clock;

	const Simulation &simulation_;
	nb::object progress_;
	Clock::time_point last_ = Clock::now();
};

/// A simulation that one thread at a time may touch.
struct PySimulation {
	PySimulation(std::uint64_t seed, std::int64_t epoch_ns) : simulation(seed, epoch_ns) {}

	Simulation &Idle()
	{
		if (running)
			throw std::runtime_error(
				"the simulation is running: its progress callback and other threads cannot touch it");
		return simulation;
	}

	Simulation simulation;
	bool running = false;
};

bool Run(PySimulation &self, std::int64_t until_ns, nb::object progress)
{
	struct Running {
		explicit Running(bool &flag) : flag_(flag) { flag_ = true; }
		~Running() { flag_ = false; }
		bool &flag_;
	};
	Simulation &simulation = self.Idle();
	Breather breathe(simulation, progress);
	const Running running(self.running);
	nb::gil_scoped_release release;
	simulation.Run(until_ns, [&] { breathe(); });
	return true;
}

using Times = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object NetworkTime(PySimulation &self, const Times &times)
{
	Simulation &simulation = self.Idle();
	const std::size_t count = times.shape(0);
	auto *data = new std::int64_t[std::max<std::size_t>(count, 1)];
	nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<std::int64_t *>(p); });
	for (std::size_t i = 0; i < count; i++)
		data[i] = simulation.NetworkPs(times.data()[i]);
	return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(data, { count }, owner));
}

void SetGates(PySimulation &self, NodeId bridge, NodeId peer, std::int64_t base_ns,
	      const std::vector<std::pair<std::int64_t, std::int64_t>> &entries)
{
	std::vector<GateEntry> gates;
	for (const auto &[mask, ns] : entries) {
		if (mask < 0 || mask > 0x1ff)
			throw ValueError("gates: mask " + std::to_string(mask) +
					 " is not within 0 to 511");
		gates.push_back({ static_cast<std::uint32_t>(mask), ns });
	}
	self.Idle().SetGates(bridge, peer, base_ns, gates);
}

} // namespace

NB_MODULE(_sim, m)
{
	m.doc() = "Discrete-event simulator around the real driver core; times are integers.";
	m.attr("CABLE") = kCable;

	m.def(
		"verdict_names",
		[] {
			std::vector<std::string> names;
			names.reserve(KPN_VERDICT_COUNT);
			for (int v = 0; v < KPN_VERDICT_COUNT; v++)
				names.emplace_back(kpn_verdict_name(static_cast<kpn_verdict>(v)));
			return names;
		},
		"Names of verdicts by number.");
	m.def(
		"verdict_is_sent",
		[](int verdict) {
			return verdict >= 0 && verdict < KPN_VERDICT_COUNT &&
			       kpn_verdict_is_sent(static_cast<kpn_verdict>(verdict));
		},
		"verdict"_a, "Whether frames with this verdict were on the wire.");
	m.def(
		"counter_names",
		[] {
			std::vector<std::string> names;
			names.reserve(KPN_COUNTER_COUNT);
			for (u32 i = 0; i < KPN_COUNTER_COUNT; i++)
				names.emplace_back(kpn_stats_name(i));
			return names;
		},
		"Names of the core's counters.");

	BindSpecs(m);
	nb::class_<PySimulation>(m, "Simulation")
		.def(nb::init<std::uint64_t, std::int64_t>(), "seed"_a,
		     "epoch_ns"_a = 1'700'000'000'000'000'000)
		.def(
			"add_station",
			[](PySimulation &self, const std::string &name, nb::handle spec) {
				return self.Idle().AddStation(
					name, Made<StationSpec>(spec, "station " + Quoted(name)));
			},
			"name"_a, "spec"_a)
		.def(
			"add_bridge",
			[](PySimulation &self, const std::string &name, nb::handle spec) {
				return self.Idle().AddBridge(
					name, Made<BridgeSpec>(spec, "bridge " + Quoted(name)));
			},
			"name"_a, "spec"_a)
		.def(
			"add_link",
			[](PySimulation &self, NodeId a, NodeId b, std::int64_t rate_bps,
			   std::int64_t propagation_ns, std::int64_t asymmetry_ns) {
				self.Idle().AddLink(a, b, rate_bps, propagation_ns, asymmetry_ns);
			},
			"a"_a, "b"_a, "rate_bps"_a, "propagation_ns"_a, "asymmetry_ns"_a = 0)
		.def(
			"set_loss",
			[](PySimulation &self, NodeId a, NodeId b, double probability) {
				self.Idle().SetLoss(a, b, probability);
			},
			"a"_a, "b"_a, "probability"_a)
		.def(
			"set_sync",
			[](PySimulation &self, nb::handle spec) {
				self.Idle().SetSync(Made<PtpSpec>(spec, "sync"));
			},
			"spec"_a)
		.def(
			"clock",
			[](PySimulation &self, NodeId node) {
				return ClockSummary(self.Idle(), node);
			},
			"node"_a)
		.def("ptp_flows", [](PySimulation &self) { return PtpFlows(self.Idle()); })
		.def("network_time", &NetworkTime, "times_ps"_a)
		.def(
			"set_psfp",
			[](PySimulation &self, NodeId bridge, nb::handle spec) {
				self.Idle().SetPsfp(bridge, Made<PsfpSpec>(spec, "policing"));
			},
			"bridge"_a, "spec"_a)
		.def(
			"set_shaper",
			[](PySimulation &self, NodeId bridge, NodeId peer, int queue,
			   std::int64_t idle_slope_bps) {
				self.Idle().SetShaper(bridge, peer, queue, idle_slope_bps);
			},
			"bridge"_a, "peer"_a, "queue"_a, "idle_slope_bps"_a)
		.def(
			"set_asynchronous",
			[](PySimulation &self, NodeId bridge, NodeId peer, int queue) {
				self.Idle().SetAsynchronous(bridge, peer, queue);
			},
			"bridge"_a, "peer"_a, "queue"_a)
		.def(
			"add_scheduler",
			[](PySimulation &self, NodeId bridge, nb::handle spec) {
				self.Idle().AddScheduler(bridge, Made<AtsSpec>(spec, "scheduler"));
			},
			"bridge"_a, "spec"_a)
		.def(
			"add_way",
			[](PySimulation &self, FlowId stream, const std::vector<NodeId> &route) {
				self.Idle().AddWay(stream, route);
			},
			"stream"_a, "route"_a)
		.def(
			"set_generation",
			[](PySimulation &self, NodeId node, FlowId stream) {
				self.Idle().SetGeneration(node, stream);
			},
			"node"_a, "stream"_a)
		.def(
			"set_recovery",
			[](PySimulation &self, NodeId node, nb::handle spec) {
				self.Idle().SetRecovery(node, Made<RecoverySpec>(spec, "recovery"));
			},
			"node"_a, "spec"_a)
		.def("set_gates", &SetGates, "bridge"_a, "peer"_a, "base_ns"_a, "entries"_a)
		.def(
			"set_preemption",
			[](PySimulation &self, NodeId bridge, NodeId peer, std::int64_t queues,
			   std::int64_t min_fragment_bytes) {
				self.Idle().SetPreemption(bridge, peer, queues, min_fragment_bytes);
			},
			"bridge"_a, "peer"_a, "queues"_a, "min_fragment_bytes"_a = 64)
		.def(
			"add_stream",
			[](PySimulation &self, nb::handle spec) {
				return self.Idle().AddStream(Made<StreamSpec>(spec, "stream"));
			},
			"spec"_a)
		.def(
			"add_load",
			[](PySimulation &self, nb::handle spec) {
				return self.Idle().AddLoad(Made<LoadSpec>(spec, "load"));
			},
			"spec"_a)
		.def(
			"add_fault",
			[](PySimulation &self, const std::string &kind, NodeId node,
			   std::int64_t at_ns, std::int64_t value_ns, std::uint32_t port) {
				self.Idle().AddFault({ kind, node, at_ns, value_ns, port });
			},
			"kind"_a, "node"_a, "at_ns"_a, "value_ns"_a, "port"_a = 0)
		.def(
			"set_window",
			[](PySimulation &self, std::int64_t start_ns, std::int64_t end_ns) {
				self.Idle().SetWindow(start_ns, end_ns);
			},
			"start_ns"_a, "end_ns"_a)
		.def(
			"set_capture",
			[](PySimulation &self, std::int64_t start_ns, std::int64_t end_ns,
			   std::int64_t limit) { self.Idle().SetCapture(start_ns, end_ns, limit); },
			"start_ns"_a, "end_ns"_a, "limit"_a)
		.def("captured", [](PySimulation &self) { return CaptureSummary(self.Idle()); })
		.def("run", &Run, "until_ns"_a, "progress"_a = nb::none())
		.def(
			"frames",
			[](PySimulation &self, FlowId stream) {
				return FramesOf(self.Idle().FlowAt(stream, true));
			},
			"stream"_a)
		.def(
			"stream",
			[](PySimulation &self, FlowId stream) {
				self.Idle().FlowAt(stream, true);
				return FlowSummary(self.simulation, stream);
			},
			"stream"_a)
		.def(
			"load",
			[](PySimulation &self, FlowId load) {
				self.Idle().FlowAt(load, false);
				return FlowSummary(self.simulation, load);
			},
			"load"_a)
		.def(
			"station",
			[](PySimulation &self, NodeId node) {
				return StationSummary(self.Idle(), node);
			},
			"node"_a)
		.def(
			"bridge",
			[](PySimulation &self, NodeId node) {
				return BridgeSummary(self.Idle(), node);
			},
			"node"_a)
		.def(
			"boundary_errors",
			[](PySimulation &self, NodeId node, std::uint32_t port) {
				return BoundarySummary(self.Idle(), node, port);
			},
			"node"_a, "port"_a = 0)
		.def(
			"boundary_bounds",
			[](PySimulation &self, NodeId node, std::uint32_t rate_ppb,
			   std::uint32_t rate_change_ppb, std::uint32_t port) {
				const kpn_bounds bounds =
					KeeponAt(self.Idle(), node, port)
						.Bounds(rate_ppb, rate_change_ppb);
				nb::dict dict;
				dict["boundary_error_ps"] = bounds.boundary_error_ps;
				dict["span_ns"] = bounds.span_ns;
				dict["lock_ns"] = bounds.lock_ns;
				dict["lock_slots"] = bounds.lock_slots;
				return dict;
			},
			"node"_a, "rate_ppb"_a, "rate_change_ppb"_a, "port"_a = 0)
		.def(
			"head_check",
			[](PySimulation &self, NodeId node, std::uint32_t port) {
				return HeadSummary(self.Idle(), node, port);
			},
			"node"_a, "port"_a = 0)
		.def("trace_hash",
		     [](PySimulation &self) { return self.Idle().State().trace.Hash(); })
		.def_prop_ro("trace_count",
			     [](PySimulation &self) { return self.Idle().State().trace.Count(); })
		.def_prop_ro("event_count",
			     [](PySimulation &self) { return self.Idle().State().events.Pushed(); })
		.def_prop_ro("now_ns", [](PySimulation &self) { return self.simulation.NowNs(); });
}

} // namespace keepon::sim::bind
