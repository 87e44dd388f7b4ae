# SPDX-License-Identifier: BSD-3-Clause
"""`keepon start` and `keepon stop`."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from keepon_host import bind
from keepon_host import journal as journals
from keepon_host.errors import ConfigError, EnvironmentProblemError, KeeponError, shell_word
from keepon_host.guarded import guarded
from keepon_host.hold import lock
from keepon_host.interface import ROLLBACK_MAX_S, answers, client_over, has_carrier, until
from keepon_host.journal import STARTED, Journal
from keepon_host.start import before, direct, driver, needs, perform, undo
from keepon_host.start.steps import Module, Ptp4l, Setup, WriteFile

ROLLBACK_S = 30.0
Say = Callable[[str], None]


def start(
    setup: Setup,
    wanted: str,
    rollback_s: float,
    dry_run: bool,
    say: Say,
    unit: str = "",
) -> str:
    """Set an interface up; a line on what was done.

    Args:
        setup: its steps.
        wanted: which driver, one of driver.CHOICES.
        rollback_s: within how many seconds the card's link, and the other end of an ssh connection
            over it, are back.
        dry_run: only say what would be done.
        say: takes lines for the user.
        unit: for the journal.

    Raises:
        ConfigError: something is wrong with what was asked for; nothing was touched.
        EnvironmentProblemError: something is lacking, a step failed, or the connection is lost;
            everything is as it was, or the message says what is not.
        KeyboardInterrupt: everything is as it was.
    """
    if not 0 < rollback_s <= ROLLBACK_MAX_S:
        raise ConfigError(
            f"option --rollback = {rollback_s:g}: must be above 0 and at most {ROLLBACK_MAX_S:g}"
            " seconds"
        )
    nic = setup.nic
    needs.check_there(nic)
    way = driver.NATIVE
    if setup.device != nic:
        way = driver.way(nic, wanted)
        setup = direct.through_generic(setup) if way == driver.GENERIC else setup
        setup = replace(setup, steps=(Module("keepon"), *setup.steps))
    if dry_run:
        moved = [f"keepon bind {shell_word(nic)}"] if way == driver.BIND else []
        say("\n".join([f"# {setup.title}", *moved, *perform.shown(setup)]))
        needs.check(setup.needs)
        return "nothing was changed"
    needs.check_root()
    bound = _clear(nic, say)
    try:
        needs.check(setup.needs)
        if way == driver.BIND:
            say(f"driver  {bind.bind(nic, rollback_s).partition(';')[0]}")
            bound = True
        _start(setup, rollback_s, say, unit, bound)
    except BaseException:
        if bound:
            with suppress(KeeponError):
                say(f"driver  {bind.unbind(nic, rollback_s)}")
        raise
    return f"{nic} has {setup.title}; keepon stop {shell_word(nic)} takes it away"


def _clear(nic: str, say: Say) -> bool:
    """What an earlier keepon start has left on the interface: refused if that came to its end, put
    back if not. Whether that one had given the card to Keepon's driver.
    """
    path = journals.path_of(journals.netns(), socket.if_nametoindex(nic))
    held = lock(path.with_suffix(".lock"), nic)
    try:
        earlier = journals.read(path)
        if earlier is None:
            return False
        if earlier.state == STARTED:
            raise EnvironmentProblemError(
                f"{nic} is set up already, as {earlier.title}; put that back first with keepon stop"
                f" {shell_word(nic)}"
            )
        undo.undo(earlier)
        say(f"an earlier keepon start had ended half-way on {nic}; that was put back first")
        return earlier.bound
    finally:
        os.close(held)


def _start(setup: Setup, rollback_s: float, say: Say, unit: str, bound: bool) -> None:
    nic = setup.nic
    journal = Journal(
        journals.netns(), socket.if_nametoindex(nic), nic, setup.title, boot=journals.boot(),
        mark=uuid.uuid4().hex, unit=unit, bound=bound, ptp=_ptp(setup),
        rest=[index for index, _ in socket.if_nameindex()],
    )  # fmt: skip
    held = lock(journal.path.with_suffix(".lock"), nic)
    try:
        journal.undo = before.of_setup(setup)
        client = client_over(nic)
        if client and not answers(client):
            client = ""  # it never does: the carrier alone is looked at
        journals.save(journal)

        def work() -> str:
            for number, step in enumerate(setup.steps):
                journal.begun = number + 1
                journals.save(journal)
                perform.perform(step, setup, journal.mark)
                if line := perform.done(step, setup):
                    say(line)
            _check_reached(nic, client, rollback_s)
            journals.save(replace(journal, state=STARTED))
            return ""

        def back() -> None:
            undo.undo(journals.read(journal.path) or journal)

        guarded(work, back, f"{nic} is as it was")
    finally:
        os.close(held)


def _ptp(setup: Setup) -> str:
    """The file of its ptp4l; "": it has none."""
    for step in setup.steps:
        if isinstance(step, Ptp4l):
            return str(journals.FOLDER / step.config)
        if isinstance(step, WriteFile) and step.path.endswith("-ptp4l.cfg"):
            return step.path
    return ""


def _check_reached(nic: str, client: str, rollback_s: float) -> None:
    """Raises EnvironmentProblemError: what was there before does not come back."""
    deadline_s = time.monotonic() + rollback_s
    if not until(deadline_s, lambda: has_carrier(nic)):
        raise EnvironmentProblemError(f"{nic} has lost its link")
    if client and not until(deadline_s, lambda: answers(client)):
        raise EnvironmentProblemError(f"{client}, from where you are logged in, does not answer")


def stop(name: str | None) -> str:
    """Put back what was there before keepon start; lines on what was done.

    Raises:
        ConfigError: nothing was set up there.
        EnvironmentProblemError: something cannot be put back.
    """
    needs.check_root()
    try:
        journal = journals.named(name)
    except ConfigError as error:
        if name is not None and _is_ours(name):
            raise ConfigError(
                f"{error}; its driver is Keepon's: keepon unbind {shell_word(name)}"
            ) from error
        raise
    lines: list[str] = []
    held = lock(journal.path.with_suffix(".lock"), journal.nic)
    try:
        if found := journals.read(journal.path):
            lines += undo.undo(found)
    finally:
        os.close(held)
    nic = journal.name
    if journal.bound and nic and _is_ours(nic):
        lines.append(bind.unbind(nic))
    half = "" if journal.state == STARTED else "half-done "
    return "\n".join([*lines, f"{nic or journal.nic} is as it was before {half}{journal.title}"])


def _is_ours(name: str) -> bool:
    with suppress(ConfigError):
        return bind.find(name).driver in bind.DRIVERS.values()
    return False
