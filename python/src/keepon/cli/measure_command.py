# SPDX-License-Identifier: BSD-3-Clause
"""The command `keepon measure link`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from keepon.cli import edge, session, shared
from keepon.cli.options import Json, Out
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import terminal
from keepon.targets.host.target import DURATION_S_MAX

SECONDS_MAX = DURATION_S_MAX - 1
"""Frames before the first that counts take a fifth of a second."""
BETWEEN: dict[str, Literal["min", "p50", "p99", "p999", "max"]] = {
    "least": "min", "50 %": "p50", "99 %": "p99", "99.9 %": "p999", "greatest": "max",
}  # fmt: skip


def _option(name: str, about: str, **more: Any) -> Any:
    return typer.Option(name, help=about, **more)


def link(
    sender: Annotated[
        str, typer.Argument(metavar="A", help="HOST:INTERFACE that sends; or one of this machine.")
    ],
    receiver: Annotated[str, typer.Argument(metavar="B", help="The same that receives.")],
    by: Annotated[
        str, _option("--by", "Command that runs another one on a host, which is {} in it.")
    ] = "ssh {}",
    seconds: Annotated[
        float, _option("--seconds", "How long to send.", min=0.01, max=SECONDS_MAX)
    ] = 10.0,
    period_us: Annotated[
        int, _option("--period-us", "From frame to frame.", min=1, max=1_000_000)
    ] = 1000,
    frame_bytes: Annotated[int, _option("--bytes", "Of a frame, FCS included.")] = 100,
    advance_us: Annotated[
        int, _option("--advance-us", "Hand over so long before the txtime.", min=0, max=1_000_000)
    ] = 200,
    priority: Annotated[
        int, _option("--priority", "SO_PRIORITY, which says the class.", min=0, max=15)
    ] = 0,
    fifo: Annotated[
        int, _option("--fifo", "Of A's sender in SCHED_FIFO; 0: a normal process.", min=0, max=99)
    ] = 80,
    no_txtime: Annotated[
        bool, _option("--no-txtime", "Sleep until each instant, where no link or qdisc holds it.")
    ] = False,
    deadline_us: Annotated[
        int | None,
        _option("--deadline-us", "What delays are judged by.", min=1, show_default=False),
    ] = None,
    clocks_within_ns: Annotated[
        int | None,
        _option(
            "--clocks-within-ns",
            "The clocks that stamp agree so well, by PTP, say; left out: unknown, and so are"
            " delays.",
            min=0,
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Send from one machine to another with keepon-talk and keepon-listen, both of which have
    keepon-tools; write a result folder as that of run.
    """
    from keepon_host.testbed.remote import End

    from keepon.targets.host import between

    target = between.between(
        End.read("argument A", sender, by), End.read("argument B", receiver, by),
        clocks_within_ns, priority, fifo,
    )  # fmt: skip
    stream = {
        "period_ns": period_us * 1000, "frame_bytes": frame_bytes,
        "advance_ns": 0 if no_txtime else advance_us * 1000,
    }  # fmt: skip
    if deadline_us is not None:
        stream["deadline_ns"] = deadline_us * 1000
    edge.Settings.source = between.NAME
    scenario = between.scenario(seconds, stream, not no_txtime, clocks_within_ns is not None)
    folder = out if out is not None else Path("out") / scenario.name
    session.prepare(scenario, folder, target)
    scenario, plan = shared.feasible(lambda: scenario, TIME_LIMIT_S)
    with shared.progress_bar() as progress:
        outcome = session.run_scenario(
            scenario, plan, folder, 1, session.CAPTURE_FRAMES, progress, target
        )
    for run in outcome.runs:
        seen = run.document["streams"]["probe"]["interarrival_ns"]
        if seen["count"] and not as_json:
            values = (f"{name} {(seen[key] or 0) / 1000:.3f}" for name, key in BETWEEN.items())
            terminal.say(f"between arrivals, us: {', '.join(values)}")
    raise typer.Exit(shared.conclude(outcome, folder, as_json, outcome.interrupted))
