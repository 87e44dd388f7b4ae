# SPDX-License-Identifier: BSD-3-Clause
"""Which transmit queue of a talker's device has what, and by which SO_PRIORITY it gets there."""

from __future__ import annotations

from dataclasses import dataclass

from keepon.errors import ConfigError
from keepon.model.qdiscs import stations
from keepon.model.qdiscs.tree import Tree
from keepon.model.scenario import Scenario, Station

PRIORITIES = 16
PRIORITY_MAX = PRIORITIES - 1
TOS = {6: 0x10, 4: 0x18, 2: 0x08}
"""Types of service by the priority that IP makes of them: ip_tos2prio of Linux, tc-prio(8)."""


@dataclass(frozen=True)
class Queues:
    """Queues of a station's device, one for each traffic class that the device knows.

    Attributes:
        of_class: queue of each of the scenario's traffic classes that has streams.
        priority: SO_PRIORITY of streams by traffic class and PCP. They come from above: above 6
            needs CAP_NET_ADMIN, and what is below IP makes of a packet's type of service.
        ptp_priority: that of PTP's messages, if they have a queue apart from all else.
        load_priority: that of loads by their traffic class, where that is not best effort's; one of
            TOS, as who sends them needs no rights.
        map: queue by SO_PRIORITY; all that no stream has is best effort's.
        count: of queues.
        best_effort: the queue of all else.
    """

    of_class: dict[int, int]
    priority: dict[tuple[int, int], int]
    ptp_priority: int | None
    load_priority: dict[int, int]
    map: tuple[int, ...]
    count: int
    best_effort: int


def queues_of(scenario: Scenario, station: Station, driver: str) -> Queues:
    """Queues of a station in a run in which it has this driver.

    A keepon device has 16 queues, one for each class by its number. Others may have few: streams'
    classes take the first of them, in order, and one more has everything else.

    Raises:
        ConfigError: SO_PRIORITY has too few values for the station's classes.
    """
    tree = stations.tree_of(station)
    if tree is not None:
        return _of_tree(scenario, station, tree)
    etf = is_behind_etf(station, driver)
    streams = [stream for stream in scenario.stream if stream.talker == station.name]
    classes = sorted({stream.tc for stream in streams})
    loads = [load.tc for load in scenario.load if load.talker == station.name]
    if driver == "keepon":
        of_class = {tc: tc for tc in classes}
        best_effort = _rest_class(station, classes if etf else [], classes)
        ptp = scenario.sync.tc if scenario.sync.by_ptp else best_effort
        of_load = {tc: tc for tc in loads}
    else:
        of_class = {tc: queue for queue, tc in enumerate(classes)}
        best_effort = ptp = len(classes)
        of_load = {tc: of_class.get(tc, best_effort) for tc in loads}
    all_else = "PTP" if scenario.sync.by_ptp else "all else"
    without_txtime = {queue: f"loads of class {tc}" for tc, queue in of_load.items()}
    without_txtime[ptp] = all_else
    dropped = [what for queue, what in without_txtime.items() if queue in of_class.values()]
    if etf and dropped:
        raise ConfigError(
            f'station "{station.name}": {" and ".join(dropped)} share a class with streams that'
            " etf is in front of, which drops what has no txtime; give them another tc"
        )
    named = sorted({(stream.tc, stream.priority) for stream in streams})
    priority = {pair: PRIORITY_MAX - number for number, pair in enumerate(named)}
    if len(named) > PRIORITY_MAX - (ptp != best_effort):
        raise ConfigError(
            f'station "{station.name}": its streams have {len(named)} pairs of traffic class and'
            f" PCP, each of which needs a value of SO_PRIORITY (0 to {PRIORITY_MAX}, beside those"
            " of PTP and of all else); give more of them the same priority"
        )
    levels = {level: of_class[tc] for (tc, _), level in priority.items()}
    ptp_priority = None
    if ptp != best_effort:
        ptp_priority = PRIORITY_MAX - len(named)
        levels[ptp_priority] = ptp
    apart = sorted(tc for tc, queue in of_load.items() if queue != best_effort)
    load_priority = dict(zip(apart, [each for each in TOS if each not in levels], strict=False))
    if len(load_priority) < len(apart):
        raise ConfigError(
            f'station "{station.name}": no SO_PRIORITY that IP makes of a type of service'
            f" ({', '.join(map(str, TOS))}) is left for its loads of class"
            f" {', '.join(str(tc) for tc in apart if tc not in load_priority)}; give them that of"
            " another load"
        )
    levels |= {level: of_load[tc] for tc, level in load_priority.items()}
    return Queues(
        of_class,
        priority,
        ptp_priority,
        load_priority,
        tuple(levels.get(level, best_effort) for level in range(PRIORITIES)),
        max(best_effort, ptp, *of_class.values(), *of_load.values()) + 1,
        best_effort,
    )


def _of_tree(scenario: Scenario, station: Station, tree: Tree) -> Queues:
    """As the station's own commands have it: priorities are those of their map. Streams of one
    class that differ in PCP have priorities of their own, as long as the map has some left.
    """
    streams = [stream for stream in scenario.stream if stream.talker == station.name]
    classes = tree.classes
    tcs = classes.map if classes is not None else (0,) * PRIORITIES
    priority: dict[tuple[int, int], int] = {}
    for pair in sorted({(stream.tc, stream.priority) for stream in streams}):
        levels = [level for level in range(PRIORITIES) if tcs[level] == pair[0] or classes is None]
        left = [level for level in levels if level not in priority.values()]
        priority[pair] = (left or levels)[-1]
    loads = [load.tc for load in scenario.load if load.talker == station.name]
    queues = tuple(stations.queue_of(tree, tc) for tc in tcs)
    ptp = stations.priority_of(tree, scenario.sync.tc) if scenario.sync.by_ptp else None
    return Queues(
        {stream.tc: stations.queue_of(tree, stream.tc) for stream in streams},
        priority,
        ptp,
        {},
        queues,
        classes.tx_queues if classes is not None else 1,
        stations.queue_of(tree, loads[0]) if loads else queues[0],
    )


def is_behind_etf(station: Station, driver: str) -> bool:
    """Whether etf is in front of the streams' queues, where the station has no commands of tc."""
    return station.release == "etf" or (station.release == "txtime" and driver != "keepon")


def _rest_class(station: Station, closed: list[int], streams: list[int]) -> int:
    """The class of best effort at a keepon station: one that has what no stream needs, and is not
    closed. If there is none, one without slots, so that nothing takes the slots of streams.
    """
    entries = station.keepon.classes
    rest = [entry.tc for entry in entries if entry.slots == "rest" and entry.tc not in closed]
    late = [entry.tc for entry in entries if entry.late == "reschedule" and entry.tc not in streams]
    named = {entry.tc for entry in entries} | set(streams)
    unnamed = [tc for tc in range(PRIORITIES) if tc not in named]
    return rest[-1] if rest else (late or unnamed or [PRIORITY_MAX])[0]
