# SPDX-License-Identifier: BSD-3-Clause
"""The process that outlives `keepon apply`: it keeps what was set up when that is confirmed, and
undoes it on everything else - the time is over, the link or the user's connection is lost, the
command has ended in any way.

It has the other end of a socket: "window SECONDS CLIENT", "settle SECONDS CLIENT", "keep" and
"undo WHY" come, "ready" and one JSON line with the end of it go. The lock is inherited.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keepon.errors import KeeponError
from keepon.linux.apply import journal as journals
from keepon.linux.apply.journal import KEEP, KEPT, UNDO, Journal
from keepon.linux.apply.undo import STEP, marked, undo
from keepon.linux.interface import LOOK_S, answers, has_carrier, until

LOST_S = 3.0
"""How long the link, or the user's connection, may be away."""
STEP_S = 30.0
"""How long a command may go on whose keepon apply has been killed."""


@dataclass
class Window:
    """The time in which what was set up may be confirmed.

    Attributes:
        seconds: its length.
        at_end: KEEP or UNDO, if nothing happens.
        client: who must go on answering; empty: nobody.
        seen_s: when the link was last there; heard_s: when the client last answered.
    """

    seconds: float
    at_end: str
    client: str
    deadline_s: float
    seen_s: float
    heard_s: float
    asked_s: float = 0.0

    @classmethod
    def begin(cls, verb: str, seconds: float, client: str) -> Window:
        now_s = time.monotonic()
        at_end = KEEP if verb == "settle" else UNDO
        return cls(seconds, at_end, client, now_s + seconds, now_s, now_s)

    def ended(self, name: str) -> tuple[str, str]:
        """KEEP or UNDO and why, or nothing as yet."""
        now_s = time.monotonic()
        over = now_s >= self.deadline_s
        if not name:
            return UNDO, "the interface is gone"
        linked = has_carrier(name)
        if linked:
            self.seen_s = now_s
        elif now_s - self.seen_s > LOST_S:
            return UNDO, f"{name} has lost its link"
        if self.client and (over or now_s - self.asked_s >= 1):
            self.asked_s = now_s
            if answers(self.client):
                self.heard_s = time.monotonic()
            elif now_s - self.heard_s > LOST_S:
                return UNDO, f"{self.client}, from where you are logged in, does not answer"
        if not over:
            return "", ""
        if self.at_end == UNDO:
            return UNDO, f"it was not confirmed within {self.seconds:g} s"
        # What is away now comes back, or is lost.
        reached = not self.client or self.heard_s >= self.deadline_s
        return (KEEP, "") if linked and reached else ("", "")


class Watcher:
    """One interface's."""

    def __init__(self, journal: Path, channel: socket.socket) -> None:
        self.path = journal
        self.channel = channel
        self.window: Window | None = None
        self.gone = False

    def tell(self, text: str) -> None:
        with suppress(OSError):
            self.channel.sendall(f"{text}\n".encode())

    def heard(self) -> tuple[str, str]:
        """What keepon apply says, if that decides something."""
        if not select.select([self.channel], [], [], LOOK_S)[0]:
            return "", ""
        try:
            text = self.channel.recv(4096).decode()
        except OSError:
            text = ""
        if not text:
            self.gone = True
            return UNDO, "keepon apply has ended"
        for line in text.splitlines():
            verb, _, rest = line.partition(" ")
            if verb in ("window", "settle"):
                seconds, _, client = rest.partition(" ")
                self.window = Window.begin(verb, float(seconds), client)
            else:
                return verb, rest
        return "", ""

    def decided(self, journal: Journal) -> tuple[str, str]:
        verdict = self.heard()
        if verdict[0]:
            return verdict
        wanted = journals.asked(journal)
        if wanted == UNDO or (wanted == KEEP and self.window is not None):
            return wanted, "keepon unapply has asked for it"
        return self.window.ended(journal.name) if self.window is not None else ("", "")

    def run(self) -> None:
        journal = self.journal()
        self.tell("ready")
        verdict, why = "", ""
        while not verdict:
            try:
                verdict, why = self.decided(journal)
            except KeeponError as error:  # what looks at the link has failed
                verdict, why = UNDO, str(error)
        if self.gone:  # its last command may still be at work
            until(time.monotonic() + STEP_S, lambda: not marked(STEP, journal.mark))
        journal = self.journal()
        end = {"verdict": verdict, "why": why, "told": [], "problem": ""}
        try:
            if verdict == KEEP:
                journal.state = KEPT
                journals.save(journal)
                journals.ask_path(journal).unlink(missing_ok=True)
            else:
                end["told"] = undo(journal)
        except (KeeponError, OSError) as error:
            if verdict == KEEP:  # unsaved, it would be taken for half done
                end["verdict"], end["why"] = UNDO, str(error)
                with suppress(KeeponError, OSError):
                    end["told"] = undo(journal)
            else:
                end["problem"] = str(error)
        self.tell(json.dumps(end))

    def journal(self) -> Journal:
        found = journals.read(self.path)
        if found is None:
            raise SystemExit(3)
        return found


def main(arguments: list[str]) -> None:
    """`python3 -m keepon.linux.apply.watcher JOURNAL SOCKET`: started by keepon apply only."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    Watcher(Path(arguments[0]), socket.socket(fileno=int(arguments[1]))).run()


if __name__ == "__main__":
    main(sys.argv[1:])
