# SPDX-License-Identifier: BSD-3-Clause
"""Test Anything Protocol, version 13 without YAML blocks and directives: what the guest's test.sh
prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from keepon_host.errors import TraceError

PLAN = re.compile(r"1\.\.(\d+)\s*$")
RESULT = re.compile(r"(not )?ok\b(?: +(\d+))?(?: +-)? *(.*)$")


@dataclass(frozen=True)
class TapResult:
    """One test: number from 1, text, and the comment lines that followed it."""

    number: int
    ok: bool
    text: str
    comments: tuple[str, ...] = ()


@dataclass
class TapReport:
    """A whole stream. Lines that are no TAP are left out: programs under test print too."""

    planned: int | None = None
    results: list[TapResult] = field(default_factory=list)
    bail_out: str = ""

    @property
    def failed(self) -> list[TapResult]:
        return [result for result in self.results if not result.ok]

    def problems(self) -> list[str]:
        """Why the stream does not count as passed, one line each; empty if everything planned ran
        and passed.
        """
        problems = [f"not ok {result.number} - {result.text}" for result in self.failed]
        if self.bail_out:
            problems.append(f"bail out: {self.bail_out}")
        if self.planned is None:
            problems.append("no plan: the test ended early or prints no TAP")
        elif self.planned == 0:
            problems.append("plan is 1..0: nothing was tested")
        elif len(self.results) != self.planned:
            problems.append(f"planned {self.planned} tests, ran {len(self.results)}")
        problems += [
            f"test number {result.number} stands in place {place}"
            for place, result in enumerate(self.results, 1)
            if result.number != place
        ]
        return problems


def parse_tap(text: str) -> TapReport:
    """Results in a guest's standard output. TraceError for a second plan, which would hide missing
    tests.
    """
    report = TapReport()
    for line in text.splitlines():
        line = line.rstrip("\r")
        plan = PLAN.fullmatch(line)
        result = RESULT.fullmatch(line)
        if plan:
            if report.planned is not None:
                raise TraceError(f"TAP output has a second plan {line!r}: one script, one plan")
            report.planned = int(plan[1])
        elif result:
            number = int(result[2]) if result[2] else len(report.results) + 1
            report.results.append(TapResult(number, result[1] is None, result[3].strip()))
        elif line.startswith("Bail out!"):
            report.bail_out = line.removeprefix("Bail out!").strip() or "no reason given"
        elif line.startswith("#") and report.results:
            last = report.results[-1]
            report.results[-1] = TapResult(
                last.number, last.ok, last.text, (*last.comments, line[1:].strip())
            )
    return report
