# SPDX-License-Identifier: BSD-3-Clause
"""A run between machines that a command reaches, such as `ssh HOST`: keepon-talk on one, and
keepon-listen on others. Interfaces are used as they are: nothing is set up, nor put back.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line
from keepon_host.interface import check_name
from keepon_host.link.commands import KIND
from keepon_host.testbed import machine
from keepon_host.testbed.children import Children
from keepon_host.testbed.job import ASSUMED, BASE, MAC, OUT, Job
from keepon_host.testbed.session import filled

REACH_S = 30.0
"""For a connection and what asks for a password."""
PATIENCE_S = 20.0
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._:-]*")
"""One word for any shell, and no option."""


@dataclass(frozen=True)
class End:
    """An interface of a machine.

    Attributes:
        host: as the command names the machine; "": this one.
        by: words in front of a command for it.
    """

    host: str
    by: tuple[str, ...]
    interface: str

    @staticmethod
    def read(what: str, text: str, by: str) -> End:
        """Of HOST:INTERFACE or INTERFACE; {} in `by` is the host.

        Raises:
            ConfigError: it has another form.
        """
        host, _, interface = text.rpartition(":")
        check_name(f"{what}: interface", interface)
        if host and not HOST.fullmatch(host):
            raise ConfigError(
                f'{what} = "{one_line(text)}": its host must be of letters, digits, "@", ".", "_",'
                ' ":" and "-"; write HOST:INTERFACE, or INTERFACE of this machine'
            )
        words = by.split() if host else []
        if host and not any("{}" in word for word in words):
            raise ConfigError(f'option --by = "{one_line(by)}": must have {{}} for the host')
        return End(host, tuple(word.replace("{}", host) for word in words), interface)

    def answer(self, *words: str) -> str:
        """What a command says there.

        Raises:
            CommandFailedError: the machine is not reached, or the command's own sentence.
        """
        return machine.command([*self.by, *words]).decode(errors="replace")

    @cached_property
    def shown(self) -> dict[str, Any]:
        """`ip link show`; raises as `answer`, or EnvironmentProblemError: it has no link."""
        (found,) = json.loads(self.answer("ip", "-d", "-j", "link", "show", "dev", self.interface))
        if "LOWER_UP" not in found["flags"]:
            raise EnvironmentProblemError(
                f"{self.interface} of {self.host or 'this machine'} has no link; set it up there,"
                " and look at its cable"
            )
        return dict(found)

    @property
    def is_keepon(self) -> bool:
        return bool(self.shown.get("linkinfo", {}).get("info_kind") == KIND)

    def stamps_sent(self) -> bool:
        """Does it stamp what it sends? Where there is no ethtool, no."""
        try:
            return "hardware-transmit" in self.answer("ethtool", "-T", self.interface)
        except machine.CommandFailedError:
            return False


def run(
    job: Job, folder: Path, tell: Callable[[float], None] = lambda share: None,
    *, ends: dict[str, End],
) -> None:  # fmt: skip
    """As `session.run`, of one talker and one listener; `ends`: interface of each station."""
    (talker,), (listener,) = job.talkers, job.listeners
    sent, heard = f"talk-{talker.name}.json", f"listen-{listener.name}.json"
    sender, receiver = ends[talker.station], ends[listener.station]
    count, offset = (talker.words[talker.words.index(each) + 1] for each in ("--count", "--offset"))
    lasting_s = (job.total_ns + job.drain_ns) / 1e9 + PATIENCE_S
    children = Children(folder)
    try:
        words = filled([*receiver.by, *listener.words, "--count", count], {f"{OUT}{heard}": "-"})
        # By then all have come; a connection to the talker may take a while.
        words[words.index("--duration") + 1] = f"{round(lasting_s * 1000)}ms"
        child = children.start("the listener", "", words, heard)
        children.await_said(child, "listening on", REACH_S)
        # The grid of its clock, which is not known here.
        known = {f"{OUT}{sent}": "-", BASE: "0", MAC: receiver.shown["address"]}
        words = [*sender.by, *filled(talker.words, known), "--sw-stamps"]
        words += ["--hw-stamps"] if sender.stamps_sent() else []
        begun_s = time.monotonic()
        children.start("the talker", "", words, sent)
        while not children.ended():
            past_s = time.monotonic() - begun_s
            tell(min(0.99, past_s * 1e9 / job.total_ns))
            if past_s > lasting_s + REACH_S:
                raise EnvironmentProblemError("the programs of the run did not come to their end")
    finally:
        children.end()
    first_ns = int(json.loads((folder / sent).read_text())["first_txtime_ns"])
    (folder / "base_ns").write_text(str(first_ns - int(offset)))
    offsets = {talker.station: [0, job.clock_limit_ns]} if job.sync == ASSUMED else {}
    stations = {
        name: {"interface": end.interface, "host": end.host or "this machine"}
        for name, end in ends.items()
    }
    kernels = dict.fromkeys(end.answer("uname", "-r").strip() for end in ends.values())
    documents: dict[str, object] = {
        "clocks.json": {"readings": [{"tai_ns": 0, "offsets_ns": offsets}]},
        "machine.json": {"kernel": ", ".join(kernels), "stations": stations},
        **{f"stats-{name}.json": {end.interface: {}} for name, end in ends.items()},
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
