# SPDX-License-Identifier: BSD-3-Clause
"""The commands that plan: run, sweep, plan, partition and export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import completed, edge, examples_command, session, shared
from keepon.cli.options import (
    CLUSTER_HELP,
    SEED_MAX,
    CaptureFrames,
    ClockLimit,
    ClockWait,
    Duration,
    Json,
    KeepClocks,
    Kernel,
    Map,
    Out,
    ScenarioFile,
    Seed,
    Target,
    check_apart,
    named,
)
from keepon.errors import EXIT_MET, ConfigError
from keepon.export import exported
from keepon.model import documents
from keepon.model.scenario import Scenario
from keepon.planner.partition import limits as partition_limits
from keepon.report import screen, terminal
from keepon.spread import WORKERS_MAX

app = typer.Typer()


@app.command(epilog=shared.EXIT_CODES)
def run(
    scenario: ScenarioFile,
    out: Out = None,
    target: Target = "sim",
    kernel: Kernel = None,
    maps: Map = None,
    clock_limit_ns: ClockLimit = None,
    clock_wait_s: ClockWait = None,
    keep_clocks: KeepClocks = False,
    seed: Seed = None,
    duration: Duration = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit", help="Seconds to plan, from reading to check; the run may take longer."
        ),
    ] = partition_limits.TIME_LIMIT_S,
    capture_frames: CaptureFrames = session.CAPTURE_FRAMES,
    as_json: Json = False,
) -> None:
    """Plan a scenario, run it with every driver of [compare], write a result folder."""
    on_host = session.HostOptions(tuple(maps or ()), clock_limit_ns, clock_wait_s, keep_clocks)
    chosen = session.target_named(target, kernel, on_host)
    duration_s = duration if duration is not None else chosen.duration_s

    def folder_of(loaded: Scenario) -> Path:
        name = loaded.name if target == "sim" else f"{loaded.name}-{target}"
        return out if out is not None else Path("out") / name

    def read() -> Scenario:
        loaded = shared.load(scenario, seed, duration_s)
        check_apart("--out", folder_of(loaded), scenario)
        session.prepare(loaded, folder_of(loaded), chosen)
        return loaded

    loaded, plan = shared.feasible(read, time_limit)
    folder = folder_of(loaded)
    for line in [] if as_json else screen.warnings(loaded, plan):
        terminal.say(f"{screen.WARNING}{line}", "yellow")
    with shared.progress_bar() as progress:
        outcome = session.run_scenario(
            loaded, plan, folder, loaded.seed, capture_frames, progress, chosen
        )
    raise typer.Exit(shared.conclude(outcome, folder, as_json, outcome.interrupted))


@app.command()
def sweep(
    scenario: ScenarioFile,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B,C",
            help="Values of a key, stream.get3.deadline_ns, station.drive1..6.driver; several make"
            " a grid.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=1000, help="Seeds of each, from the scenario's on.")
    ] = 1,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="Number of a run in result.json, loads.video.goodput_bps; of streams.*.missing the"
            " greatest; repeatable. Default: missing frames and delays.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of points, table and plots; default out/NAME-sweep.",
            show_default=False,
            callback=named,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            max=WORKERS_MAX,
            help="Processes; default one for each processor.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="ADDRESS", help=CLUSTER_HELP, show_default=False)
    ] = "",
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds to plan a point.")
    ] = partition_limits.TIME_LIMIT_S,
    as_json: Json = False,
) -> None:
    """Simulate a scenario over values of its keys; write a table and plots of results. What is done
    is kept: the same command goes on after Ctrl-C. Exits 0 whatever came of the points.
    """
    # Loads matplotlib, which takes a second.
    from keepon.cli import sweep_command

    asked = sweep_command.Asked(settings or [], seeds, measures or [], workers, cluster, time_limit)
    raise typer.Exit(sweep_command.run(scenario, out, asked, as_json))


@app.command()
def plan(
    scenario: ScenarioFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write the plan to this file.", show_default=False, callback=named
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            help="A plan whose streams must not move; others are added.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for all of it, from reading to trial.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Seed = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=1,
            max=partition_limits.WORKERS_MAX,
            help="Threads; 1: plans repeat exactly.",
        ),
    ] = 1,
    why: Annotated[
        str | None,
        typer.Option(
            "--why",
            metavar="STATION",
            help="Show a station's slots, and why each parameter is what it is.",
            show_default=False,
        ),
    ] = None,
    gates: Annotated[bool, typer.Option("--gates", help="Show the gate lists.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all of it: releases, slots, gates, terms, reasons.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show the verdict alone.")] = False,
    as_json: Json = False,
) -> None:
    """Plan a scenario: slots, partitions, release times, gate lists and bounds; or say why not and
    what would help.
    """
    from keepon.cli import plan_command as plans

    check_apart("--out", out, scenario, keep)
    documents.check_replaces("--out", out, documents.has_schema("keepon.plan/"), "a plan")
    shown = plans.Shown(why, gates, everything, quiet, as_json)
    code = plans.run(
        lambda: shared.load(scenario, seed, None), out, keep, time_limit, workers, shown
    )
    edge.Settings.concluded = True
    raise typer.Exit(code)


@app.command("new")
def new(
    shape: Annotated[
        str,
        typer.Argument(
            help="line, ring, star or tree.", show_default=False, autocompletion=completed.shapes
        ),
    ],
    file: Annotated[Path, typer.Argument(help="File to write (TOML).", show_default=False)],
    stations: Annotated[
        int | None,
        typer.Option(
            "--stations", help="Controller and devices, 2 to 64; default 4.", show_default=False
        ),
    ] = None,
    bridges: Annotated[
        int | None,
        typer.Option(
            "--bridges", help="1 to 16; default 1, of a ring 3, its least.", show_default=False
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Table of streams (CSV, xlsx), whose stations it has (docs/import.md).",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="STATION=BRIDGE",
            help="With --from: bridge of a station or of a range, drive1..3=br2; default in turn.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[str, typer.Option("--rate", help="Of every link.")] = "1 Gb/s",
) -> None:
    """Write a commented scenario to begin with: stations on a line, ring, star or tree of
    bridges, with a controller's streams or those of a table.
    """
    from keepon.cli import new_command

    asked = new_command.Asked(shape, stations, bridges, table, tuple(at or ()), rate)
    print(new_command.write(file, asked))


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Table of streams (CSV, xlsx), or tsnkit's N_task.csv or folder.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Scenario to write; default NAME.toml here.",
            show_default=False,
            callback=named,
        ),
    ] = None,
) -> None:
    """Make a scenario of a table of streams, with one switch between its stations, or of a
    problem of tsnkit.
    """
    from keepon.cli import new_command

    print(new_command.read(source, out))


@app.command("examples")
def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One to copy; default: list all.",
            show_default=False,
            autocompletion=completed.example_names,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(help="File to write; default NAME.toml here.", show_default=False),
    ] = None,
) -> None:
    """List the scenarios that came with Keepon, or copy one to change and run it."""
    print(examples_command.listed() if name is None else examples_command.copy(name, file))


@app.command("partition")
def partition_command(
    file: Annotated[
        Path, typer.Argument(help="Instances, or with --check answers (JSON).", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write the answers to this file.", show_default=False, callback=named
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for each instance.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=SEED_MAX, help="Seed of every random choice.")
    ] = 1,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=1,
            max=partition_limits.WORKERS_MAX,
            help="Threads; 1: answers repeat exactly.",
        ),
    ] = 1,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the answers in FILE, or those just written.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Decide for each instance of a file whether a ring partition exists, and show it; or check
    such answers.
    """
    # Loads CP-SAT, which takes a second that no other command should spend.
    from keepon.cli import partition_command as partitions

    code = EXIT_MET
    if out is not None:
        code = partitions.solve(file, out, time_limit, seed, workers, as_json)
        edge.Settings.concluded = True
    elif not check:
        raise ConfigError(
            "option --out: is missing; name the file for the answers, or give --check to verify"
            " FILE"
        )
    if check:
        code = partitions.verify(file if out is None else out, as_json) or code
    raise typer.Exit(code)


@app.command("export")
def export_command(
    scenario: ScenarioFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder to write; for dot and svg a file.",
            show_default=False,
            callback=named,
        ),
    ],
    name: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=exported.HELP,
            show_default=False,
            autocompletion=completed.formats,
        ),
    ],
    plan_file: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="Its plan, as keepon plan --out writes it.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    device: Annotated[
        str, typer.Option("--device", help="commands: NIC of every station.")
    ] = "eth0",
    keepon_device: Annotated[
        str, typer.Option("--keepon-device", help="commands: keepon device on it.")
    ] = "rt0",
    as_json: Json = False,
) -> None:
    """Write a plan for other tools: commands of Linux, gate lists, tables, a picture."""
    # Loads the makers of every format, which no other command needs.
    from keepon.cli import export_command as exporting

    document = exporting.run(scenario, plan_file, name, out, force, device, keepon_device)
    if as_json:
        shared.print_json(document)
        return
    print(f"{document['scenario']}: {name} written to {document['out']}")
    for file in document["files"] if Path(document["out"]).is_dir() else ():
        print(f"  {Path(document['out']) / file}")
    for note in document["notes"]:
        edge.say(f"note: {note}")
