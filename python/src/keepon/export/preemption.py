# SPDX-License-Identifier: BSD-3-Clause
"""Frame preemption of a bridge by Linux: ethtool's MAC Merge layer and `fp` of taprio or mqprio
(ethtool(8), tc-taprio(8), tc-mqprio(8)).
"""

from __future__ import annotations

from collections.abc import Iterator

from keepon.export import shell
from keepon.export.exported import Planned, Port, port_name
from keepon.model import preemption
from keepon.model.topology import Topology

_MCRC_BYTES = 4
"""ethtool's least fragment is without it: 60, 124, 188 or 252."""


def ungated_ports(planned: Planned) -> Iterator[Port]:
    """Ports that preempt and have no gate list."""
    topology = Topology(planned.scenario)
    for (name, peer), bridge in preemption.ports(planned.scenario).items():
        if "entries" not in planned.plan["bridges"][name]["ports"].get(peer, {}):
            yield Port(
                name, peer, port_name(topology, name, peer), topology.wires[name, peer].rate_bps, 0,
                (), tuple(map(bridge.class_of, range(8))), bridge.queues,
                preemption.queues_of(bridge),
            )  # fmt: skip


def words(port: Port) -> str:
    """Which classes are express and which preemptable, as tc reads it; nothing where all are
    express.

    >>> from keepon.export.exported import Port
    >>> words(Port("br", "a", "swp0", 10**9, 0, (), queues=4, preemptable=3))
    ' fp P P E E'
    """
    if not port.preemptable:
        return ""
    status = ("P" if port.preemptable >> tc & 1 else "E" for tc in range(port.queues))
    return f" fp {' '.join(status)}"


def mqprio(port: Port, levels: str, queues: str) -> Iterator[str]:
    """The queues of a port without gates."""
    yield f"# towards {port.peer}: frame preemption"
    yield from shell.set_root(
        port.name,
        f"tc qdisc replace dev {port.name} parent root handle 100 mqprio num_tc {port.queues}"
        f" \\\n\tmap {levels} \\\n\tqueues {queues} \\\n\tmode dcb hw 1{words(port)}",
    )


def mac_merge(planned: Planned, name: str) -> Iterator[str]:
    """Both halves of the MAC Merge layer at each port of a bridge that preempts; the neighbour is
    asked whether it can, and only then it does.
    """
    topology = Topology(planned.scenario)
    for (here, peer), bridge in preemption.ports(planned.scenario).items():
        if here == name:
            yield (
                f"ethtool --set-mm {port_name(topology, here, peer)} pmac-enabled on tx-enabled on"
                f" verify-enabled on tx-min-frag-size {bridge.min_fragment_bytes - _MCRC_BYTES}"
            )


def notes(planned: Planned) -> Iterator[str]:
    """What the scripts need, and what they leave alone."""
    ports = preemption.ports(planned.scenario)
    if not ports:
        return
    gated = any(
        "hold" in entry
        for bridge in planned.plan["bridges"].values()
        for port in bridge["ports"].values()
        for entry in port.get("entries", [])
    )
    held = (
        " and, for HOLD in gate lists (sched-entry H and R), iproute2 6.13 and a driver that takes"
        " it, such as stmmac"
        if gated
        else ""
    )
    yield (
        f"frame preemption needs switches with 802.1Qbu, ethtool 6.3 and iproute2 6.4{held};"
        " ethtool --show-mm says whether the neighbour has answered"
    )
    stations = [s.name for s in planned.scenario.station if any(s.name == p for _, p in ports)]
    if stations:
        yield (
            f"{', '.join(stations)}: the card must put fragments together (ethtool --set-mm ..."
            " pmac-enabled on), which the scripts leave alone"
        )
