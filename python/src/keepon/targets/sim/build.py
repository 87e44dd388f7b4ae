# SPDX-License-Identifier: BSD-3-Clause
"""A simulation put together from a scenario and its plan."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from keepon._sim import CABLE, AtsSpec, LoadSpec, Simulation, StreamSpec
from keepon.measure import results
from keepon.measure.due import Schedule, schedule
from keepon.measure.results import FrameArrays
from keepon.measure.statistics import IntArray
from keepon.model import preemption
from keepon.model.cables import directions
from keepon.model.foreign import sent_period_ns
from keepon.model.gates import ALL_GATES
from keepon.model.hosts import Sourced
from keepon.model.plan import Plan, PlannedScheduler
from keepon.model.scenario import Load, Scenario, Stream
from keepon.model.shaping import asynchronous, slopes
from keepon.model.timing import epoch_ns_for, talk_start_ns
from keepon.model.topology import Topology
from keepon.targets.sim import frer, psfp, timesync
from keepon.targets.sim.specs import station_spec


class Build:
    """A simulation built from scenario and plan."""

    def __init__(self, scenario: Scenario, plan: Plan, run: str, seed: int) -> None:
        self.scenario, self.plan, self.run = scenario, plan, run
        self.epoch_ns = epoch_ns_for(scenario)
        self.simulation = Simulation(seed, self.epoch_ns)
        self.nodes: dict[str, int] = {}
        self.sources: dict[str, list[Sourced]] = {}
        self.topology = topology = Topology(scenario)
        for station in scenario.station:
            ports = [port.name for port in topology.ports_of(station.name)]
            spec, sources = station_spec(scenario, station, run, plan, ports)
            self.nodes[station.name] = self.simulation.add_station(station.name, spec)
            self.sources[f"{station.name} ({spec.driver})"] = sources
        for bridge in scenario.bridge:
            self.nodes[bridge.name] = self.simulation.add_bridge(
                bridge.name, timesync.bridge_spec(scenario, bridge)
            )
        self.sources.update(timesync.bridge_sources(scenario))
        for called in set(itertools.chain.from_iterable(topology.neighbours.values())):
            name, _, nth = called.partition("#")
            if nth:
                self.nodes[called] = self.nodes[name] + (int(nth) - 1) * CABLE
        ways = directions(link.ends for link in scenario.link)
        for link, both in zip(scenario.link, ways, strict=True):
            there, back = (topology.wires[hop] for hop in both)
            self.simulation.add_link(
                self.nodes[link.ends[0]],
                self.nodes[link.ends[1]],
                there.rate_bps,
                min(there.propagation_ns, back.propagation_ns),
                there.propagation_ns - back.propagation_ns,
            )
            if link.loss_probability:
                here, far = (self.nodes[name] for name in both[0])
                self.simulation.set_loss(here, far, link.loss_probability)
        for name, entry in plan["bridges"].items():
            for peer, port in entry["ports"].items():
                if "entries" in port:
                    gates = [
                        (
                            int(gate["gates"], 16) & ALL_GATES
                            | (preemption.HOLD if gate.get("hold") else 0),
                            gate["ns"],
                        )
                        for gate in port["entries"]
                    ]
                    self.simulation.set_gates(
                        self.nodes[name], self.nodes[peer], port["base_ns"], gates
                    )
        for bridge in scenario.bridge:
            for peer in topology.neighbours[bridge.name]:
                for queue, slope_bps in slopes(bridge, peer).items():
                    ends = (self.nodes[bridge.name], self.nodes[peer])
                    self.simulation.set_shaper(*ends, queue, slope_bps)
                for queue in asynchronous(bridge, peer):
                    self.simulation.set_asynchronous(
                        self.nodes[bridge.name], self.nodes[peer], queue
                    )
        for (name, peer), bridge in preemption.ports(scenario).items():
            self.simulation.set_preemption(
                self.nodes[name],
                self.nodes[peer],
                preemption.queues_of(bridge),
                bridge.min_fragment_bytes,
            )
        self.start_ns = talk_start_ns(scenario, plan)
        self.streams = {stream.id: self._add_stream(stream) for stream in scenario.stream}
        self.loads = {load.id: self._add_load(load) for load in scenario.load}
        flows = {name: [flow] for name, flow in (self.streams | self.loads).items()}
        for load in scenario.babbled():
            first = next(s.id for s in scenario.stream if s.talker == load.talker)
            flows[first].append(self._add_load(load))
        for bridge in scenario.bridge:
            document = plan["bridges"].get(bridge.name)
            planned = [] if document is None else document.get("stream_filters", [])
            if bridge.stream_filter or planned:
                filters = psfp.psfp_spec(scenario, bridge, planned, flows)
                self.simulation.set_psfp(self.nodes[bridge.name], filters)
            if document is not None:
                self._add_schedulers(bridge.name, document.get("schedulers", []), flows)
        for stream in scenario.stream:
            if stream.redundancy > 1:
                frer.add(self.simulation, self.nodes, stream, plan, self.streams[stream.id])
        if scenario.sync.by_ptp:
            self.simulation.set_sync(timesync.sync_spec(scenario, self.nodes))
        driven = {station.name: scenario.driver_of(station, run) for station in scenario.station}
        tested = {station.name for station in scenario.station if station.driver == "under-test"}
        for fault in scenario.fault:
            struck = topology.ports.get(fault.node)
            node = fault.node if struck is None else struck.station
            if fault.kind == "poll-stall" and node in tested and driven[node] != "keepon":
                continue  # only keepon polls; the fault concerns the station in its other runs
            if fault.kind == "master-change":
                continue  # a part of sync_spec()
            if fault.kind == "babble":
                continue  # frames like those of loads
            number = 0 if struck is None else topology.ports_of(node).index(struck)
            if fault.peer is not None:
                number = self.nodes[fault.peer]
            self.simulation.add_fault(
                fault.kind, self.nodes[node], round(fault.at_s * 1e9), fault.value_ns, number
            )

    def _add_schedulers(
        self, bridge: str, schedulers: list[PlannedScheduler], flows: dict[str, list[int]]
    ) -> None:
        """Schedulers of a bridge; a group is what comes from one traffic class of a neighbour."""
        scenario, groups = self.scenario, dict[tuple[str, int], int]()
        for planned in schedulers:
            stream = next(each for each in scenario.stream if each.id == planned["stream"])
            entry = self.plan["streams"][stream.id]
            route = next(way for way in entry["routes"].values() if bridge in way)
            before = [stream.talker, *route][route.index(bridge)]
            above = next((each for each in scenario.bridge if each.name == before), None)
            own = stream.priority if above is None else above.class_of(stream.priority)
            spec = AtsSpec(
                flows=flows[stream.id],
                cir_bps=planned["cir_bps"],
                cbs_bytes=planned["cbs_bytes"],
                max_residence_ns=planned["max_residence_ns"],
                group=groups.setdefault((before, own), len(groups)),
            )
            self.simulation.add_scheduler(self.nodes[bridge], spec)

    def schedule(self, stream: Stream) -> Schedule:
        """When frames of a stream are due."""
        sent = stream.model_copy(update={"period_ns": sent_period_ns(self.scenario, stream)})
        return schedule(self.epoch_ns + self.start_ns, sent, self.plan["streams"][stream.id])

    def _add_stream(self, stream: Stream) -> int:
        entry = self.plan["streams"][stream.id]
        spec = StreamSpec(
            id=stream.id,
            talker=self.nodes[stream.talker],
            listeners=[self.nodes[listener] for listener in stream.listeners],
            routes=[
                [self.nodes[node] for node in entry["routes"][end]] for end in stream.listeners
            ],
            period_ns=sent_period_ns(self.scenario, stream),
            offset_ns=entry["release_ns"],
            turns_ns=entry.get("turns_ns", []),
            cycle_ns=stream.cycle_ns if stream.turns > 1 else 0,
            start_ns=self.start_ns,
            frame_bytes=stream.frame_bytes,
            tc=stream.tc,
            queue=stream.priority,
            advance_ns=stream.advance_ns,
        )
        return self.simulation.add_stream(spec)

    def _add_load(self, load: Load) -> int:
        way = self.topology.shortest(load.talker, load.listener)
        spec = LoadSpec(
            id=load.id,
            talker=self.nodes[load.talker],
            listener=self.nodes[load.listener],
            route=[self.nodes[node] for node in way[1:-1]],
            kind=load.kind,
            congestion=load.congestion,
            start_ns=load.start_ns,
            rate_bps=load.rate_bps,
            frame_bytes=load.frame_bytes,
            tc=load.tc,
            queue=load.priority,
        )
        return self.simulation.add_load(spec)

    def frames(self, name: str) -> FrameArrays:
        raw = self.simulation.frames(self.streams[name])
        frames = FrameArrays(
            raw["seq"], raw["txtime_ns"], raw["submit_ps"], raw["verdict"], raw["wire_ps"],
            raw["arrival_ps"], raw["stamp_ns"], self.epoch_ns,
        )  # fmt: skip
        if not self.scenario.sync.by_ptp:
            return frames
        return replace(
            frames,
            submit_ps=self._network_time(frames.submit_ps),
            wire_ps=self._network_time(frames.wire_ps),
            arrival_ps=self._network_time(frames.arrival_ps),
        )

    def stages(self, name: str, seq: IntArray) -> dict[str, IntArray]:
        """How long the messages of these numbers were at each stage, in ps, and the whole from the
        txtime to the application; nothing where no host has a way to that. Sums of a message are
        the whole.
        """
        raw = self.simulation.frames(self.streams[name])
        if "read_ps" not in raw:
            return {}
        guests = np.flatnonzero(np.any(raw["read_ps"] != results.NONE, axis=1))
        seq = seq[seq < raw["seq"].size]
        seq = seq[np.all(raw["read_ps"][guests][:, seq] != results.NONE, axis=0)]
        if not seq.size or not guests.size:
            return {}
        due_ps = (raw["txtime_ns"][seq] - self.epoch_ns) * 1000
        times = {key: raw[key][guests][:, seq] for key in ("arrival_ps", "handed_ps", "read_ps")}
        times |= {key: raw[key][seq] for key in ("submit_ps", "queued_ps") if key in raw}
        if self.scenario.sync.by_ptp:
            times = {key: self._network_time(value) for key, value in times.items()}
        queued_ps = times.get("queued_ps", times["submit_ps"])
        found = {
            "application, stack, queue": queued_ps - due_ps,
            "datapath out": times["submit_ps"] - queued_ps,
            "wire": times["arrival_ps"] - times["submit_ps"],
            "datapath in": times["handed_ps"] - times["arrival_ps"],
            "stack, application": times["read_ps"] - times["handed_ps"],
            "whole": times["read_ps"] - due_ps,
        }
        return {name: values for name, values in found.items() if np.any(values)}

    def _network_time(self, times_ps: IntArray) -> IntArray:
        """True times as network time since the epoch; what did not happen stays so."""
        flat = np.ascontiguousarray(times_ps).reshape(-1)
        network = np.asarray(self.simulation.network_time(flat), dtype=np.int64)
        converted: IntArray = np.where(flat == results.NONE, results.NONE, network).reshape(
            times_ps.shape
        )
        return converted

    def used_sources(self) -> dict[str, list[Sourced]]:
        """Of every station and bridge, the numbers that mattered in the run that has been: stages
        gone through.
        """
        used = {}
        for name, entries in self.sources.items():
            node = self.nodes[name.rpartition(" (")[0]]
            if name.endswith("(bridge)"):
                used[name] = entries
                continue
            raw = self.simulation.station(node)
            used[name] = [
                entry for entry in entries if entry.was_used(raw["host_draws"], raw["host_tails"])
            ]
        return used

    def clocked(self) -> list[str]:
        """Nodes whose clocks PTP sets or distributes."""
        if not self.scenario.sync.by_ptp:
            return []
        bridges = (
            [bridge.name for bridge in self.scenario.bridge]
            if self.scenario.sync.mode == "gptp"
            else []
        )
        return [station.name for station in self.scenario.station] + bridges
