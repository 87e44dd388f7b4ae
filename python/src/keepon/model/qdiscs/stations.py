# SPDX-License-Identifier: BSD-3-Clause
"""What `qdisc` of a station says: its tree, and where in it a traffic class is."""

from __future__ import annotations

from functools import lru_cache

from keepon.errors import ConfigError
from keepon.model.qdiscs import reader
from keepon.model.qdiscs.tree import PRIORITIES, Etf, Fifo, Qdisc, Taprio, Tree
from keepon.model.stationtables import Station

_NAME = "qdisc"


@lru_cache(maxsize=64)
def _tree(text: str) -> Tree:
    return reader.parse_one(text, _NAME)


def tree_of(station: Station) -> Tree | None:
    """The tree; None where the station leaves its qdiscs to `release`. Read when it was loaded."""
    return None if station.qdisc is None else _tree(station.qdisc)


def cycle_ns(text: str | None) -> int | None:
    """Of the taprio of a station's commands; None: there is none."""
    root = None if text is None else _tree(text).root
    return root.cycle_ns if isinstance(root, Taprio) else None


def queue_of(tree: Tree, tc: int) -> int:
    """Transmit queue of a traffic class."""
    return tree.classes.queues[tc][1] if tree.classes is not None else 0


def leaf_of(tree: Tree, tc: int) -> Qdisc:
    """The leaf of a class. Linux puts a fifo where no other was asked for."""
    if tree.classes is None:
        assert tree.root is not None, "a tree that was read and is used has a root"
        return tree.root
    return tree.leaves.get(queue_of(tree, tc), Fifo("pfifo"))


def priority_of(tree: Tree, tc: int) -> int | None:
    """The highest SO_PRIORITY of a class; None: it has none, so that no program can send in it."""
    if tree.classes is None:
        return 0
    levels = [level for level in range(PRIORITIES) if tree.classes.map[level] == tc]
    return levels[-1] if levels else None


def launches(station: Station, tc: int) -> bool:
    """Whether a launch-time NIC gets the txtimes of a class: its etf is offloaded."""
    tree = tree_of(station)
    leaf = None if tree is None else leaf_of(tree, tc)
    return leaf is None or (isinstance(leaf, Etf) and leaf.offload)


def assisted(tree: Tree) -> bool:
    return isinstance(tree.root, Taprio) and tree.root.txtime_assist


def delta_ns(tree: Tree) -> int:
    """The greatest delta of its etf."""
    return max([0, *(etf.delta_ns for etf in _etfs(tree))])


def held_back_ns(tree: Tree) -> int | None:
    """How long before its time a frame is handed on at the earliest: delta of etf, the greatest;
    None if nothing holds frames back.
    """
    return delta_ns(tree) if _etfs(tree) else None


def held_back_place(tree: Tree) -> str:
    """Where that is in the station's text, and what it is called: "line 3: delta"."""
    etf = max(_etfs(tree), key=lambda etf: etf.delta_ns)
    return f"{etf.delta_place.removeprefix(f'{_NAME}: ')}: delta"


def _all(tree: Tree) -> list[Qdisc]:
    return [qdisc for qdisc in (tree.root, *tree.leaves.values()) if qdisc is not None]


def _etfs(tree: Tree) -> list[Etf]:
    return [qdisc for qdisc in _all(tree) if isinstance(qdisc, Etf)]


def has_etf(text: str) -> bool:
    """Whether there is etf in a station's commands."""
    return bool(_etfs(_tree(text)))


def by_timers(tree: Tree) -> bool:
    """Whether timers of the CPU are the gates: taprio in software. Linux ends the timer when the
    link goes, and no gate opens any more before the schedule is given again (dev_deactivate(),
    taprio_reset(); seen on 6.1 and 6.12).
    """
    root = tree.root
    return isinstance(root, Taprio) and not root.txtime_assist and not root.full_offload


def stops_if_up(tree: Tree) -> bool:
    """Whether Linux stops the gates if the qdiscs are put to a device that is up: to put one into a
    class of taprio in software resets the device's qdiscs, which ends taprio's timer
    (taprio_graft(), taprio_reset(); seen on 6.1 and 6.12).
    """
    return by_timers(tree) and bool(tree.leaves)


def check_put_to_up(where: str, station: Station) -> None:
    """Refuse qdiscs that would send nothing, as they are put to a device that is up.

    Raises:
        ConfigError: one sentence.
    """
    tree = tree_of(station)
    if tree is not None and stops_if_up(tree):
        raise ConfigError(
            f"{where}.qdisc`: Linux stops the gates of taprio in software when a qdisc is put into"
            " one of its classes while the device is up, as here; leave the classes as they are,"
            " or take flags 0x1 or 0x2"
        )


def check_real(where: str, station: Station) -> None:
    """Refuse what no kernel has, and devices that are not ours to set up.

    Raises:
        ConfigError: one sentence.
    """
    if station.driver == "foreign":
        raise ConfigError(
            f'{where}.driver` = "foreign": must be a driver of Linux here; take target sim, or'
            ' "standard" with release = "sleep"'
        )
    if station.guest is not None:
        raise ConfigError(
            f"{where}.guest`: is a model of the simulator; take target sim, or run keepon-talk in"
            " the virtual machine itself"
        )
    if station.release == "reschedule":
        raise ConfigError(
            f'{where}.release` = "reschedule": no kernel has it; take target sim, or "txtime"'
        )
