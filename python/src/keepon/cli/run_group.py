# SPDX-License-Identifier: BSD-3-Clause
"""The commands that plan: run, sweep, plan, partition and export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import edge, new_command, session, shared
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
    argument,
    check_apart,
    example_names,
    formats,
    named,
    option,
    shapes,
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
        option("--time-limit", "Seconds to plan, from reading to check; the run may take longer."),
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
        option(
            "--set",
            "Values of a key, stream.get3.deadline_ns, station.drive1..6.driver; several make"
            " a grid.",
            metavar="KEY=A,B,C",
        ),
    ] = None,
    seeds: Annotated[
        int, option("--seeds", "Seeds of each, from the scenario's on.", min=1, max=1000)
    ] = 1,
    measures: Annotated[
        list[str] | None,
        option(
            "--measure",
            "Number of a run in result.json, loads.video.goodput_bps; of streams.*.missing the"
            " greatest; repeatable. Default: missing frames and delays.",
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out", "Folder of points, table and plots; default out/NAME-sweep.", callback=named
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option("--workers", "Processes; default one for each processor.", min=1, max=WORKERS_MAX),
    ] = None,
    cluster: Annotated[
        str, option("--cluster", CLUSTER_HELP, metavar="ADDRESS", show_default=False)
    ] = "",
    time_limit: Annotated[
        float, option("--time-limit", "Seconds to plan a point.")
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
        Path | None, option("--out", "Write the plan to this file.", callback=named)
    ] = None,
    keep: Annotated[
        Path | None, option("--keep", "A plan whose streams must not move; others are added.")
    ] = None,
    time_limit: Annotated[
        float, option("--time-limit", "Seconds for all of it, from reading to trial.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Seed = None,
    workers: Annotated[
        int,
        option(
            "--workers",
            "Threads; 1: plans repeat exactly.",
            min=1,
            max=partition_limits.WORKERS_MAX,
        ),
    ] = 1,
    why: Annotated[
        str | None,
        option(
            "--why",
            "Show a station's slots, and why each parameter is what it is.",
            metavar="STATION",
        ),
    ] = None,
    gates: Annotated[bool, option("--gates", "Show the gate lists.")] = False,
    everything: Annotated[
        bool, option("--all", "Show all of it: releases, slots, gates, terms, reasons.")
    ] = False,
    quiet: Annotated[bool, option("--quiet", "Show the verdict alone.")] = False,
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
    shape: Annotated[str, argument("line, ring, star or tree.", autocompletion=shapes)],
    file: Annotated[Path, argument("File to write (TOML).")],
    stations: Annotated[
        int | None, option("--stations", "Controller and devices, 2 to 64; default 4.")
    ] = None,
    bridges: Annotated[
        int | None, option("--bridges", "1 to 16; default 1, of a ring 3, its least.")
    ] = None,
    table: Annotated[
        Path | None,
        option("--from", "Streams (CSV, xlsx, YANG), whose stations it has (docs/import.md)."),
    ] = None,
    at: Annotated[
        list[str] | None,
        option(
            "--at",
            "With --from: bridge of a station or of a range, drive1..3=br2; default in turn.",
            metavar="STATION=BRIDGE",
        ),
    ] = None,
    rate: Annotated[str, option("--rate", "Of every link.")] = "1 Gb/s",
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
        argument(
            "Table of streams (CSV, xlsx), requests in YANG (JSON, XML), or tsnkit's N_task.csv or"
            " folder.",
            metavar="FILE",
        ),
    ],
    out: Annotated[
        Path | None, option("--out", "Scenario to write; default NAME.toml here.", callback=named)
    ] = None,
) -> None:
    """Make a scenario of a table of streams or of requests in YANG, with one switch between their
    stations, or of a problem of tsnkit.
    """
    from keepon.cli import new_command

    print(new_command.read(source, out))


@app.command("examples")
def examples(
    name: Annotated[
        str | None,
        argument("One to copy; default: list all.", autocompletion=example_names),
    ] = None,
    file: Annotated[Path | None, argument("File to write; default NAME.toml here.")] = None,
) -> None:
    """List the scenarios that came with Keepon, or copy one to change and run it."""
    print(new_command.examples_listed() if name is None else new_command.copy_example(name, file))


@app.command("partition")
def partition_command(
    file: Annotated[Path, argument("Instances, or with --check answers (JSON).")],
    out: Annotated[
        Path | None, option("--out", "Write the answers to this file.", callback=named)
    ] = None,
    time_limit: Annotated[
        float, option("--time-limit", "Seconds for each instance.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Annotated[int, option("--seed", "Seed of every random choice.", min=0, max=SEED_MAX)] = 1,
    workers: Annotated[
        int,
        option(
            "--workers",
            "Threads; 1: answers repeat exactly.",
            min=1,
            max=partition_limits.WORKERS_MAX,
        ),
    ] = 1,
    check: Annotated[
        bool, option("--check", "Verify the answers in FILE, or those just written.")
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
        Path, option("--out", "Folder to write; for dot and svg a file.", callback=named)
    ],
    name: Annotated[
        str, option("--format", exported.HELP, metavar="FORMAT", autocompletion=formats)
    ],
    plan_file: Annotated[
        Path | None, option("--plan", "Its plan, as keepon plan --out writes it.")
    ] = None,
    force: Annotated[bool, option("--force", "Replace an earlier export.")] = False,
    device: Annotated[str, option("--device", "commands: NIC of every station.")] = "eth0",
    keepon_device: Annotated[
        str, option("--keepon-device", "commands: keepon device on it.")
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
