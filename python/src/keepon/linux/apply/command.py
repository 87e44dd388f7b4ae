# SPDX-License-Identifier: BSD-3-Clause
"""`keepon apply`, its confirmation, and `keepon unapply`."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import keepon
from keepon.errors import ConfigError, EnvironmentProblemError, KeeponError, shell_word
from keepon.linux.apply import before, needs, perform, steps, undo
from keepon.linux.apply import journal as journals
from keepon.linux.apply.journal import APPLYING, KEEP, KEPT, UNDO, Journal
from keepon.linux.apply.steps import Setup
from keepon.linux.interface import ROLLBACK_MAX_S, answers, client_over, until

ROLLBACK_S = 60.0
SETTLE_S = 3.0
"""With --yes: how long link and connection are looked at before it is kept."""
READY_S = 30.0
END_S = 60.0
Say = Callable[[str], None]


class InterruptedWhileApplyingError(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP; everything is as it was."""


def with_routes(setup: Setup) -> Setup:
    """On a keepon link the card's own traffic goes by the link, as the card's transmit path is
    closed.
    """
    found: list[steps.Step] = []
    for number, step in enumerate(setup.steps):
        found.append(step)
        if isinstance(step, steps.SetUp) and isinstance(setup.steps[number - 1], steps.AddKeepon):
            found.append(steps.TakeRoutes(setup.nic, step.device))
    return replace(setup, steps=tuple(found))


def plan_text(setup: Setup) -> str:
    """Every command, before it is carried out."""
    return "\n".join([f"# {setup.title}", *perform.shown(setup)])


def apply(
    setup: Setup,
    rollback_s: float,
    yes: bool,
    dry_run: bool,
    say: Say,
    settle_s: float = SETTLE_S,
    unit: str = "",
) -> str:
    """Set an interface up as a station; a line on what was done.

    Args:
        setup: its steps; those that hold for every machine.
        rollback_s: within how many seconds it must be confirmed.
        yes: without confirmation, if link and connection hold for `settle_s`.
        dry_run: only say what would be done.
        say: takes lines for the user.
        unit: for the journal.

    Raises:
        ConfigError: something is wrong with what was asked for; nothing was touched.
        EnvironmentProblemError: something is lacking, or a step failed, or it was not confirmed;
            everything is as it was, or the message says what is not.
        InterruptedWhileApplyingError: everything is as it was.
    """
    check_rollback(rollback_s)
    needs.check_there(setup.nic)
    setup = with_routes(setup)
    if dry_run:
        say(plan_text(setup))
        needs.check(setup.needs)
        return "nothing was changed"
    needs.check_root()
    journal = Journal(
        journals.netns(), socket.if_nametoindex(setup.nic), setup.nic, setup.title,
        boot=journals.boot(), mark=uuid.uuid4().hex, unit=unit,
    )  # fmt: skip
    lock = _locked(journal)
    try:
        _clear(journal, say)
        needs.check(setup.needs)
        ends = before.check_ways(setup)
        journal.undo = before.of_setup(setup)
        journal.rest = [index for index, _ in socket.if_nameindex()]
        client = _client(setup.nic, yes)
        say("\n".join([plan_text(setup), *ends]))
        with _signals():
            end = _carried_out(
                journal,
                setup,
                lock,
                ("settle", settle_s) if yes else ("window", rollback_s),
                client,
                say,
            )
    finally:
        os.close(lock)
    return _concluded(journal, end, say)


def check_rollback(rollback_s: float) -> None:
    if not 0 < rollback_s <= ROLLBACK_MAX_S:
        raise ConfigError(
            f"option --rollback = {rollback_s:g}: must be above 0 and at most {ROLLBACK_MAX_S:g}"
            " seconds"
        )


def _locked(journal: Journal) -> int:
    lock = journals.lock(journal)
    if lock is not None:
        return lock
    if journals.read(journal.path) is None:
        raise EnvironmentProblemError(
            f"another keepon command is at work with {journal.nic}; wait for its end"
        )
    raise EnvironmentProblemError(
        f"another keepon apply is at work on {journal.nic}: confirm it with keepon apply"
        f" --confirm --iface {shell_word(journal.nic)}, or end it with keepon unapply"
        f" {shell_word(journal.nic)}"
    )


def _clear(journal: Journal, say: Say) -> None:
    """What an earlier keepon apply has left on the interface: refused if it was kept, put back if
    it is half done.
    """
    earlier = journals.read(journal.path)
    if earlier is None:
        journals.forget(journal)
        return
    if earlier.state == KEPT:
        raise EnvironmentProblemError(
            f"{journal.nic} is set up already, as {earlier.title}; put that back first with keepon"
            f" unapply {shell_word(journal.nic)}"
        )
    undo.undo(earlier)
    say(f"an earlier keepon apply had ended half-way on {journal.nic}; that was put back first")


def _client(nic: str, yes: bool) -> str:
    """Who is logged in over the interface and answers echoes."""
    client = client_over(nic)
    if not client or answers(client):
        return client
    if yes:
        raise EnvironmentProblemError(
            f"{client}, from where you are logged in over {nic}, does not answer ping, so that"
            " nobody could tell whether it comes back; allow it, or confirm yourself, without --yes"
        )
    return ""


@contextmanager
def _signals() -> Iterator[None]:
    """Whatever a terminal or a person ends this with must put everything back; once."""

    def ended(number: int, _frame: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise InterruptedWhileApplyingError(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    was = {number: signal.signal(number, ended) for number in numbers}
    try:
        yield
    finally:
        for number, handler in was.items():
            signal.signal(number, handler)


def _watched(journal: Journal, lock: int) -> socket.socket:
    """Our end of the socket of a new watcher."""
    ours, its = socket.socketpair()
    words = [
        sys.executable, "-S", "-m", "keepon.linux.apply.watcher", str(journal.path),
        str(its.fileno()),
    ]  # fmt: skip
    paths = [str(Path(keepon.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with its:
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(lock, its.fileno()), start_new_session=True, env=environment,
        )  # fmt: skip
    ours.settimeout(READY_S)
    try:
        if ours.recv(16) == b"ready\n":
            return ours
    except OSError:
        pass
    ours.close()
    raise EnvironmentProblemError("the process that would undo it does not start; nothing was done")


def _carried_out(
    journal: Journal, setup: Setup, lock: int, window: tuple[str, float], client: str, say: Say
) -> dict[str, Any]:
    """All steps and the time after them, `window` as the watcher is told of it; how it ended.

    Raises:
        KeeponError, KeyboardInterrupt: as `apply`; it is undone.
    """
    journals.save(journal)
    try:
        channel = _watched(journal, lock)
    except BaseException:
        undo.undo(journal)
        raise
    with channel:
        try:
            for number, step in enumerate(setup.steps):
                journal.begun = number + 1
                journals.save(journal)
                perform.perform(step, setup, journal.mark)
            verb, seconds = window
            _tell(channel, f"{verb} {seconds} {client}")
            asks = verb == "window"
            if asks:
                say(_question(setup.nic, seconds))
            return _answer(journal, channel, asks)
        except BaseException as error:
            why = str(error) if isinstance(error, KeeponError) else "interrupted"
            _tell(channel, f"undo {' '.join(why.split())}")
            end = _answer(journal, channel, False)
            if isinstance(error, KeeponError):
                return end
            if end["problem"]:
                raise EnvironmentProblemError(f"interrupted; and {end['problem']}") from error
            raise


def _tell(channel: socket.socket, text: str) -> None:
    """To the watcher; whether it is there to hear it is found out by _answer()."""
    with suppress(OSError):
        channel.sendall(f"{text}\n".encode())


def _question(nic: str, rollback_s: float) -> str:
    how = "press Enter" if sys.stdin is not None and sys.stdin.isatty() else "say"
    other = f"keepon apply --confirm --iface {shell_word(nic)}"
    return (
        f"done; {how}{' here, or say ' if how != 'say' else ' '}{other} within {rollback_s:g} s to"
        " keep it, or everything is put back"
    )


def _answer(journal: Journal, channel: socket.socket, ask: bool) -> dict[str, Any]:
    """What the watcher ends with; if it has gone without a word, what it would have done."""
    channel.settimeout(None)
    heard = b""
    asked = [sys.stdin] if ask and sys.stdin is not None and sys.stdin.isatty() else []
    while not heard.endswith(b"\n"):
        ready, _, _ = select.select([channel, *asked], [], [])
        if channel in ready:
            try:
                part = channel.recv(65536)
            except OSError:
                part = b""
            if not part:
                return _instead(journal)
            heard += part
        elif asked:
            if not sys.stdin.readline():  # the terminal has gone
                raise InterruptedWhileApplyingError
            asked = []
            _tell(channel, "keep")
    end: dict[str, Any] = json.loads(heard)
    return end


def _instead(journal: Journal) -> dict[str, Any]:
    """The watcher was killed: its work is ours."""
    end = {"verdict": UNDO, "why": "the process that watches it was killed", "problem": ""}
    found = journals.read(journal.path)
    if found is not None and found.state == KEPT:
        return {**end, "verdict": KEEP, "told": []}
    try:
        return {**end, "told": undo.undo(journal)}
    except KeeponError as error:
        return {**end, "told": [], "problem": str(error)}


def _concluded(journal: Journal, end: dict[str, Any], say: Say) -> str:
    if end["verdict"] == KEEP:
        return (
            f"{journal.nic} is {journal.title}; keepon unapply {shell_word(journal.nic)} puts back"
            " what was"
        )
    if end["problem"]:
        raise EnvironmentProblemError(f"{end['why']}; and {end['problem']}")
    there = f"{journal.nic} is as it was" if journal.name else "nothing is left of what was set up"
    raise EnvironmentProblemError(f"{end['why']}; {there}")


def confirm(name: str | None) -> str:
    """Keep what another keepon apply has set up and waits for.

    Raises:
        ConfigError: there is none, or it does not wait.
        EnvironmentProblemError: it was not kept.
    """
    needs.check_root()
    journal = journals.named(name)
    if journal.state == KEPT:
        return f"{journal.nic} is kept already, as {journal.title}"
    _end_by_asking(journal, KEEP)
    found = journals.read(journal.path)
    if found is None or found.state != KEPT:
        raise EnvironmentProblemError(f"{journal.nic} was not kept: it is as it was")
    return f"{journal.nic} is kept, as {journal.title}"


def _end_by_asking(journal: Journal, what: str) -> bool:
    """Ask the watcher, and wait for its end; False: there is none."""
    lock = journals.lock(journal)
    if lock is not None:
        os.close(lock)
        return False
    journals.ask(journal, what)
    if not until(time.monotonic() + END_S, lambda: _free(journal)):
        raise EnvironmentProblemError(f"keepon apply on {journal.nic} does not end in {END_S:g} s")
    return True


def _free(journal: Journal) -> bool:
    lock = journals.lock(journal)
    if lock is not None:
        os.close(lock)
    return lock is not None


def unapply(name: str | None) -> str:
    """Put back what was there before keepon apply; lines on what was done.

    Raises:
        ConfigError: nothing was applied there.
        EnvironmentProblemError: something cannot be put back.
    """
    needs.check_root()
    journal = journals.named(name)
    if journal.state == APPLYING and _end_by_asking(journal, UNDO):
        if journals.read(journal.path) is not None:
            raise EnvironmentProblemError(f"{journal.nic} is not as it was; keepon unapply again")
        return f"{journal.nic} is as it was; keepon apply on it has ended"
    lock = _locked(journal)
    try:
        told = undo.undo(journal)
    finally:
        os.close(lock)
    half = "half-done " if journal.state == APPLYING else ""
    return "\n".join(
        [*told, f"{journal.name or journal.nic} is as it was before {half}{journal.title}"]
    )
