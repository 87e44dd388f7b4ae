# SPDX-License-Identifier: BSD-3-Clause
"""A cable, or a network, between interfaces of two machines, measured by one stream: a scenario of
two stations, run as target host runs one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from keepon_host.testbed import remote
from keepon_host.testbed.job import ASSUMED, Job
from keepon_host.testbed.remote import End

from keepon.model.loading import parse
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.targets.host.places import Host, Place
from keepon.targets.host.target import ThisHost

NAME = "measure-link"
SENDER, RECEIVER = "sender", "receiver"
PROGRAMS = {name: name for name in ("keepon-talk", "keepon-listen")}
"""As the other machine finds them."""


def scenario(
    seconds: float, stream: dict[str, int], with_txtime: bool, has_clock: bool
) -> Scenario:
    """What is sent; `stream`: keys of its [[stream]].

    Raises:
        ConfigError: one is out of its range.
    """
    keys = "\n".join(f"{key} = {value}" for key, value in stream.items())
    text = f"""
schema = "keepon.scenario/1"
name = "{NAME}"
duration_s = {seconds}
sync.mode = "{"ideal" if has_clock else "none"}"
[[station]]
name = "{SENDER}"
driver = "standard"
host = "ideal"
release = "{"txtime" if with_txtime else "sleep"}"
[[station]]
name = "{RECEIVER}"
driver = "standard"
host = "ideal"
[[link]]
ends = ["{SENDER}", "{RECEIVER}"]
[[stream]]
id = "probe"
talker = "{SENDER}"
listeners = ["{RECEIVER}"]
{keys}
"""
    return parse(text, NAME)


@dataclass(frozen=True)
class Between(ThisHost):
    """The target.

    Attributes:
        ends: interface of sender and receiver.
        priority: SO_PRIORITY of frames.
        fifo: priority of the sender in SCHED_FIFO; 0: a normal process.
    """

    ends: dict[str, End] = field(default_factory=dict)
    priority: int = 0
    fifo: int = 0

    def job(self, scenario: Scenario, plan: Plan, driver: str) -> tuple[Host, Job]:
        host, job = super().job(scenario, plan, driver)
        links = frozenset(name for name, end in self.ends.items() if end.is_keepon)
        sync = "free" if self.limit_ns is None else ASSUMED
        for talker in job.talkers:
            words = talker.words
            words[words.index("--priority") + 1] = str(self.priority)
            at = words.index("--fifo")
            words[at : at + 2] = ["--fifo", str(self.fifo)] if self.fifo else []
        return replace(host, keepon_links=links), replace(job, sync=sync)


def between(sender: End, receiver: End, within_ns: int | None, priority: int, fifo: int) -> Between:
    """The target for two interfaces that are there.

    Args:
        within_ns: how far clocks may be apart; None: unknown.
        priority, fifo: of `Between`.

    Raises:
        EnvironmentProblemError: one is not reached, has no link or lacks keepon-tools.
    """
    ends = {SENDER: sender, RECEIVER: receiver}
    for end, program in zip(ends.values(), PROGRAMS, strict=True):
        assert end.shown
        end.answer(program, "--version")
    return Between(
        {name: Place("", end.interface) for name, end in ends.items()}, within_ns,
        keep_clocks=True, runner=partial(remote.run, ends=ends), programs=PROGRAMS, ends=ends,
        priority=priority, fifo=fifo,
    )  # fmt: skip
