# SPDX-License-Identifier: BSD-3-Clause
"""ptp4l's configuration for the nodes of a plan whose clocks are set by PTP (ptp4l(8))."""

from __future__ import annotations

import math
from collections.abc import Iterator

from keepon.model.scenario import Scenario, Station, Sync
from keepon.model.topology import Topology

# In which order nodes would lead: the plan's grandmaster, then bridges. 255 says of a node that it
# cannot (IEEE Std 802.1AS-2020 clause 8.6.2.1).
GRANDMASTER_PRIORITY, OTHER_PRIORITY, NEVER_PRIORITY = 100, 248, 255
# gPTP takes what receive stamps of software are late for a part of the cable.
SOFTWARE_DELAY_NS = 100_000


def log_interval(interval_ms: int) -> int:
    """The power of two, in s, that is nearest to an interval.

    >>> log_interval(125), log_interval(1000), log_interval(30)
    (-3, 0, -5)
    """
    return round(math.log2(interval_ms / 1000))


def config_name(node: str) -> str:
    return f"{node}-ptp4l.cfg"


def _servo(sync: Sync) -> Iterator[str]:
    yield f"clock_servo {'linreg' if sync.servo == 'linreg' else 'pi'}"
    yield f"step_threshold {sync.step_threshold_ns / 1e9:.9f}"
    yield f"first_step_threshold {sync.first_step_threshold_ns / 1e9:.9f}"
    for gain in ("proportional", "integral"):
        for part in ("scale", "exponent", "norm_max"):
            yield f"pi_{gain}_{part} {getattr(sync, f'pi_{gain}_{part}'):g}"


def _transport(scenario: Scenario) -> Iterator[str]:
    sync = scenario.sync
    delay_log = log_interval(sync.delay_interval_ms)
    if sync.mode == "gptp":
        yield from (
            "network_transport L2", "delay_mechanism P2P", "transportSpecific 0x1",
            "ptp_dst_mac 01:80:C2:00:00:0E", "path_trace_enabled 1", "follow_up_info 1",
            f"logMinPdelayReqInterval {delay_log}",
        )  # fmt: skip
        return
    # A keepon link pads its frames; ptp4l drops a message over Ethernet that has padding behind it,
    # which only keepon links take off again.
    padded = any(station.driver == "keepon" for station in scenario.station)
    bare = any(station.driver != "keepon" for station in scenario.station)
    yield f"network_transport {'UDPv4' if padded and bare else 'L2'}"
    yield "delay_mechanism E2E"
    yield f"logMinDelayReqInterval {delay_log}"


def config(
    scenario: Scenario,
    node: str,
    ports: list[str],
    socket_priority: int | None,
    station: Station | None,
) -> str:
    """ptp4l's configuration of a node.

    Args:
        scenario: whose `sync.mode` is one of PTP's.
        node: its name.
        ports: devices that take part.
        socket_priority: SO_PRIORITY of its messages; None: as everything else.
        station: the node, if it is a keepon station, whose stamps are software's.
    """
    sync = scenario.sync
    leads = node == sync.grandmaster
    priority = OTHER_PRIORITY if len(ports) > 1 else NEVER_PRIORITY
    lines = [
        f"# {node} of scenario {scenario.name}; the servo is the one the plan was tried with.",
        "[global]",
        "domainNumber 0",
        f"priority1 {GRANDMASTER_PRIORITY if leads else priority}",
        f"priority2 {OTHER_PRIORITY}",
        f"uds_address /run/ptp4l-{node}",
        "tx_timestamp_timeout 100",
        "assume_two_step 1",
        "logAnnounceInterval 0",
        f"logSyncInterval {log_interval(sync.interval_ms)}",
        "syncReceiptTimeout 3",
        "fault_reset_interval ASAP",
        f"delay_filter_length {sync.delay_filter_samples}",
        *_transport(scenario),
        *_servo(sync),
    ]
    if sync.mode == "gptp":
        lines.append(f"gmCapable {int(leads or len(ports) > 1)}")
    elif not leads:
        lines.append("slaveOnly 1")
    if socket_priority is not None:
        lines.append(f"socket_priority {socket_priority}")
    if station is not None:
        wires = Topology(scenario).wires
        cable_ns = max(wire.propagation_ns for ends, wire in wires.items() if node in ends)
        lines.append(f"neighborPropDelayThresh {SOFTWARE_DELAY_NS + cable_ns}")
    for port in ports:
        lines.append(f"[{port}]")
        if station is not None:
            lines.append(f"ingressLatency {station.ingress_latency_ns}")
            lines.append(f"egressLatency {station.egress_latency_ns}")
    return "\n".join(lines) + "\n"
