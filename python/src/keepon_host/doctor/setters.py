# SPDX-License-Identifier: BSD-3-Clause
"""Which running programs set the system's clock, as their command lines and files say."""

from __future__ import annotations

import getopt
import re
from dataclasses import dataclass, field

from keepon_host.doctor.tree import Process, Tree

NTP = ("systemd-timesyncd", "chronyd", "ntpd", "openntpd", "ntp-daemon")
"""They set it by NTP, or by what a reference clock hands them; ntp-daemon is ntpd-rs."""
SYSTEM_CLOCK = "CLOCK_REALTIME"
FOR_OTHERS = ("ntpshm", "refclock_sock")
"""Servos of linuxptp that set nothing: they hand what they measured to an NTP program."""
OPTIONS = {
    "chronyd": "46df:F:hl:L:mnpP:qQrRst:u:Uvx",
    "phc2sys": "arC:c:d:f:s:E:P:I:S:F:R:N:O:L:M:i:u:wn:xz:l:t:mqvh",
    "ptp4l": "AEP246HSLf:i:p:sl:mqvh",
}
"""Of chronyd(8), phc2sys(8) and ptp4l(8); a letter and a colon: with a value."""
RENAMED = {"masterOnly": "serverOnly", "slaveOnly": "clientOnly"}
"""Names of linuxptp before version 4."""
NO_PORTS = ("[global]", "[unicast_master_table]")
"""Sections of linuxptp's files that are no port's."""
PRIORITY1, CLOCK_CLASS = 128, 248
"""linuxptp's defaults; what is lower is set for a clock that is to become the grandmaster."""
LEADING_CLASS_MAX = 127
"""A clock of such a class follows no other one (IEEE Std 1588-2019, state decision algorithm)."""


@dataclass(frozen=True)
class Given:
    """What a program was started with.

    Attributes:
        letters: options of one letter with their values, in their order.
        settings: linuxptp's settings: of its file, and of the command line, which go first.
        ports: those of each port that a file or the command line names, which go before.
    """

    letters: list[tuple[str, str]]
    settings: dict[str, str] = field(default_factory=dict)
    ports: dict[str, dict[str, str]] = field(default_factory=dict)

    def has(self, letter: str) -> bool:
        return any(name == letter for name, _ in self.letters)

    def values(self, *letters: str) -> list[str]:
        return [value for name, value in self.letters if name in letters]

    def on(self, setting: str) -> bool:
        """Of all its ports."""
        each = [port.get(setting, self.settings.get(setting)) for port in self.ports.values()]
        return set(each or [self.settings.get(setting)]) == {"1"}

    def number(self, setting: str, default: int) -> int:
        try:
            return int(self.settings.get(setting, ""), 0)
        except ValueError:
            return default


@dataclass(frozen=True)
class Setters:
    """Programs that set the clock.

    Attributes:
        certain: they do.
        either: they do only while ptp4l follows another clock. phc2sys -a -r -r has the PHC follow
            the system's clock otherwise; a ptp4l with stamps of software may become the
            grandmaster.
    """

    certain: list[Process]
    either: list[Process]


def running(tree: Tree) -> Setters | None:
    """None: it cannot be seen which programs run."""
    found = tree.running(*NTP, "phc2sys", "ptp4l")
    if found is None:
        return None
    setting = {each: sets(tree, each) for each in found}
    return Setters(
        [each for each, does in setting.items() if does],
        [each for each, does in setting.items() if does is None],
    )


def given(tree: Tree, process: Process) -> Given:
    """What it was started with; nothing of a version that has other options."""
    words = iter((tree.text(f"proc/{process.number}/cmdline") or "").split("\0")[1:])
    short, long = [], {}
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.removeprefix("--").partition("=")
            long[name] = value if equals else next(words, "")
        else:
            short.append(word)
    try:
        letters = getopt.gnu_getopt(short, OPTIONS[process.name])[0]
    except getopt.GetoptError:
        letters = []
    files = [value for name, value in letters if name == "-f" and process.name != "chronyd"]
    sections = _sections(tree, process, files[-1]) if files else {}
    ports: dict[str, dict[str, str]] = {value: {} for name, value in letters if name == "-i"}
    ports |= {name[1:-1]: found for name, found in sections.items() if name not in NO_PORTS}
    return Given(letters, sections.get(NO_PORTS[0], {}) | _renamed(long), ports)


def _renamed(settings: dict[str, str]) -> dict[str, str]:
    return {RENAMED.get(name, name): value for name, value in settings.items()}


def _sections(tree: Tree, process: Process, file: str) -> dict[str, dict[str, str]]:
    """Settings of each section of a file of linuxptp."""
    place = file.lstrip("/") if file.startswith("/") else f"proc/{process.number}/cwd/{file}"
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for line in (tree.text(place) or "").splitlines():
        name, *value = line.split(None, 1)[:2] or ["#"]
        if name.startswith("["):
            lower = name.lower()
            section = found.setdefault(lower if lower in NO_PORTS else name, {})
        elif value:
            section |= _renamed({name: value[0].strip()})
    return found


def sets(tree: Tree, process: Process) -> bool | None:
    """Does it set the system's clock? None: only while ptp4l follows another clock."""
    if process.name not in OPTIONS:
        return True
    its = given(tree, process)
    if process.name == "chronyd":
        return not any(map(its.has, ("-x", "-Q", "-p")))
    if _sets_nothing(its):
        return False
    if process.name == "ptp4l":
        stamps = [name for name, _ in its.letters if name in ("-H", "-S", "-L")][-1:]
        software = stamps == ["-S"] or (
            not stamps and its.settings.get("time_stamping") == "software"
        )
        leads = _leads(its)
        return (None if leads is None else not leads) if software else False
    if its.has("-a"):
        return _by_roles(tree, its)
    return _direction(its) == 1


def ahead_s(tree: Tree, process: Process) -> int | None:
    """How far a phc2sys keeps the system's clock ahead of the PHC, in s, by option -O; None: it
    has no such option, or does not keep the two together.
    """
    its = given(tree, process)
    offset = its.values("-O")[-1:]
    if _sets_nothing(its) or not offset or not re.fullmatch(r"[+-]?\d+", offset[0]):
        return None
    direction = _direction(its)
    return direction * int(offset[0]) if direction else None


def _sets_nothing(its: Given) -> bool:
    """Of linuxptp's programs."""
    servo = its.values("-E")[-1:] or [its.settings.get("clock_servo", "")]
    return its.on("free_running") or servo[0] in FOR_OTHERS


def _direction(its: Given) -> int:
    """Of phc2sys without -a. 1: the system's clock follows a PHC; -1: a PHC follows it; 0: none."""
    sinks = its.values("-c") or [SYSTEM_CLOCK]
    if SYSTEM_CLOCK in its.values("-s", "-i"):
        return -1 if set(sinks) - {SYSTEM_CLOCK} else 0
    return 1 if SYSTEM_CLOCK in sinks else 0


def _follows(its: Given) -> bool:
    """Does a ptp4l never lead?"""
    return its.has("-s") or its.on("clientOnly")


def _leads(its: Given) -> bool | None:
    """Does a ptp4l never follow another clock? None: it is to lead, and follows a better one."""
    if _follows(its):
        return False
    clock_class = its.number("clockClass", CLOCK_CLASS)
    if its.on("serverOnly") or clock_class <= LEADING_CLASS_MAX:
        return True
    preferred = clock_class < CLOCK_CLASS or its.number("priority1", PRIORITY1) < PRIORITY1
    return None if preferred else False


def _by_roles(tree: Tree, its: Given) -> bool | None:
    """Of phc2sys -a: with -r it sets the system's clock, with two it may follow it instead."""
    if not its.has("-r") or its.values("-C")[-1:] not in ([], [SYSTEM_CLOCK]):
        return False
    if len(its.values("-r")) == 1:
        return True
    roles = [given(tree, each) for each in tree.running("ptp4l") or []]
    if any(map(_follows, roles)):
        return True
    return False if roles and all(map(_leads, roles)) else None
