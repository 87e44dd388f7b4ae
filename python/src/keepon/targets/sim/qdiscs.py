# SPDX-License-Identifier: BSD-3-Clause
"""A station's qdiscs as input of the simulator."""

from __future__ import annotations

from keepon._sim import LeafSpec, QdiscSpec, TaprioSpec
from keepon.errors import ConfigError
from keepon.model.qdiscs import stations
from keepon.model.qdiscs.tree import CLASSES_MAX, Cbs, Etf, Guard, Mqprio, Qdisc, Taprio, Tree
from keepon.model.scenario import Scenario, Station
from keepon.model.wire import JUMBO_BYTES_MAX

NIC_QUEUES = 8


def check(scenario: Scenario) -> None:
    """Refuse what the simulator has not.

    Raises:
        ConfigError: one sentence on the first of it.
    """
    for index, station in enumerate(scenario.station):
        tree = stations.tree_of(station)
        if tree is None:
            continue
        where = f'key `station[{index}].qdisc` (station "{station.name}")'
        if any(isinstance(qdisc, Cbs) for qdisc in (tree.root, *tree.leaves.values())):
            raise ConfigError(
                f"{where}: the simulator has no cbs in front of a driver; leave it out"
            )
        if isinstance(tree.root, Mqprio) and "launchtime" in (station.driver, *scenario.drivers()):
            _check_one_ring(where, scenario, station, tree)
        if not isinstance(tree.root, Taprio) or not tree.root.full_offload:
            continue
        if station.driver != "launchtime":
            raise ConfigError(
                f'{where}: the NIC of driver "{station.driver}" has no gates in the simulator'
                ' (flags 0x2); take driver "launchtime", or flags 0x1'
            )
        if tree.root.classes.tx_queues > NIC_QUEUES:
            raise ConfigError(
                f"{where}: the simulator's NIC with gates has {NIC_QUEUES} queues, and"
                f" {tree.root.classes.tx_queues} are asked for"
            )


def _check_one_ring(where: str, scenario: Scenario, station: Station, tree: Tree) -> None:
    launched = {
        stations.queue_of(tree, stream.tc): stream.id
        for stream in scenario.stream
        if stream.talker == station.name and stations.launches(station, stream.tc)
    }
    if len(launched) > 1:
        raise ConfigError(
            f"{where}: streams {' and '.join(launched.values())} have queues of their own with etf"
            " offloaded, and the simulator's NIC one ring for all launch times, to which their"
            " timers bring frames in any order; give them one class"
        )


def spec_of(scenario: Scenario, station: Station, driver: str) -> QdiscSpec | None:
    """None: the station leaves its qdiscs to `release`."""
    tree = stations.tree_of(station)
    if tree is None:
        return None
    reschedule = station.release == "reschedule"
    if tree.classes is None:
        assert tree.root is not None, "checked when it was loaded"
        return QdiscSpec(queues=[0] * CLASSES_MAX, leaves=[_leaf(tree.root, driver, reschedule)])
    count = tree.classes.count
    return QdiscSpec(
        queues=[stations.queue_of(tree, min(tc, count - 1)) for tc in range(CLASSES_MAX)],
        leaves=[
            _leaf(tree.leaves.get(queue), driver, reschedule)
            for queue in range(tree.classes.tx_queues)
        ],
        taprio=_taprio(tree.root) if isinstance(tree.root, Taprio) else None,
    )


def _leaf(qdisc: Qdisc | None, driver: str, reschedule: bool) -> LeafSpec:
    """Only an offloaded etf gives txtimes to a NIC with launch times; keepon reads them itself."""
    match qdisc:
        case Etf():
            return LeafSpec(
                kind="etf",
                keeps_txtime=driver == "keepon" or (driver == "launchtime" and qdisc.offload),
                delta_ns=qdisc.delta_ns,
                deadline_mode=qdisc.deadline_mode,
                skip_sock_check=qdisc.skip_sock_check,
                reschedule=reschedule,
            )
        case Guard():
            return LeafSpec(
                kind="guard",
                rate_bps=qdisc.rate_bps,
                mtu_bytes=qdisc.mtu_bytes or JUMBO_BYTES_MAX,
                fudge_ns=qdisc.fudge_ns,
                tolerance_ns=qdisc.tolerance_ns,
                limit_frames=qdisc.limit_frames,
                late=qdisc.late,
            )
    return LeafSpec(kind="fifo", keeps_txtime=driver == "keepon")


def _taprio(taprio: Taprio) -> TaprioSpec:
    """A base time counts by its phase: one that real clocks have reached may be later than the
    instant at which the simulation begins.
    """
    return TaprioSpec(
        base_ns=taprio.base_ns % taprio.cycle_ns,
        cycle_ns=taprio.cycle_ns,
        windows=taprio.entries,
        txtime_assist=taprio.txtime_assist,
        offload=taprio.full_offload,
        txtime_delay_ns=taprio.txtime_delay_ns,
    )
