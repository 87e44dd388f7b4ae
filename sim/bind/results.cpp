// SPDX-License-Identifier: BSD-3-Clause
#include "results.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "keepon/sim/rx_ring.hpp"
#include "specs.hpp"

namespace keepon::sim::bind
{

namespace nb = nanobind;

namespace
{

using Array1 = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Array2 = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>;

/// A buffer that numpy owns from now on.
std::int64_t *NewBuffer(std::size_t count, nb::capsule &owner)
{
	auto *data = new std::int64_t[std::max<std::size_t>(count, 1)];
	owner = nb::capsule(data,
			    [](void *p) noexcept { delete[] static_cast<std::int64_t *>(p); });
	return data;
}

template <typename Source>
nb::object ToArray(const Source &source)
{
	nb::capsule owner;
	std::int64_t *data = NewBuffer(source.size(), owner);
	std::copy(source.begin(), source.end(), data);
	return nb::cast(Array1(data, { source.size() }, owner));
}

nb::object ToMatrix(const std::vector<std::vector<std::int64_t>> &rows, std::size_t columns)
{
	nb::capsule owner;
	std::int64_t *data = NewBuffer(rows.size() * columns, owner);
	for (std::size_t i = 0; i < rows.size(); i++)
		std::copy(rows[i].begin(), rows[i].end(), data + i * columns);
	return nb::cast(Array2(data, { rows.size(), columns }, owner));
}

nb::dict ToDict(const Counters &counters)
{
	nb::dict dict;
	for (const auto &[name, value] : counters)
		dict[name.c_str()] = value;
	return dict;
}

nb::dict Verdicts(const std::array<std::int64_t, KPN_VERDICT_COUNT> &verdicts)
{
	nb::dict dict;
	for (int v = 0; v < KPN_VERDICT_COUNT; v++)
		dict[kpn_verdict_name(static_cast<kpn_verdict>(v))] =
			verdicts[static_cast<std::size_t>(v)];
	return dict;
}

/// What streams and loads have in common. Counts of frames, but delivered and lost count
/// deliveries.
/// "pending" and "in_flight" are counted from frames and packets, never from the other counters.
/// \param under_way  World::packets.UnderWay()
nb::dict FlowCounts(const Simulation &simulation, FlowId number,
		    const std::vector<std::int64_t> &under_way)
{
	const World &world = simulation.State();
	const Flow &flow = world.flows[number];
	std::int64_t sent = 0;
	for (int v = 0; v < KPN_VERDICT_COUNT; v++) {
		const std::int64_t count = flow.verdicts[static_cast<std::size_t>(v)];
		sent += kpn_verdict_is_sent(static_cast<kpn_verdict>(v)) ? count : 0;
	}
	nb::dict lost;
	for (std::size_t place = 0; place < flow.lost.size(); place++) {
		if (flow.lost[place])
			lost[world.places[place].c_str()] = flow.lost[place];
	}
	const std::int64_t delivered =
		std::accumulate(flow.delivered.begin(), flow.delivered.end(), std::int64_t{ 0 });
	nb::dict dict;
	dict["id"] = flow.id;
	dict["submitted"] = flow.submitted;
	dict["sent"] = sent;
	dict["pending"] = simulation.PendingOf(number);
	dict["verdicts"] = Verdicts(flow.verdicts);
	dict["on_wire"] = flow.on_wire;
	dict["delivered"] = delivered;
	dict["delivered_by_listener"] = ToArray(flow.delivered);
	dict["delivered_bytes"] = flow.delivered_bytes;
	dict["window_sent_bytes"] = flow.window_sent_bytes;
	dict["window_delivered_bytes"] = flow.window_delivered_bytes;
	dict["lost"] = lost;
	dict["in_flight"] = under_way[number];
	dict["torn"] = flow.torn;
	dict["wrong_bytes"] = flow.wrong_bytes;
	dict["duplicates"] = flow.duplicates;
	dict["ghosts"] = flow.ghosts;
	if (flow.redundant)
		dict["split"] = flow.split;
	return dict;
}

/// Both machines of a connection. Bytes are of payload; ssthresh -1: none yet.
nb::dict TcpState(const TcpConnection &tcp)
{
	const TcpSender &sender = tcp.talker->Machine();
	const TcpReceiver &receiver = tcp.listener->Machine();
	const TcpSenderCounts &counts = sender.Counts();
	std::vector<std::int64_t> at_ps;
	std::vector<std::int64_t> cwnd;
	std::vector<std::int64_t> ssthresh;
	for (const TcpSeries::Point &point : tcp.talker->Series().Points()) {
		at_ps.push_back(point.at);
		cwnd.push_back(point.cwnd);
		ssthresh.push_back(point.ssthresh == INT64_MAX ? -1 : point.ssthresh);
	}
	nb::dict dict;
	dict["acknowledged_bytes"] = sender.Una();
	dict["delivered_bytes"] = receiver.Next();
	dict["window_bytes"] = tcp.listener->WindowBytes();
	dict["segments"] = counts.segments;
	dict["retransmissions"] = counts.retransmissions;
	dict["recoveries"] = counts.recoveries;
	dict["timeouts"] = counts.timeouts;
	dict["probes"] = counts.probes;
	dict["refused"] = counts.refused;
	dict["duplicates"] = receiver.Duplicates();
	dict["out_of_order"] = receiver.OutOfOrder();
	dict["srtt_ps"] = sender.Rtt().Srtt();
	dict["at_ps"] = ToArray(at_ps);
	dict["cwnd"] = ToArray(cwnd);
	dict["ssthresh"] = ToArray(ssthresh);
	return dict;
}

nb::dict PacerState(KeeponTransmitter &keepon)
{
	const kpn_state state = keepon.State();
	const auto rate = keepon.RateKnown();
	nb::dict dict;
	dict["rate_ppb"] = rate ? nb::cast(rate->middle_ppb) : nb::none();
	dict["rate_error_ppb"] = rate ? nb::cast(rate->half_ppb) : nb::none();
	dict["synchronised"] = state.synchronised;
	dict["head_valid"] = state.head_valid;
	dict["clock_error_ps"] = state.clock_error_ps;
	dict["base"] = state.base;
	dict["head_seq"] = state.head_seq;
	dict["tail_seq"] = state.tail_seq;
	dict["lock_seq"] = state.lock_seq;
	dict["pending"] = state.pending;
	dict["scaled_ppm"] = state.scaled_ppm;
	dict["phc_error_ps"] = keepon.PhcErrorPs();
	return dict;
}

/// A number, or its word among \p unit, which has bars between words.
template <typename Type>
nb::object FieldValue(Type value, const char *unit)
{
	const bool number = std::is_same_v<Type, bool> || !std::strchr(unit, '|');
	return number ? nb::cast(value) : nb::cast(WordOf(value, unit));
}

nb::dict PacerConfig(const KeeponTransmitter &keepon)
{
	const kpn_config &config = keepon.Config();
	nb::dict dict;
#define PUT(field, type, option, attribute, unit, ...) \
	dict[#field] = FieldValue(config.field, unit);
	KPN_CONFIG_FIELDS(PUT)
#undef PUT
	dict["slot_time_ps"] = keepon.SlotPs();
	dict["frame_bytes_max"] = keepon.FrameBytesMax();
	dict["clock"] = config.clock_read == KPN_CLOCK_COUNTER ? "counter" : "interpolated";
	dict["lead_slots"] = keepon.LeadSlots();
	return dict;
}

} // namespace

KeeponTransmitter &KeeponAt(Simulation &simulation, NodeId node, std::uint32_t port)
{
	Station &station = simulation.StationAt(node);
	if (port >= station.Ports())
		throw ValueError("port = " + std::to_string(port) + " of station \"" +
				 station.Name() + "\" is not within 0 to " +
				 std::to_string(station.Ports() - 1));
	if (!station.PortAt(port).Keepon())
		throw ValueError("node \"" + station.Name() + "\" has another driver than keepon");
	return *station.PortAt(port).Keepon();
}

nb::dict FramesOf(const Flow &flow)
{
	const StreamRecords &records = flow.records;
	const auto count = static_cast<std::size_t>(records.Count());
	nb::capsule seq_owner;
	nb::capsule txtime_owner;
	std::int64_t *seq = NewBuffer(count, seq_owner);
	std::int64_t *txtime = NewBuffer(count, txtime_owner);
	for (std::size_t i = 0; i < count; i++) {
		seq[i] = static_cast<std::int64_t>(i);
		txtime[i] = flow.TxTime(seq[i]);
	}
	nb::dict dict;
	dict["seq"] = Array1(seq, { count }, seq_owner);
	dict["txtime_ns"] = Array1(txtime, { count }, txtime_owner);
	dict["submit_ps"] = ToArray(records.submit_ps);
	dict["verdict"] = ToArray(records.verdict);
	dict["wire_ps"] = ToArray(records.wire_ps);
	dict["arrival_ps"] = ToMatrix(records.arrival_ps, count);
	dict["stamp_ns"] = ToMatrix(records.stamp_ns, count);
	if (records.guest)
		dict["queued_ps"] = ToArray(records.queued_ps);
	if (!records.read_ps.empty()) {
		dict["handed_ps"] = ToMatrix(records.handed_ps, count);
		dict["read_ps"] = ToMatrix(records.read_ps, count);
	}
	return dict;
}

nb::dict FlowSummary(const Simulation &simulation, FlowId flow)
{
	const World &world = simulation.State();
	const auto under_way = world.packets.UnderWay(world.flows.size());
	nb::dict dict = FlowCounts(simulation, flow, under_way);
	if (const TcpConnection *tcp = simulation.TcpOf(flow)) {
		dict["tcp"] = TcpState(*tcp);
		dict["acks"] = FlowCounts(simulation, tcp->acks, under_way);
	}
	return dict;
}

/// Frames and readings of a receive ring that is a clock, and what became of its stamps.
nb::dict RxRingState(RxRing &ring)
{
	nb::dict dict;
	dict["frames"] = ring.Rx().head_seq;
	dict["readings"] = ring.Rx().readings;
	dict["stops"] = ring.Rx().stops;
	dict["stamps"] = ring.Stamps();
	dict["unstamped"] = ring.Unstamped();
	dict["tau_ns"] = ring.Dual().tau_ns;
	dict["tx_set"] = ring.Dual().tx_set;
	dict["rx_set"] = ring.Dual().rx_set;
	return dict;
}

/// What the cores did, by priority.
nb::dict CpuSummary(const HostCpu &cpu)
{
	const std::pair<const char *, CpuPriority> priorities[kCpuPriorities] = {
		{ "hard-irq", CpuPriority::kHardIrq },
		{ "softirq", CpuPriority::kSoftIrq },
		{ "fifo", CpuPriority::kFifo },
		{ "normal", CpuPriority::kNormal },
	};
	nb::dict dict;
	for (const auto &[name, priority] : priorities) {
		const HostCpu::Usage &usage = cpu.UsageOf(priority);
		nb::dict entry;
		entry["steps"] = usage.steps;
		entry["busy_ps"] = usage.busy_ps;
		entry["waited_ps"] = usage.waited_ps;
		entry["wait_ps_max"] = usage.wait_ps_max;
		entry["preemptions"] = usage.preemptions;
		dict[name] = entry;
	}
	return dict;
}

namespace
{

nb::dict CountersOf(SequenceRecovery &recovery, TimePs now)
{
	const SequenceRecovery::Counters &count = recovery.CountersAt(now);
	nb::dict dict;
	dict["passed"] = count.passed;
	dict["discarded"] = count.discarded;
	dict["out_of_order"] = count.out_of_order;
	dict["rogue"] = count.rogue;
	dict["lost"] = count.lost;
	dict["resets"] = count.resets;
	dict["latent_errors"] = count.latent_errors;
	return dict;
}

/// By stream; `ports`: of individual recovery, by the neighbour's number.
template <class Peer>
nb::dict Recovered(const World &world, const std::vector<StreamRecovery *> &recoveries, Peer peer)
{
	nb::dict streams;
	for (StreamRecovery *recovery : recoveries) {
		nb::dict dict = CountersOf(recovery->Whole(), world.now);
		nb::dict ports;
		for (auto &[port, individual] : recovery->Individual())
			ports[nb::int_(peer(port))] = CountersOf(individual, world.now);
		if (recovery->Spec().individual)
			dict["ports"] = ports;
		streams[world.flows[recovery->Spec().stream].id.c_str()] = dict;
	}
	return streams;
}

/// What a station with one port says beside its own.
void AddPortSummary(nb::dict &dict, const Simulation &simulation, Port &port)
{
	dict["nic"] = ToDict(port.Tx().NicCounters());
	dict["placeholders"] = port.Tx().Placeholders();
	dict["placeholders_discarded"] = simulation.PlaceholdersAt(port.End());
	dict["foreign_frames"] = port.ForeignFrames();
	dict["etf_drops"] = port.EtfDrops();
	if (port.Spec().qdisc)
		dict["qdisc"] = ToDict(port.QdiscCounters());
	dict["disturbances"] = port.Disturbances();
	if (!port.Keepon())
		return;
	KeeponTransmitter &keepon = *port.Keepon();
	const kpn_stats &stats = keepon.Stats();
	nb::dict counters;
	for (u32 i = 0; i < KPN_COUNTER_COUNT; i++)
		counters[kpn_stats_name(i)] = kpn_stats_value(&stats, i);
	std::array<std::int64_t, KPN_VERDICT_COUNT> verdicts;
	for (std::size_t v = 0; v < verdicts.size(); v++)
		verdicts[v] = static_cast<std::int64_t>(stats.verdicts[v]);
	dict["counters"] = counters;
	dict["verdicts"] = Verdicts(verdicts);
	dict["clock"] = PacerState(keepon);
	dict["config"] = PacerConfig(keepon);
	if (keepon.Rx())
		dict["rx_ring"] = RxRingState(*keepon.Rx());
}

} // namespace

nb::dict StationSummary(Simulation &simulation, NodeId node)
{
	Station &station = simulation.StationAt(node);
	nb::dict dict;
	dict["name"] = station.Name();
	dict["host_draws"] = ToDict(station.HostDraws());
	dict["host_tails"] = ToDict(station.HostTails());
	if (station.Cpu().Contended())
		dict["cpu"] = CpuSummary(station.Cpu());
	std::vector<StreamRecovery *> recoveries;
	for (StreamRecovery &recovery : station.Recoveries())
		recoveries.push_back(&recovery);
	if (!recoveries.empty()) {
		const World &world = simulation.State();
		dict["recovery"] = Recovered(world, recoveries, [&](std::uint32_t port) {
			return world.ends[world.ends[station.PortAt(port).End()].peer].node;
		});
	}
	if (station.Ports() == 1) {
		AddPortSummary(dict, simulation, station.PortAt(0));
		return dict;
	}
	nb::dict ports;
	for (std::uint32_t port = 0; port < station.Ports(); port++) {
		nb::dict own;
		AddPortSummary(own, simulation, station.PortAt(port));
		ports[station.PortName(port).c_str()] = own;
	}
	dict["ports"] = ports;
	return dict;
}

nb::dict BridgeSummary(const Simulation &simulation, NodeId node)
{
	const Bridge &bridge = simulation.BridgeAt(node);
	const World &world = simulation.State();
	nb::dict ports;
	for (const Bridge::Port &port : bridge.Ports()) {
		nb::dict dict;
		dict["received"] = world.ends[port.end].frames;
		dict["placeholders_discarded"] = simulation.PlaceholdersAt(port.end);
		dict["forwarded"] = port.forwarded;
		dict["forwarded_bytes"] = port.forwarded_bytes;
		if (port.egress.Merges()) // what few runs have is not said by the others
			dict["preemptions"] = port.preemptions;
		dict["queue_drops"] = port.queue_drops;
		dict["gate_drops"] = port.gate_drops;
		dict["waiting"] = port.egress.Waiting();
		dict["waiting_max"] = port.waiting_max;
		ports[nb::int_(port.peer)] = dict;
	}
	nb::dict dict;
	dict["name"] = bridge.Name();
	dict["ports"] = ports;
	if (const auto recoveries = bridge.Recoveries(); !recoveries.empty())
		dict["recovery"] = Recovered(world, recoveries, [&](std::uint32_t port) {
			return bridge.Ports()[port].peer;
		});
	const Psfp *psfp = bridge.Policing();
	if (!psfp)
		return dict;
	nb::list filters;
	for (const Psfp::Counters &count : psfp->Filters()) {
		nb::dict filter;
		filter["matching"] = count.matching;
		filter["oversize"] = count.oversize;
		filter["not_passing"] = count.not_passing;
		filter["red"] = count.red;
		filter["yellow"] = count.yellow;
		filters.append(filter);
	}
	dict["filters"] = filters;
	return dict;
}

namespace
{

PtpNetwork &PtpOf(Simulation &simulation)
{
	if (!simulation.Ptp())
		throw ValueError("clocks are measured with PTP only: set_sync() was not called");
	return *simulation.Ptp();
}

const char *StateName(ServoState state)
{
	return state == ServoState::kUnlocked ? "unlocked" :
	       state == ServoState::kJump     ? "jump" :
						"locked";
}

} // namespace

nb::dict ClockSummary(Simulation &simulation, NodeId node)
{
	PtpNetwork &ptp = PtpOf(simulation);
	if (!ptp.TakesPart(node))
		throw ValueError("node = " + std::to_string(node) + " takes no part in PTP");
	PtpNode &member = ptp.NodeAt(node);
	const PtpNetwork::Record &record = ptp.RecordOf(node);
	const std::vector<PtpDomainSpec> &numbers = ptp.Spec().domains;
	nb::dict domains;
	for (std::size_t i = 0; i < numbers.size(); i++) {
		const PtpNode::Counters &counters = member.CountersOf(i);
		nb::dict entry;
		entry["grandmaster"] = member.IsGrandmaster(i);
		entry["sent"] = counters.sync_sent;
		entry["received"] = counters.sync_received;
		entry["lost"] = counters.sync_lost;
		entry["unused"] = counters.sync_unused;
		entry["updates"] = counters.updates;
		entry["steps"] = counters.steps;
		entry["delay_ps"] = member.DelayPs(i);
		if (i > 0)
			entry["offset_ps"] = ToArray(record.domain_ps[i - 1]);
		domains[nb::int_(numbers[i].domain)] = entry;
	}
	nb::list ports;
	for (std::uint32_t port = 0; port < member.Ports(); port++) {
		const PeerDelay &peer = member.PeerOf(port);
		nb::dict entry;
		entry["valid"] = peer.Valid();
		entry["delay_ps"] = peer.DelayPs();
		entry["rate_ratio"] = peer.RateRatio();
		entry["complete"] = peer.Complete();
		entry["lost"] = peer.Lost();
		ports.append(entry);
	}
	nb::dict dict;
	dict["source"] = member.Clock().Source();
	dict["stamps"] = member.Clock().Stamps();
	dict["state"] = StateName(member.State());
	dict["at_ps"] = ToArray(record.at_ps);
	dict["offset_ps"] = ToArray(record.offset_ps);
	dict["read_offset_ps"] = ToArray(record.read_offset_ps);
	dict["read_at_ps"] = ToArray(record.read_at_ps);
	dict["scaled_ppm"] = ToArray(record.scaled_ppm);
	dict["reported_at_ps"] = ToArray(member.Reported().at_ps);
	dict["reported_ps"] = ToArray(member.Reported().offset_ps);
	dict["domains"] = domains;
	dict["ports"] = ports;
	return dict;
}

nb::dict CaptureSummary(const Simulation &simulation)
{
	const World &world = simulation.State();
	const std::vector<Sighting> seen = world.capture.Seen();
	std::vector<std::int64_t> columns[6];
	for (const Sighting &one : seen) {
		const std::int64_t row[6] = { one.sfd_ps, one.seq,         one.flow,
					      one.node,   one.frame_bytes, one.outbound };
		for (int i = 0; i < 6; i++)
			columns[i].push_back(row[i]);
	}
	const char *names[6] = { "sfd_ps", "seq", "flow", "node", "frame_bytes", "outbound" };
	nb::dict dict;
	for (int i = 0; i < 6; i++)
		dict[names[i]] = ToArray(columns[i]);
	nb::list flows;
	for (const Flow &flow : world.flows)
		flows.append(flow.id);
	dict["flows"] = flows;
	dict["start_ps"] = world.capture.Start();
	dict["end_ps"] = world.capture.End();
	return dict;
}

nb::list PtpFlows(Simulation &simulation)
{
	PtpNetwork &ptp = PtpOf(simulation);
	const World &world = simulation.State();
	const std::vector<std::int64_t> under_way = world.packets.UnderWay(world.flows.size());
	nb::list flows;
	for (FlowId flow = ptp.FirstFlow(); flow < ptp.EndFlow(); flow++) {
		nb::dict dict = FlowCounts(simulation, flow, under_way);
		dict["kind"] = PtpKindName(ptp.KindOf(flow));
		dict["talker"] = world.flows[flow].talker;
		flows.append(dict);
	}
	return flows;
}

nb::dict BoundarySummary(Simulation &simulation, NodeId node, std::uint32_t port)
{
	KeeponTransmitter &keepon = KeeponAt(simulation, node, port);
	const BoundaryStatistics &statistics = keepon.Probe().Boundaries();
	nb::list steps;
	for (const BoundaryStatistics::Step &step : statistics.steps)
		steps.append(nb::make_tuple(step.at_ps, step.last_bad_ps));
	nb::dict dict;
	dict["locked_slots"] = statistics.locked_slots;
	dict["locked_max_ps"] = statistics.locked_max_ps;
	dict["violations"] = statistics.violations;
	dict["unlocked_slots"] = statistics.unlocked_slots;
	dict["unlocked_max_ps"] = statistics.unlocked_max_ps;
	dict["skipped_slots"] = statistics.skipped_slots;
	dict["steps"] = steps;
	return dict;
}

nb::dict HeadSummary(Simulation &simulation, NodeId node, std::uint32_t port)
{
	KeeponTransmitter &keepon = KeeponAt(simulation, node, port);
	const HeadStatistics &statistics = keepon.Probe().Heads();
	nb::dict dict;
	dict["samples"] = statistics.samples;
	dict["invalid"] = statistics.invalid;
	dict["violations"] = statistics.violations;
	dict["behind_max_ps"] = statistics.behind_max_ps;
	dict["ahead_max_ps"] = statistics.ahead_max_ps;
	dict["seq_violations"] = statistics.seq_violations;
	dict["widths_ps"] = ToArray(statistics.widths_ps);
	return dict;
}

} // namespace keepon::sim::bind
