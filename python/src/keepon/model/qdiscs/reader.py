# SPDX-License-Identifier: BSD-3-Clause
"""Commands of tc as trees of qdiscs: the published ones, those of a scenario's `qdisc`, and those
of our own scripts.

    tc qdisc add|replace dev DEVICE root|parent PARENT [handle HANDLE] KIND OPTIONS

What is not known is refused, not passed over: file, line, word, and what may stand there. So is a
sequence of commands that Linux does not carry out. A deletion of what is not there changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.qdiscs import classful, options
from keepon.model.qdiscs.options import Limits, Words
from keepon.model.qdiscs.tree import Etf, Mqprio, Qdisc, Taprio, Tree
from keepon.model.qdiscs.words import Word, commands

KINDS: dict[str, Callable[[Word, Words], Qdisc]] = {
    "mqprio": classful.mqprio,
    "taprio": classful.taprio,
    "etf": options.etf,
    "cbs": options.cbs,
    "guard": options.guard,
    "pfifo": options.pfifo,
    "bfifo": options.bfifo,
    "pfifo_fast": options.pfifo_fast,
    "fq_codel": options.fq_codel,
}
ACTIONS = ("add", "replace", "del")
HANDLE_MAX = 0xFFFE
FIRST_HANDLE = 0x8001  # that Linux chooses
NONE = Limits()


class Stands(NamedTuple):
    """What is at a place, "root" or "parent 100:1". `handle` 0: not known."""

    place: str
    qdisc: Qdisc | None
    handle: int


class Trees(dict[str, Tree]):
    """Trees by device. `single`: one device only. `limits`: of all devices."""

    def __init__(self, *, single: bool = False, limits: Limits = NONE) -> None:
        super().__init__()
        self._single = single
        self.limits = limits

    def of(self, device: Word) -> Tree:
        if self._single and self and device.text not in self:
            raise device.refuse(
                f"is another device than {next(iter(self))}; a station has one port"
            )
        return self.setdefault(device.text, Tree(device.text))


def read(path: Path) -> dict[str, Tree]:
    """Trees of a file's commands, by device. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return parse(text, str(path))


def parse(text: str, name: str, *, only_tc: bool = True) -> dict[str, Tree]:
    """Trees of a text's commands, by device.

    Args:
        name: what messages begin with.
        only_tc: refuse commands of other programs; if not, as in a script, pass over them.

    Raises:
        ConfigError: one sentence with file, line, word, and what may stand there.
    """
    return _parsed(text, name, Trees(), only_tc=only_tc)


def parse_one(text: str, name: str, limits: Limits = NONE) -> Tree:
    """The tree of a text about one device. Raises as `parse`."""
    return next(iter(_parsed(text, name, Trees(single=True, limits=limits)).values()))


def _parsed(text: str, name: str, trees: Trees, *, only_tc: bool = True) -> Trees:
    for words in commands(text, name):
        if words[0].text == "tc":
            _command(words, trees)
        elif only_tc:
            raise words[0].refuse("is not tc; give commands of the form tc qdisc add ...")
    if not trees and only_tc:
        raise ConfigError(f"{name}: has no command; give tc qdisc add dev DEVICE root KIND ...")
    return trees


def _command(command: list[Word], trees: Trees) -> None:
    words = Words(command, trees.limits)
    tc = words.take()
    word = words.take(tc, "qdisc")
    while word.text in ("-n", "-netns"):
        words.take(word, "a namespace")
        word = words.take(tc, "qdisc")
    if word.text != "qdisc":
        raise word.refuse("tc's qdisc is what is read; write tc qdisc add ...")
    action = words.take(word, f"one of {', '.join(ACTIONS)}")
    if action.text not in ACTIONS:
        raise action.refuse(f"must be one of {', '.join(ACTIONS)}")
    _placed(action, words, trees)


def _placed(action: Word, words: Words, trees: Trees) -> None:
    """Device, parent, handle and qdisc of a command."""
    device = parent = handle = None
    kind: Word | None = None
    while words and kind is None:
        word = words.take()
        if word.text == "dev":
            device = words.take(word, "a device")
        elif word.text == "root":
            parent = word
        elif word.text == "parent":
            parent = words.take(word, "root or a class such as 100:1")
        elif word.text == "handle":
            handle = words.take(word, "a handle such as 100:")
        else:
            kind = word
    if device is None:
        raise action.refuse("names no device; add dev DEVICE")
    if parent is None:
        raise action.refuse("says not where; add root, or parent with a class such as 100:1")
    tree = trees.of(device)
    if action.text == "del":
        _removed(tree, parent)
        return
    if kind is None:
        raise action.refuse(f"names no qdisc; add one of {', '.join(KINDS)}")
    if kind.text not in KINDS:
        raise kind.refuse(f"is no qdisc that is known here; known are {', '.join(KINDS)}")
    _set(tree, action, parent, handle, KINDS[kind.text](kind, words), kind)


def _removed(tree: Tree, parent: Word) -> None:
    if parent.text == "root":
        tree.root, tree.handle, tree.leaves, tree.leaf_handles = None, 0, {}, {}
    else:
        queue = _queue(tree, parent)
        tree.leaves.pop(queue, None)
        tree.leaf_handles.pop(queue, None)


def _number(word: Word, text: str, least: int) -> int:
    """A handle or a class, in hexadecimal as tc has them."""
    value = options.whole(text, 16)
    if value is None or not least <= value <= HANDLE_MAX:
        raise word.refuse(
            f"must be HANDLE: or HANDLE:CLASS, hexadecimal numbers from {least} to {HANDLE_MAX:x}"
        )
    return value


def _queue(tree: Tree, parent: Word) -> int:
    """The transmit queue of a class."""
    major, _, minor = parent.text.partition(":")
    classes = tree.classes
    if classes is None:
        raise parent.refuse(
            f"{tree.device} has no classes yet; add mqprio or taprio as its root before"
        )
    if _number(parent, major, 1) != tree.handle:
        raise parent.refuse(
            f"the root of {tree.device} has handle {tree.handle:x}:; write {tree.handle:x}:1"
        )
    queue = _number(parent, minor, 1) - 1
    most = max(classes.tx_queues, classes.count)
    if queue >= most:
        raise parent.refuse(
            f"there is no such class; {tree.device} has {tree.handle:x}:1 to"
            f" {tree.handle:x}:{most:x}, one for each transmit queue"
        )
    return queue


def _set(
    tree: Tree, action: Word, parent: Word, handle: Word | None, qdisc: Qdisc, kind: Word
) -> None:
    number = 0 if handle is None else _number(handle, handle.text.removesuffix(":"), 1)
    if parent.text == "root":
        stands = Stands("root", tree.root, tree.handle)
        if _is_changed(action, kind, tree, stands, number, qdisc):
            tree.root = qdisc
        else:
            tree.root, tree.leaves, tree.handle = qdisc, {}, number or FIRST_HANDLE
            tree.leaf_handles = {}
        return
    if isinstance(qdisc, Mqprio | Taprio):
        raise kind.refuse("is the root of a device and nothing else; write root for its parent")
    queue = _queue(tree, parent)
    others = [tree.handle, *(own for at, own in tree.leaf_handles.items() if at != queue)]
    if number and number in others:
        raise action.refuse(f"handle {number:x}: is another qdisc's; choose one that is free")
    if number and action.text == "add" and isinstance(tree.root, Taprio):
        raise action.refuse(
            "Linux 6.1 takes no handle here, as taprio has put a fifo into its classes; write"
            " replace, which all take, or leave handle out"
        )
    place = f"parent {parent.text}"
    stands = Stands(place, tree.leaves.get(queue), tree.leaf_handles.get(queue, 0))
    if not _is_changed(action, kind, tree, stands, number, qdisc):
        tree.leaf_handles[queue] = number
    tree.leaves[queue] = qdisc


def _is_changed(
    action: Word, kind: Word, tree: Tree, stands: Stands, handle: int, new: Qdisc
) -> bool:
    """Whether a command changes the qdisc that stands, and does not put another in its place.

    Args:
        handle: what the command names; 0: none.

    Raises:
        ConfigError: Linux refuses it, or the old qdisc would take classes or offload away as it
            goes, after the new one has set them up (kernel/tests/qdisc_sequences.txt).
    """
    old = stands.qdisc
    if old is None:
        return False
    remedy = f"delete it first: tc qdisc del dev {tree.device} {stands.place}"
    if action.text == "add":
        raise action.refuse(f"there is a qdisc already; {remedy}")
    alike = type(old) is type(new) and getattr(old, "kind", "") == getattr(new, "kind", "")
    if alike and handle in (0, stands.handle):
        if isinstance(new, Mqprio | Etf):
            raise kind.refuse(f"Linux does not change it while it stands; {remedy}")
        if isinstance(old, Taprio) and isinstance(new, Taprio) and old.classes != new.classes:
            raise kind.refuse(f"Linux does not change its classes while it stands; {remedy}")
        return True
    if handle and handle == stands.handle:
        raise kind.refuse(f"handle {handle:x}: is that of another kind of qdisc; {remedy}")
    if isinstance(old, Mqprio | Taprio) and isinstance(new, Mqprio | Taprio):
        raise kind.refuse(f"the root that stands would take the device's classes away; {remedy}")
    if type(old) is type(new) and getattr(old, "offload", False) and getattr(new, "offload", False):
        raise kind.refuse(f"the qdisc that stands would take the offload away; {remedy}")
    return False
