// SPDX-License-Identifier: BSD-3-Clause
#include "specs.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <type_traits>

#include "keepon/sim/core.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "spec_reader.hpp"

namespace keepon::sim::bind
{

namespace
{

constexpr std::int64_t kU32Max = UINT32_MAX;
constexpr std::int64_t kNodeMax = 4095;
constexpr std::size_t kTurnsMax = 64;
constexpr std::size_t kWindowsMax = 1024;
constexpr double kLatencyNsMax = 1e10;

const Choices kLatePolicies = { { "strict", KPN_LATE_STRICT },
				{ "relaxed", KPN_LATE_RELAXED },
				{ "reschedule", KPN_LATE_RESCHEDULE } };
const Choices kRoundings = { { "up", KPN_ROUND_UP }, { "floor", KPN_ROUND_FLOOR } };

LatencySpec ReadLatency(SpecReader reader)
{
	LatencySpec spec;
	spec.base_ns = reader.Number("base_ns", 0, kLatencyNsMax, 0);
	spec.median_ns = reader.Number("median_ns", 0, kLatencyNsMax, 0);
	spec.sigma = reader.Number("sigma", 0, 10, 0);
	spec.tail_probability = reader.Number("tail_probability", 0, 1, 0);
	spec.tail_mean_ns = reader.Number("tail_mean_ns", 0, kLatencyNsMax, 0);
	spec.cap_ns = reader.Number("cap_ns", 0, kLatencyNsMax, 0);
	spec.limit_ns = reader.Number("limit_ns", 0, kLatencyNsMax, 0);
	reader.Finish();
	return spec;
}

CpuSpec ReadCpu(SpecReader reader)
{
	CpuSpec spec;
	spec.cores = static_cast<std::uint32_t>(
		reader.Integer("cores", 0, HostCpu::kCoresMax, spec.cores));
	spec.irq_ns = reader.Integer("irq_ns", 0, kNsPerS, spec.irq_ns);
	spec.softirq_ns = reader.Integer("softirq_ns", 0, kNsPerS, spec.softirq_ns);
	reader.Finish();
	return spec;
}

NicSpec ReadNic(SpecReader reader)
{
	NicSpec spec;
	const auto u32 = [&](const char *key, std::int64_t min, std::int64_t max,
			     std::uint32_t fallback) {
		return static_cast<std::uint32_t>(reader.Integer(key, min, max, fallback));
	};
	spec.prefetch_slots = u32("prefetch_slots", 0, 1024, spec.prefetch_slots);
	spec.fifo_bytes = u32("fifo_bytes", 0, 1 << 24, spec.fifo_bytes);
	spec.index_counts_done = reader.Choice("index", { { "done", 1 }, { "fetch", 0 } }, 1);
	spec.index_lag_ns_min =
		reader.Integer("index_lag_ns_min", 0, 1'000'000, spec.index_lag_ns_min);
	spec.index_lag_ns_max = reader.Integer("index_lag_ns_max", spec.index_lag_ns_min, 1'000'000,
					       spec.index_lag_ns_min);
	spec.rx_lag_ns_min = reader.Integer("rx_lag_ns_min", 0, 900'000, spec.rx_lag_ns_min);
	spec.rx_lag_ns_max = reader.Integer("rx_lag_ns_max", spec.rx_lag_ns_min, 900'000,
					    std::max(spec.rx_lag_ns_min, spec.rx_lag_ns_max));
	spec.persistent = reader.Flag("persistent", spec.persistent);
	spec.index_read_ns = reader.Integer("index_read_ns", 0, 100'000, spec.index_read_ns);
	spec.fetch_ns = reader.Integer("fetch_ns", 1, 1'000'000, spec.fetch_ns);
	spec.fetch_ns_max =
		reader.Integer("fetch_ns_max", spec.fetch_ns, 10'000'000, spec.fetch_ns);
	spec.restart_ns = reader.Integer("restart_ns", spec.fetch_ns, 1'000'000,
					 std::max(spec.restart_ns, spec.fetch_ns));
	spec.restart_ns_max =
		reader.Integer("restart_ns_max", spec.restart_ns, 1'000'000, spec.restart_ns);
	spec.reserved_slots = u32("reserved_slots", 0, 4096, spec.reserved_slots);
	spec.placeholder_bytes_min =
		u32("placeholder_bytes_min", 18, 1522, spec.placeholder_bytes_min);
	spec.frame_bytes_max = u32("frame_bytes_max", 64, kFrameBytesMax, spec.frame_bytes_max);
	spec.fragments_max = u32("fragments_max", 1, 1024, spec.fragments_max);
	spec.ring_slots = u32("ring_slots", 1, 65536, spec.ring_slots);
	spec.queue_frames = u32("queue_frames", 0, 1'000'000, spec.queue_frames);
	spec.coalesce_ns = reader.Integer("coalesce_ns", 0, kNsPerS, spec.coalesce_ns);
	spec.coalesce_frames = u32("coalesce_frames", 1, 65536, spec.coalesce_frames);
	reader.Finish();
	return spec;
}

std::vector<std::pair<int, ClassSpec>> ReadClasses(const SpecReader &reader)
{
	std::vector<std::pair<int, ClassSpec>> result;
	for (const auto &[key, value] : reader.Dict()) {
		const auto tc =
			static_cast<int>(ToInteger(reader, "class", key, 0, KPN_CLASS_COUNT - 1));
		if (!PyTuple_Check(value.ptr()) || PyTuple_GET_SIZE(value.ptr()) != 2)
			reader.Fail(std::to_string(tc).c_str(), Repr(value),
				    "a tuple (late, round)");
		nb::dict named;
		named["late"] = nb::borrow(PyTuple_GET_ITEM(value.ptr(), 0));
		named["round"] = nb::borrow(PyTuple_GET_ITEM(value.ptr(), 1));
		SpecReader entry(named, reader.Where() + " " + std::to_string(tc));
		ClassSpec spec;
		spec.late = entry.Choice("late", kLatePolicies);
		spec.round = entry.Choice("round", kRoundings);
		result.emplace_back(tc, spec);
	}
	return result;
}

/// "dual" is a way to read the transmit ring and a way to merge it with the receive ring.
void ReadClock(SpecReader &reader, KeeponSpec &spec)
{
	constexpr int kDual = -1;
	spec.clock = reader.OptionalChoice("clock", { { "interpolated", KPN_CLOCK_INTERPOLATED },
						      { "counter", KPN_CLOCK_COUNTER },
						      { "dual", kDual } });
	if (spec.clock != kDual)
		return;
	spec.merge = reader.OptionalChoice("merge", { { "strip", KPN_MERGE_STRIP },
						      { "published", KPN_MERGE_PUBLISHED } })
			     .value_or(KPN_MERGE_STRIP);
	spec.clock = spec.merge == KPN_MERGE_PUBLISHED ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED;
	spec.tau_ns = reader.OptionalInteger("tau_ns", 1, kNsPerS);
}

template <typename Type>
std::optional<Type> ReadField(SpecReader &reader, const char *key, const char *unit)
{
	if constexpr (std::is_same_v<Type, bool>)
		return reader.Has(key) ? std::optional(reader.Flag(key, false)) : std::nullopt;
	const auto value =
		std::strchr(unit, '|') ?
			reader.OptionalWord(key, unit) :
			reader.OptionalInteger(key, 0, sizeof(Type) == 8 ? INT64_MAX : kU32Max);
	return value ? std::optional(static_cast<Type>(*value)) : std::nullopt;
}

KeeponSpec ReadKeepon(SpecReader reader)
{
	KeeponSpec spec;
	reader.Integer("slot_bytes", 0, kU32Max); // the only one that must be given
	ReadClock(reader, spec);
	// Ranges are the core's affair: kpn_config_validate() names field, value and range.
#define READ(field, type, option, attribute, unit, ...) \
	spec.field = ReadField<type>(reader, #field, unit);
	KPN_CONFIG_FIELDS(READ)
#undef READ
	if (spec.partition_slots)
		reader.Fail("partition_slots", std::to_string(*spec.partition_slots),
			    "left out: partition has as many masks");
	if (reader.Has("partition")) {
		for (const std::int64_t mask :
		     reader.Integers("partition", 0, 0xffff, KPN_PARTITION_SLOTS_MAX))
			spec.partition.push_back(static_cast<std::uint16_t>(mask));
		if (spec.partition.empty())
			reader.Fail("partition", "[]", "1 to 65536 class masks");
	}
	spec.classes = ReadClasses(reader.Table("classes"));
	reader.Finish();
	return spec;
}

ProbeSpec ReadProbe(SpecReader reader)
{
	ProbeSpec spec;
	spec.boundaries = reader.Flag("boundaries", false);
	spec.boundary_bound_ps = reader.Integer("boundary_bound_ps", 0, INT64_MAX, 0);
	spec.head_interval_ns = reader.Integer("head_interval_ns", 0, kNsPerS, 0);
	spec.head_samples_max =
		reader.Integer("head_samples_max", 1, 100'000'000, spec.head_samples_max);
	if (const auto slots = reader.OptionalInteger("declared_prefetch_slots", 0, 1024))
		spec.declared_prefetch_slots = static_cast<std::uint32_t>(*slots);
	spec.index_offset_slots = reader.Integer("index_offset_slots", -4096, 4096, 0);
	reader.Finish();
	return spec;
}

EtfSpec ReadEtf(SpecReader &reader)
{
	EtfSpec spec;
	spec.delta_ns = reader.Integer("delta_ns", 0, INT32_MAX, 0);
	spec.deadline_mode = reader.Flag("deadline_mode", false);
	spec.skip_sock_check = reader.Flag("skip_sock_check", false);
	spec.reschedule = reader.Flag("reschedule", false);
	return spec;
}

GuardSpec ReadGuard(SpecReader &reader)
{
	GuardSpec spec;
	const auto u32 = [&](const char *key, std::int64_t min, std::int64_t max,
			     std::uint32_t fallback) {
		return static_cast<std::uint32_t>(reader.Integer(key, min, max, fallback));
	};
	const std::int64_t rate_bps = reader.Integer("rate_bps", 0, KPN_RATE_BPS_MAX, 0);
	if (rate_bps && !kpn_byte_time_ps(static_cast<u64>(rate_bps)))
		reader.Fail("rate_bps", std::to_string(rate_bps), "0 or the rate of an Ethernet");
	spec.rate_bps = static_cast<std::uint64_t>(rate_bps);
	spec.mtu_bytes = u32("mtu_bytes", 64, KPN_GUARD_MTU_BYTES_MAX, spec.mtu_bytes);
	spec.fudge_ns = u32("fudge_ns", 0, KPN_GUARD_FUDGE_NS_MAX, spec.fudge_ns);
	spec.tolerance_ns = u32("tolerance_ns", 0, KPN_GUARD_FUDGE_NS_MAX, spec.tolerance_ns);
	spec.limit_frames = u32("limit_frames", 1, 65536, spec.limit_frames);
	spec.late_send = reader.Choice("late", { { "drop", 0 }, { "send", 1 } }, 0);
	return spec;
}

LeafSpec ReadLeaf(SpecReader reader)
{
	LeafSpec spec;
	spec.kind = reader.Text("kind");
	spec.keeps_txtime = reader.Flag("keeps_txtime", false);
	if (spec.kind == "etf")
		spec.etf = ReadEtf(reader);
	if (spec.kind == "guard")
		spec.guard = ReadGuard(reader);
	reader.Finish();
	return spec;
}

TaprioSpec ReadTaprio(SpecReader reader)
{
	TaprioSpec spec;
	spec.base_ns = reader.Integer("base_ns", INT64_MIN / 4, INT64_MAX / 4, 0);
	const std::vector<std::int64_t> masks = reader.Integers("gates", 0, 0xffff, kWindowsMax);
	const std::vector<std::int64_t> lengths =
		reader.Integers("lengths_ns", 1, INT32_MAX, kWindowsMax);
	if (masks.empty() || masks.size() != lengths.size())
		reader.Fail("gates", std::to_string(masks.size()) + " masks",
			    "as many as lengths_ns, at least one");
	std::int64_t total_ns = 0;
	for (std::size_t i = 0; i < masks.size(); i++) {
		spec.windows.push_back({ static_cast<std::uint32_t>(masks[i]), lengths[i] });
		total_ns += lengths[i];
	}
	spec.cycle_ns = reader.Integer("cycle_ns", total_ns, INT64_MAX / 4, total_ns);
	spec.txtime_assist = reader.Flag("txtime_assist", false);
	spec.offload = reader.Flag("offload", false);
	spec.txtime_delay_ns = reader.Integer("txtime_delay_ns", 0, INT32_MAX, 0);
	reader.Finish();
	return spec;
}

QdiscSpec ReadQdisc(SpecReader reader)
{
	QdiscSpec spec;
	const nb::object leaves = nb::steal(PySequence_Fast(reader.Raw("leaves").ptr(), ""));
	if (!leaves.is_valid()) {
		PyErr_Clear();
		reader.Fail("leaves", Repr(reader.Raw("leaves")), "a list, one for each queue");
	}
	for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(leaves.ptr()); i++) {
		nb::dict named;
		named["leaf"] = nb::borrow(PySequence_Fast_GET_ITEM(leaves.ptr(), i));
		spec.leaves.push_back(ReadLeaf(SpecReader(named, reader.Where()).Table("leaf")));
	}
	const std::vector<std::int64_t> queues =
		reader.Integers("queues", 0, 0xffff, KPN_CLASS_COUNT);
	if (queues.size() != KPN_CLASS_COUNT)
		reader.Fail("queues", std::to_string(queues.size()) + " numbers",
			    "16, the queue of each class");
	for (const std::int64_t queue : queues)
		spec.queue_of_class.push_back(static_cast<std::uint32_t>(queue));
	if (reader.Has("taprio"))
		spec.taprio = ReadTaprio(reader.Table("taprio"));
	reader.Finish();
	return spec;
}

/// What a port's table does not have is the station's.
PortSpec ReadPort(SpecReader reader, const StationSpec &station)
{
	PortSpec port{ station.nic, station.nic_ppm, station.keepon, station.qdisc };
	if (reader.Has("nic"))
		port.nic = ReadNic(reader.Table("nic"));
	port.nic_ppm = reader.Number("nic_ppm", -1000, 1000, port.nic_ppm);
	if (reader.Has("keepon") && station.driver == "keepon")
		port.keepon = ReadKeepon(reader.Table("keepon"));
	else
		reader.Table("keepon");
	if (reader.Has("qdisc"))
		port.qdisc = ReadQdisc(reader.Table("qdisc"));
	reader.Finish();
	return port;
}

void ReadPorts(SpecReader &reader, StationSpec &spec)
{
	const nb::object items = nb::steal(PySequence_Fast(reader.Raw("ports").ptr(), ""));
	if (!items.is_valid() || PyDict_Check(reader.Raw("ports").ptr())) {
		PyErr_Clear();
		reader.Fail("ports", Repr(reader.Raw("ports")),
			    "a list with a table for each link");
	}
	for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); i++) {
		nb::dict named;
		named["ports"] = nb::borrow(PySequence_Fast_GET_ITEM(items.ptr(), i));
		spec.ports.push_back(
			ReadPort(SpecReader(named, reader.Where()).Table("ports"), spec));
	}
}

std::vector<NodeId> ToNodes(const std::vector<std::int64_t> &values)
{
	return { values.begin(), values.end() };
}

} // namespace

StationSpec ReadStation(const std::string &name, nb::dict dict)
{
	SpecReader reader(dict, "station \"" + name + "\"");
	StationSpec spec;
	if (reader.Has("driver"))
		spec.driver = reader.Text("driver");
	spec.release = reader.Text("release", spec.release);
	spec.sync = reader.Text("sync", spec.sync);
	SpecReader host = reader.Table("host");
	spec.wakeup = ReadLatency(host.Table("wakeup"));
	spec.stack = ReadLatency(host.Table("stack"));
	spec.driver_stage = ReadLatency(host.Table("driver"));
	spec.timer = ReadLatency(host.Table("timer"));
	spec.poll = ReadLatency(host.Table("poll"));
	spec.rx = ReadLatency(host.Table("rx"));
	host.Finish();
	spec.cpu = ReadCpu(reader.Table("cpu"));
	spec.ingress_latency_ns = reader.Integer("ingress_latency_ns", -kNsPerS, kNsPerS, 0);
	spec.egress_latency_ns = reader.Integer("egress_latency_ns", -kNsPerS, kNsPerS, 0);
	spec.occupancy_ns = reader.Integer("occupancy_ns", 0, kNsPerS, spec.occupancy_ns);
	spec.etf_delta_ns = reader.Integer("etf_delta_ns", 0, kNsPerS, spec.etf_delta_ns);
	spec.sync_interval_ns =
		reader.Integer("sync_interval_ns", 100'000, 100 * kNsPerS, spec.sync_interval_ns);
	spec.nic_ppm = reader.Number("nic_ppm", -1000, 1000, 0);
	spec.cpu_ppm = reader.Number("cpu_ppm", -1000, 1000, 0);
	spec.cpu_tick_ns = reader.Integer("cpu_tick_ns", 1, 1000, spec.cpu_tick_ns);
	spec.wander_ppb_per_s = reader.Number("wander_ppb_per_s", 0, 1e6, 0);
	spec.wander_ppb = reader.Number("wander_ppb", 0, 1e6, spec.wander_ppb);
	spec.stamp_resolution_ns =
		reader.Integer("stamp_resolution_ns", 1, 1'000'000, spec.stamp_resolution_ns);
	spec.nic = ReadNic(reader.Table("nic"));
	if (spec.driver == "keepon")
		spec.keepon = ReadKeepon(reader.Table("keepon"));
	else
		reader.Table(
			// allowed and without meaning for other drivers, so that one dict serves
			// all
			"keepon");
	spec.probe = ReadProbe(reader.Table("probe"));
	if (reader.Has("qdisc"))
		spec.qdisc = ReadQdisc(reader.Table("qdisc"));
	if (reader.Has("ports"))
		ReadPorts(reader, spec);
	reader.Finish();
	return spec;
}

BridgeSpec ReadBridge(const std::string &name, nb::dict dict)
{
	SpecReader reader(dict, "bridge \"" + name + "\"");
	BridgeSpec spec;
	spec.processing_ns = reader.Integer("processing_ns", 0, kNsPerS, spec.processing_ns);
	spec.ppm = reader.Number("ppm", -1000, 1000, 0);
	spec.wander_ppb_per_s = reader.Number("wander_ppb_per_s", 0, 1e6, 0);
	spec.wander_ppb = reader.Number("wander_ppb", 0, 1e6, spec.wander_ppb);
	spec.queue_frames = static_cast<std::uint32_t>(
		reader.Integer("queue_frames", 1, 1'000'000, spec.queue_frames));
	if (reader.Has("queues"))
		spec.queues = reader.Integers("queues", 0, 7, 8);
	if (spec.queues.size() != 8)
		reader.Fail("queues", std::to_string(spec.queues.size()) + " numbers",
			    "8, the queue of each priority");
	spec.ptp = reader.Choice("sync", { { "none", 0 }, { "ptp", 1 } }, 0);
	spec.ptp_turnaround_ns =
		reader.Integer("ptp_turnaround_ns", 0, kNsPerS, spec.ptp_turnaround_ns);
	spec.stamp_resolution_ns =
		reader.Integer("stamp_resolution_ns", 1, 1'000'000, spec.stamp_resolution_ns);
	reader.Finish();
	return spec;
}

StreamSpec ReadStream(nb::dict dict)
{
	SpecReader reader(dict, "stream");
	StreamSpec spec;
	spec.id = reader.Text("id");
	reader = SpecReader(dict, "stream \"" + spec.id + "\"");
	reader.Text("id");
	spec.talker = static_cast<NodeId>(reader.Integer("talker", 0, kNodeMax));
	spec.listeners = ToNodes(reader.Integers("listeners", 0, kNodeMax, 4096));
	const nb::object routes = reader.Raw("routes");
	if (routes.is_none()) {
		spec.routes.resize(spec.listeners.size());
	} else {
		nb::object items = nb::steal(PySequence_Fast(routes.ptr(), ""));
		if (!items.is_valid()) {
			PyErr_Clear();
			reader.Fail("routes", Repr(routes),
				    "a list with one list of bridges per listener");
		}
		for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); i++) {
			nb::dict named;
			named["routes"] = nb::borrow(PySequence_Fast_GET_ITEM(items.ptr(), i));
			SpecReader entry(named, reader.Where());
			spec.routes.push_back(ToNodes(entry.Integers("routes", 0, kNodeMax, 4096)));
		}
	}
	spec.period_ns = reader.Integer("period_ns", 1, 1000 * kNsPerS);
	spec.offset_ns = reader.Integer("offset_ns", 0, INT64_MAX, 0);
	spec.turns_ns = reader.Integers("turns_ns", 0, INT64_MAX, kTurnsMax);
	spec.start_ns = reader.Integer("start_ns", 0, 1'000'000 * kNsPerS, spec.start_ns);
	spec.frame_bytes =
		static_cast<std::uint32_t>(reader.Integer("frame_bytes", 64, kFrameBytesMax));
	spec.tc = static_cast<int>(reader.Integer("tc", 0, KPN_CLASS_COUNT - 1, 0));
	spec.queue = static_cast<int>(reader.Integer("queue", 0, 7, 7));
	spec.advance_ns = reader.Integer("advance_ns", 0, 1000 * kNsPerS, spec.advance_ns);
	reader.Finish();
	return spec;
}

LoadSpec ReadLoad(nb::dict dict)
{
	SpecReader reader(dict, "load");
	LoadSpec spec;
	spec.id = reader.Text("id");
	reader = SpecReader(dict, "load \"" + spec.id + "\"");
	reader.Text("id");
	spec.talker = static_cast<NodeId>(reader.Integer("talker", 0, kNodeMax));
	spec.listener = static_cast<NodeId>(reader.Integer("listener", 0, kNodeMax));
	spec.route = ToNodes(reader.Integers("route", 0, kNodeMax, 4096));
	spec.kind = reader.Text("kind", spec.kind);
	spec.congestion = reader.Text("congestion", spec.congestion);
	spec.rate_bps = reader.Integer("rate_bps", 0, 100'000'000'000, 0);
	spec.frame_bytes = static_cast<std::uint32_t>(
		reader.Integer("frame_bytes", 64, kFrameBytesMax, spec.frame_bytes));
	spec.window_frames = static_cast<std::uint32_t>(
		reader.Integer("window_frames", 1, 65536, spec.window_frames));
	spec.start_ns = reader.Integer("start_ns", 0, 1'000'000 * kNsPerS, spec.start_ns);
	spec.tc = static_cast<int>(reader.Integer("tc", 0, KPN_CLASS_COUNT - 1, 1));
	spec.queue = static_cast<int>(reader.Integer("queue", 0, 7, 0));
	reader.Finish();
	return spec;
}

namespace
{

ServoSpec ReadServo(SpecReader reader)
{
	ServoSpec spec;
	if (reader.Has("kind"))
		spec.kind = reader.Text("kind");
	spec.kp_scale = reader.Number("pi_proportional_scale", 0, 100, spec.kp_scale);
	spec.kp_exponent = reader.Number("pi_proportional_exponent", -10, 10, spec.kp_exponent);
	spec.kp_norm_max = reader.Number("pi_proportional_norm_max", 1e-9, 1, spec.kp_norm_max);
	spec.ki_scale = reader.Number("pi_integral_scale", 0, 100, spec.ki_scale);
	spec.ki_exponent = reader.Number("pi_integral_exponent", -10, 10, spec.ki_exponent);
	spec.ki_norm_max = reader.Number("pi_integral_norm_max", 1e-9, 2, spec.ki_norm_max);
	spec.step_threshold_ns =
		reader.Integer("step_threshold_ns", 0, 1000 * kNsPerS, spec.step_threshold_ns);
	spec.first_step_threshold_ns = reader.Integer("first_step_threshold_ns", 0, 1000 * kNsPerS,
						      spec.first_step_threshold_ns);
	spec.filter_samples = static_cast<std::uint32_t>(
		reader.Integer("filter_samples", 0, 1000, spec.filter_samples));
	reader.Finish();
	return spec;
}

/// Two whole numbers of every entry of the list \p key.
std::vector<std::pair<std::int64_t, std::int64_t>> ReadPairs(SpecReader &reader, const char *key,
							     std::int64_t first_max)
{
	std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
	const nb::object list = reader.Raw(key);
	if (list.is_none())
		return pairs;
	const nb::object items = nb::steal(PySequence_Fast(list.ptr(), ""));
	if (!items.is_valid()) {
		PyErr_Clear();
		reader.Fail(key, Repr(list), "a list of pairs");
	}
	for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); i++) {
		const nb::handle item = PySequence_Fast_GET_ITEM(items.ptr(), i);
		if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
			reader.Fail(key, Repr(item), "a tuple of two whole numbers");
		pairs.emplace_back(
			ToInteger(reader, key, PyTuple_GET_ITEM(item.ptr(), 0), 0, first_max),
			ToInteger(reader, key, PyTuple_GET_ITEM(item.ptr(), 1), 0, kNodeMax));
	}
	return pairs;
}

} // namespace

PtpSpec ReadSync(nb::dict dict)
{
	SpecReader reader(dict, "sync");
	PtpSpec spec;
	spec.gptp = reader.Choice("mode", { { "gptp", 1 }, { "ptp", 0 } }, 1);
	for (const auto &[domain, node] : ReadPairs(reader, "domains", 127))
		spec.domains.push_back(
			{ static_cast<std::uint8_t>(domain), static_cast<NodeId>(node) });
	spec.interval_ns =
		reader.Integer("interval_ns", 1'000'000, 100 * kNsPerS, spec.interval_ns);
	spec.delay_interval_ns = reader.Integer("delay_interval_ns", 1'000'000, 100 * kNsPerS,
						spec.delay_interval_ns);
	spec.servo = ReadServo(reader.Table("servo"));
	spec.delay_filter_samples = static_cast<std::uint32_t>(
		reader.Integer("delay_filter_samples", 1, 1000, spec.delay_filter_samples));
	spec.rate_samples = static_cast<std::uint32_t>(
		reader.Integer("rate_samples", 1, 1000, spec.rate_samples));
	spec.tc = static_cast<int>(reader.Integer("tc", 0, KPN_CLASS_COUNT - 1, spec.tc));
	spec.queue = static_cast<int>(reader.Integer("queue", 0, 7, spec.queue));
	spec.start_offset_ns =
		reader.Integer("start_offset_ns", 0, 1000 * kNsPerS, spec.start_offset_ns);
	spec.sample_ns = reader.Integer("sample_ns", 20, 100 * kNsPerS, spec.sample_ns);
	for (const auto &[at_ns, node] : ReadPairs(reader, "changes", 4'000'000'000'000'000))
		spec.changes.push_back({ at_ns, static_cast<NodeId>(node) });
	reader.Finish();
	return spec;
}

FaultSpec ReadFault(const std::string &kind, std::int64_t node, std::int64_t at_ns,
		    std::int64_t value_ns, std::int64_t port)
{
	nb::dict named;
	named["kind"] = kind;
	named["node"] = node;
	named["at_ns"] = at_ns;
	named["value_ns"] = value_ns;
	named["port"] = port;
	SpecReader reader(named, "fault");
	FaultSpec spec;
	spec.kind = reader.Text("kind");
	spec.node = static_cast<NodeId>(reader.Integer("node", 0, kNodeMax));
	spec.at_ns = reader.Integer("at_ns", 0, 4'000'000'000'000'000);
	spec.value_ns = reader.Integer("value_ns", -1'000'000 * kNsPerS, 1'000'000 * kNsPerS);
	spec.port = static_cast<std::uint32_t>(reader.Integer("port", 0, kNodeMax));
	return spec;
}

} // namespace keepon::sim::bind
