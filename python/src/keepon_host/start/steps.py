# SPDX-License-Identifier: BSD-3-Clause
"""The steps that make a machine a station, as data: keepon.export writes them as a shell script,
`keepon start` carries them out.

Needs are looked at before the first step. Devices are names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from keepon_host.errors import ConfigError, TraceError, one_line
from keepon_host.link.options import ip_words

STEPS_SCHEMA = "keepon.steps/1"
PACKAGES = {
    "modprobe": "kmod",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "ptp4l": "linuxptp",
    "phc2sys": "linuxptp",
    "phc_ctl": "linuxptp",
}
"""Debian's packages of the programs."""
CARRIER_WAIT_S = 15
MULTIQUEUE_MIN = 2
"""Transmit queues without which Linux sets no mqprio and no taprio, however many these use."""
STEP_S = 0.001
"""Of phc2sys: from which error on it steps the system's clock."""


# ---- needs ----


@dataclass(frozen=True)
class Program:
    """A program of PATH."""

    name: str


@dataclass(frozen=True)
class Free:
    """A name that no device has; `remedy` says how to get rid of one."""

    device: str
    remedy: str


@dataclass(frozen=True)
class LinkType:
    """Links of kind keepon."""


@dataclass(frozen=True)
class Queues:
    """Transmit queues of a device; `otherwise` says what is not possible with fewer."""

    device: str
    count: int
    otherwise: str

    @property
    def remedy(self) -> str:
        """What is not possible with fewer, and how to have more."""
        return (
            f"{self.otherwise}; have more by ethtool -L {self.device} combined {self.count} (or tx"
            f" {self.count}), or of a veth by numtxqueues as it is made"
        )


@dataclass(frozen=True)
class Clock:
    """A PTP hardware clock of the device; `otherwise` says what needs it."""

    device: str
    otherwise: str


@dataclass(frozen=True)
class Scheduler:
    """A queueing discipline of the kernel, by its name."""

    qdisc: str


Need = Program | Free | LinkType | Queues | Clock | Scheduler


def kind_of(words: Sequence[str]) -> str:
    """Which queueing discipline a command of tc makes.

    >>> kind_of("tc qdisc add dev rt0 root handle 100: mqprio num_tc 2".split())
    'mqprio'
    """
    rest = iter(words)
    for word in rest:
        if word in ("dev", "handle", "parent"):
            next(rest)
        elif word not in ("tc", "qdisc", "add", "replace", "root"):
            return word
    raise ValueError(f"no queueing discipline in {' '.join(words)}")


# ---- steps ----


@dataclass(frozen=True)
class Told:
    """A line that explains what follows."""

    text: str


@dataclass(frozen=True)
class Module:
    """A module of the kernel, loaded unless it is there."""

    name: str


@dataclass(frozen=True)
class PauseOff:
    """No PAUSE frames, either way; skipped where the card has none."""

    device: str


@dataclass(frozen=True)
class EeeOff:
    """No energy-efficient Ethernet; skipped where the card has none."""

    device: str


@dataclass(frozen=True)
class Linked:
    """Up, with a link of this rate (0: of any) within CARRIER_WAIT_S."""

    device: str
    rate_mbps: int


@dataclass(frozen=True)
class AddKeepon:
    """A keepon link on a card; `options` as `ip link add` reads them."""

    nic: str
    device: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class SetUp:
    """A device that an earlier step made is set up."""

    device: str


@dataclass(frozen=True)
class RootQueues:
    """The queueing discipline at a device's root; `words` as tc(8) reads them."""

    device: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class LeafQueues:
    """One below RootQueues."""

    device: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class QueueBytes:
    """Bytes that may wait in a transmit queue of a card at least; skipped without such a limit."""

    device: str
    queue: int
    count_bytes: int

    @property
    def file(self) -> str:
        return f"/sys/class/net/{self.device}/queues/tx-{self.queue}/byte_queue_limits/limit_min"


@dataclass(frozen=True)
class AddVlan:
    """A VLAN device without an ID, which makes a PCP of SO_PRIORITY; `pairs` are priority:PCP."""

    lower: str
    device: str
    pairs: tuple[str, ...]


@dataclass(frozen=True)
class ChooseStamps:
    """Stamps of hardware if the device has a PTP hardware clock, else of software; followed by
    what says "auto".
    """

    device: str


@dataclass(frozen=True)
class Ptp4l:
    """ptp4l with a file of `Setup.files`; `stamps` is "-H", "-S" or "auto"."""

    node: str
    config: str
    stamps: str


@dataclass(frozen=True)
class Phc2sys:
    """CLOCK_TAI of programs, and of etf, is the time of the device; with `stamps` "auto" only if
    that has a clock. It steps when PTP has stepped that.
    """

    node: str
    device: str
    stamps: str

    @property
    def words(self) -> list[str]:
        return ["-s", self.device, "-c", "CLOCK_REALTIME", "-O", "0", "-S", f"{STEP_S:g}", "-m"]


@dataclass(frozen=True)
class WriteFile:
    """A file that others read as long as all is set up."""

    path: str
    text: str


Step = (
    Told | Module | PauseOff | EeeOff | Linked | AddKeepon | SetUp | RootQueues | LeafQueues
    | QueueBytes | AddVlan | ChooseStamps | Ptp4l | Phc2sys | WriteFile
)  # fmt: skip
Daemon = Ptp4l | Phc2sys


@dataclass(frozen=True)
class Setup:
    """All of a station.

    Attributes:
        title: what it is, in words.
        nic: the card.
        device: the keepon link, or the card itself where it needs none.
        files: texts that programs read, by name.
    """

    title: str
    nic: str
    device: str
    needs: tuple[Need, ...]
    steps: tuple[Step, ...]
    files: dict[str, str] = field(default_factory=dict)


def words(step: Step) -> list[str]:
    """The command of a step that is one command, as ip(8), tc(8) and ethtool(8) read it; of others
    nothing.
    """
    match step:
        case Module(name):
            return ["modprobe", name]
        case PauseOff(device):
            return f"ethtool -A {device} autoneg off rx off tx off".split()
        case EeeOff(device):
            return f"ethtool --set-eee {device} eee off".split()
        case Linked(device) | SetUp(device):
            return f"ip link set dev {device} up".split()
        case AddKeepon(nic, device, options):
            return ["ip", *ip_words(nic, device, options)]
        case AddVlan(lower, device, pairs):
            added = f"ip link add link {lower} name {device} type vlan id 0 egress-qos-map"
            return [*added.split(), *pairs]
        case RootQueues(_, given) | LeafQueues(_, given):
            return list(given)
        case Phc2sys():
            return ["phc2sys", *step.words]
    return []


_NEEDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Need)}
_STEPS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Step)}
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("must be a text", lambda value: isinstance(value, str)),
    "int": ("must be a whole number from 0", lambda value: type(value) is int and value >= 0),
    "tuple[str, ...]": (
        "must be a list of texts",
        lambda value: isinstance(value, list | tuple)
        and all(isinstance(each, str) for each in value),
    ),
    "line": (
        "must be a line of text", lambda value: isinstance(value, str) and value.isprintable()
    ),
    "list": ("must be a list", lambda value: isinstance(value, list)),
    "dict[str, str]": (
        "must be texts by name",
        lambda value: isinstance(value, dict)
        and all(isinstance(each, str) for each in value.values()),
    ),
}  # fmt: skip
"""Of the types that fields of needs and steps have, and of keys of the document."""
_KEYS = {
    "schema": "str", "title": "line", "nic": "line", "device": "line", "needs": "list",
    "steps": "list", "files": "dict[str, str]",
}  # fmt: skip


def _entries(parts: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"kind": type(part).__name__, **asdict(part)} for part in parts]


def _check(at: str, found: Any, types: Mapping[str, str]) -> None:
    """Raises TraceError: a key is unknown, missing or of another type."""
    if not isinstance(found, dict):
        raise TraceError(f"key `{at}` = {one_line(found)}: must be a table")
    prefix = f"{at}." if at else ""
    for key in found:
        if key not in types:
            raise TraceError(
                f"key `{prefix}{one_line(key)}`: is unknown; known are {', '.join(types)}"
            )
    for key, kind in types.items():
        rule, fits = _RULES[kind]
        if key not in found:
            raise TraceError(f"key `{prefix}{key}` is missing; it {rule}")
        if not fits(found[key]):
            raise TraceError(f"key `{prefix}{key}` = {one_line(json.dumps(found[key]))}: {rule}")


def _parts(key: str, entries: list[Any], kinds: Mapping[str, type[Any]]) -> tuple[Any, ...]:
    made = []
    for number, entry in enumerate(entries):
        at = f"{key}[{number}]"
        kind = entry.get("kind") if isinstance(entry, dict) else entry
        if not isinstance(kind, str) or kind not in kinds:
            raise TraceError(
                f"key `{at}.kind` = {one_line(json.dumps(kind))}: must be one of {', '.join(kinds)}"
            )
        _check(
            at, entry, {"kind": "str"} | {each.name: str(each.type) for each in fields(kinds[kind])}
        )
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in entry.items()
            if name != "kind"
        }
        made.append(kinds[kind](**values))
    return tuple(made)


def to_document(setup: Setup) -> dict[str, Any]:
    """A setup as `keepon.steps/1`.

    >>> card = Setup("a card", "eth0", "eth0", (Program("ip"),), (PauseOff("eth0"),))
    >>> of_document(to_document(card)) == card
    True
    """
    return {
        "schema": STEPS_SCHEMA, "title": setup.title, "nic": setup.nic, "device": setup.device,
        "needs": _entries(setup.needs), "steps": _entries(setup.steps), "files": setup.files,
    }  # fmt: skip


def of_document(document: dict[str, Any]) -> Setup:
    """The setup of a document.

    Raises:
        TraceError: it is no `keepon.steps/1`: key, value and rule.
    """
    _check("", document, _KEYS)
    if document["schema"] != STEPS_SCHEMA:
        raise TraceError(f"key `schema` = {one_line(document['schema'])}: must be {STEPS_SCHEMA}")
    return Setup(
        document["title"], document["nic"], document["device"],
        _parts("needs", document["needs"], _NEEDS), _parts("steps", document["steps"], _STEPS),
        document["files"],
    )  # fmt: skip


_REMEDY = "write one with keepon start --dry-run --json"


def read(path: Path) -> Setup:
    """The steps in a file, as keepon start --dry-run --json prints them.

    Raises:
        ConfigError: it cannot be read, or is no JSON.
        TraceError: it has no steps.
    """
    try:
        return of_document(json.loads(path.read_text()))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except TraceError as error:
        raise TraceError(f"{path}: {error}; {_REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is no file of steps ({one_line(error)}); {_REMEDY}") from error
