# SPDX-License-Identifier: BSD-3-Clause
"""How late programs of this machine hand frames over, and how late its stamps of received frames
are: what keepon-talk and keepon-listen see, as keys of a [[station]] of a scenario.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepon_host import interrupts
from keepon_host.checkout import found_program
from keepon_host.errors import ConfigError, EnvironmentProblemError
from keepon_host.hold import holding
from keepon_host.interface import check_name
from keepon_host.testbed import machine
from keepon_host.testbed.children import Children
from keepon_host.testbed.clocks import Phc

FRAMES_MIN, FRAMES_MAX = 1_000, 1_000_000
"""Fewer have no 99.9 %."""
PERIOD_US_MAX = 1_000_000
FIFO, FIFO_MAX = 80, 99
"""As the talkers of `keepon run --target host`."""
NET = Path("/sys/class/net")
SLACK_S = 5.0
"""A listener waits this much longer than frames are sent."""
TAIL = 0.001
"""Share of values that are the tail."""
NORMAL_99 = 2.3263
"""What 99 % of a standard normal distribution are below."""


@dataclass(frozen=True)
class Asked:
    """What is to be measured.

    Attributes:
        nic: card that frames are sent on; None: a veth pair.
        peer: interface at the other end of its cable; None: nobody listens.
        fifo: priority of the sender's thread in SCHED_FIFO; 0: SCHED_OTHER.
    """

    nic: str | None
    peer: str | None
    seconds: float
    period_us: int
    fifo: int

    @property
    def frames(self) -> int:
        return int(self.seconds * 1_000_000 / self.period_us)

    def check(self) -> None:
        """Raises ConfigError: an option is out of its range."""
        if self.peer is not None and self.nic is None:
            raise ConfigError("option --peer: is for a CARD; name that, or leave it out")
        for what, name in (("argument CARD", self.nic), ("option --peer", self.peer)):
            if name is not None:
                check_name(what, name)
        if self.peer is not None and self.peer == self.nic:
            raise ConfigError(f"option --peer = {self.peer}: must differ from CARD; name another")
        if not 1 <= self.period_us <= PERIOD_US_MAX:
            raise ConfigError(
                f"option --period-us = {self.period_us}: must be 1 to {PERIOD_US_MAX}"
            )
        if not 0 <= self.fifo <= FIFO_MAX:
            raise ConfigError(f"option --fifo = {self.fifo}: must be 0 to {FIFO_MAX}")
        if not FRAMES_MIN <= self.seconds * 1_000_000 / self.period_us <= FRAMES_MAX:
            raise ConfigError(
                f"option --seconds = {self.seconds:g}: must be"
                f" {FRAMES_MIN * self.period_us / 1e6:g} to {FRAMES_MAX * self.period_us / 1e6:g}"
                f" with --period-us {self.period_us}, which is {FRAMES_MIN} to {FRAMES_MAX} frames"
            )


@dataclass(frozen=True)
class Latencies:
    """What was seen, in ns.

    Attributes:
        wakeup: from the instant of the timer to the system call that sends.
        stack: from there to the driver's stamp.
        rx: of received frames, software's stamp less `rx_from`.
        missing: frames that never came, of those sent.
    """

    wakeup: list[int]
    stack: list[int]
    rx: list[int]
    rx_from: str
    missing: int


def host(asked: Asked) -> str:
    """Measure, and tell it as TOML.

    Raises:
        ConfigError: an option is wrong.
        EnvironmentProblemError: a program, an interface or a right is lacking.
    """
    asked.check()
    if os.geteuid():
        raise EnvironmentProblemError("only root may send frames and set priorities; use sudo")
    with _place(asked) as (sender, receiver):
        return text(asked, _measured(asked, sender, receiver))


@contextmanager
def _place(asked: Asked) -> Iterator[tuple[tuple[str, str], tuple[str, str] | None]]:
    """Namespace and interface of the sender, and of the listener if there is one."""
    with ExitStack() as stack:
        if asked.nic is not None:
            for name in filter(None, (asked.nic, asked.peer)):
                stack.enter_context(holding(name))
                _check_up(name)
            yield ("", asked.nic), ("", asked.peer) if asked.peer else None
            return
        # Both in one, Linux 6.1 leaves the txtime where the software stamp belongs.
        ends = [(f"keepon-measure-{os.getpid()}{end}", end) for end in "ab"]
        for space, _ in ends:
            with interrupts.deferred():
                machine.ip("", "netns", "add", space)
                stack.callback(_delete, space)
        words = ["link", "add", "name", "a", "type", "veth", "peer", "name", "b"]
        machine.ip(ends[0][0], *words, "netns", ends[1][0])
        for space, end in ends:
            machine.ip(space, "link", "set", "dev", end, "up")
        yield ends[0], ends[1]


def _delete(space: str) -> None:
    with interrupts.deferred():
        machine.ip("", "netns", "del", space)


def _check_up(name: str) -> None:
    try:
        is_up = (NET / name / "carrier").read_text() == "1\n"
    except OSError:  # there is no such interface, or it is down
        is_up = False
    if not is_up:
        raise EnvironmentProblemError(
            f"{name} has no link; ip link lists interfaces, and ip link set {name} up sets it up"
        )


def _measured(asked: Asked, sender: tuple[str, str], receiver: tuple[str, str] | None) -> Latencies:
    count = str(asked.frames)
    common = ["--stream", "keepon-measure", "--count", count, "--records", count, "--json", "-"]
    with tempfile.TemporaryDirectory(prefix="keepon-measure-") as place, ExitStack() as stack:
        folder, phc = Path(place), -1
        children = Children(folder)
        stack.callback(children.end)
        if receiver is not None:
            words = [found_program("keepon-listen"), receiver[1], *common]
            words += ["--duration", f"{round((asked.seconds + SLACK_S) * 1000)}ms"]
            listener = children.start("keepon-listen", receiver[0], words, "listen.json")
            children.await_said(listener, "listening on")
            phc, _, _ = machine.clock_of(*receiver)
        words = [found_program("keepon-talk"), sender[1], *common, "--no-txtime", "--sw-stamps"]
        words += ["--period", f"{asked.period_us}us"]
        words += ["--fifo", str(asked.fifo)] if asked.fifo else []
        offsets = [_offset_ns(phc)]
        children.start("keepon-talk", sender[0], words, "talk.json")
        while not children.ended():
            pass
        offsets.append(_offset_ns(phc))
        heard = json.loads((folder / "listen.json").read_text()) if receiver is not None else None
        return latencies(json.loads((folder / "talk.json").read_text()), heard, offsets)


def _offset_ns(phc: int) -> int:
    """A clock less CLOCK_TAI; 0 where there is none."""
    if phc < 0:
        return 0
    clock = Phc(phc)
    try:
        return clock.offset().offset_ns
    finally:
        clock.close()


def latencies(
    talk: dict[str, Any], listen: dict[str, Any] | None, offsets_ns: list[int]
) -> Latencies:
    """What two result files say (docs/tools.md).

    Args:
        talk: of the sender, sleep release.
        listen: of the listener; None: there was none.
        offsets_ns: the listener's clock less CLOCK_TAI, before the first frame and after the last.
    """
    sent = {frame["seq"]: frame for frame in talk["frames"] if frame["sw_stamp_ns"] is not None}
    in_hardware = listen is not None and listen["stamp_source"] == "hardware"
    rx = []
    for frame in listen["frames"] if listen is not None else ():
        place = frame["seq"] / max(1, len(talk["frames"]) - 1)
        off_ns = round(offsets_ns[0] + place * (offsets_ns[-1] - offsets_ns[0]))
        if in_hardware:
            came_ns = None if frame["rx_stamp_ns"] is None else frame["rx_stamp_ns"] - off_ns
        else:
            came_ns = sent[frame["seq"]]["sw_stamp_ns"] if frame["seq"] in sent else None
        if came_ns is not None and frame["sw_stamp_ns"] is not None:
            rx.append(frame["sw_stamp_ns"] - came_ns)
    heard = {frame["seq"] for frame in listen["frames"]} if listen is not None else set(sent)
    return Latencies(
        [frame["submitted_ns"] - frame["txtime_ns"] for frame in talk["frames"]],
        [frame["sw_stamp_ns"] - frame["submitted_ns"] for frame in sent.values()],
        rx,
        "hardware's of the same frame" if in_hardware else "the sender's driver's, wire included",
        len(talk["frames"]) - len(heard),
    )


def stage(values_ns: list[int]) -> dict[str, int | float]:
    """Keys of a stage of the host model (docs/scenario.md): base and log-normal body below its
    99.9 %, a tail of what is above, and the greatest seen as the cap.
    """
    ordered = sorted(max(0, each) for each in values_ns)
    most = math.ceil((1 - TAIL) * len(ordered))
    base_ns, above = ordered[0], ordered[most:]
    body = [each - base_ns for each in ordered[:most]]
    median_ns, high_ns = body[len(body) // 2], body[math.ceil(0.99 * len(ordered)) - 1]
    spread = math.log(high_ns / median_ns) / NORMAL_99 if median_ns else 0.0
    tail_ns = round(sum(above) / len(above)) - base_ns - median_ns if above else 0
    return {
        "base_ns": base_ns, "median_ns": median_ns, "sigma": round(min(spread, 5.0), 3),
        "tail_probability": round(len(above) / len(ordered), 6), "tail_mean_ns": tail_ns,
        "cap_ns": ordered[-1], "limit_ns": body[-1],
    }  # fmt: skip


SHARES = (("least", 0.0), ("50 %", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("greatest", 1.0))


def _row(name: str, values_ns: list[int]) -> str:
    """Percentiles by nearest rank."""
    ordered = sorted(values_ns)
    at = [ordered[max(0, math.ceil(share * len(ordered)) - 1)] for _, share in SHARES]
    return f"# {name:8}" + "".join(f"{each:>10}" for each in at)


def text(asked: Asked, seen: Latencies) -> str:
    """Keys for a [[station]], below a remark on how they were measured.

    Raises:
        EnvironmentProblemError: too few frames have the stamps that it needs.
    """
    is_heard = asked.nic is None or asked.peer is not None
    if len(seen.stack) < FRAMES_MIN or (is_heard and len(seen.rx) < FRAMES_MIN):
        raise EnvironmentProblemError(
            f"{len(seen.stack)} frames of {asked.frames} have a stamp of the driver and"
            f" {len(seen.rx)} came with one, fewer than {FRAMES_MIN}; look at cable and driver"
            " (keepon doctor)"
        )
    over = "a veth pair" if asked.nic is None else asked.nic
    to = f" to {asked.peer}" if asked.peer else ""
    how = f"SCHED_FIFO {asked.fifo}" if asked.fifo else "SCHED_OTHER"
    lines = [
        f"# keepon measure host: Linux {platform.release()}, {asked.frames} frames over {over}{to},"
        f" one each {asked.period_us} us,",
        f"# {how}, beside what else the machine did; {seen.missing} frames missing. Keys of a"
        " [[station]]:",
        f"# {'ns':8}" + "".join(f"{name:>10}" for name, _ in SHARES),
        _row("wakeup", seen.wakeup) + "   timer of the program to its system call",
        _row("stack", seen.stack) + "   from there to the driver's stamp",
    ]
    keys = {"wakeup": seen.wakeup, "stack": seen.stack}
    if seen.rx:
        lines.append(_row("rx", seen.rx) + f"   software's stamp less {seen.rx_from}")
    if seen.rx and asked.nic is not None:
        keys["rx"] = seen.rx
        lines.append(f"ingress_latency_ns = {round(sum(seen.rx) / len(seen.rx))}")
    else:
        lines.append("# rx and ingress_latency_ns: only with CARD and --peer, by its interrupts")
    for name, values in keys.items():
        pairs = ", ".join(f"{key} = {value}" for key, value in stage(values).items())
        lines.append(f"host.{name} = {{ {pairs} }}")
    return "\n".join(lines)
