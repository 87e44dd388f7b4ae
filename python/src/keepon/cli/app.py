# SPDX-License-Identifier: BSD-3-Clause
"""The `keepon` command. Results go to stdout, progress and errors to stderr.

Exit codes: see EXIT_CODES.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from keepon import __version__, errors, interrupts
from keepon.cli import cards, doctor, edge, nics_command, session
from keepon.cli import link_group as link_group
from keepon.cli.options import (
    SEED_MAX,
    CaptureFrames,
    Duration,
    Json,
    Kernel,
    Out,
    ScenarioFile,
    Seed,
    Target,
    named,
)
from keepon.errors import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    ConfigError,
)
from keepon.export import exported
from keepon.model import documents, loading, outcomes
from keepon.model.plan import Plan
from keepon.model.plan import read as read_plan
from keepon.model.reproduction import read as read_reproduction
from keepon.model.result import Result
from keepon.model.result import read as read_result
from keepon.model.scenario import Scenario
from keepon.model.study import STUDY_SCHEMA, StudyDocument
from keepon.planner.partition import limits as partition_limits
from keepon.report import output, tables
from keepon.report import page as report
from keepon.studies import casestudy, registry
from keepon.studies.study import Study
from keepon.studies.study import run as run_study
from keepon.targets.runs import Outcome

EXIT_CODES = (
    "Exit codes: 0 met; 1 missed (a frame due, a bound or a deadline), or no plan; 2 usage or input; 3 environment; "
    "4 nothing checked (no bound on the delay and no deadline, or too few frames for a bound); 5 no frames were due; "
    "70 a defect of Keepon, with a line to report; 130 interrupted."
)
app = typer.Typer(
    name="keepon", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Deterministic Ethernet transmission on standard NICs: plan, simulate, report.", epilog=EXIT_CODES,
)  # fmt: skip
app.add_typer(link_group.app)


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    edge.Settings.debug = debug
    if version:
        print(f"keepon {__version__}")
        raise typer.Exit(EXIT_MET)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(EXIT_INPUT)


def _console() -> Console:
    """Tables on stdout; wide enough not to break them where stdout is no terminal."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=240)


def _print_delays(console: Console, result: Result) -> None:
    console.print(f"{result['scenario']}: delay from schedule to delivery, us", style="bold")
    for table in tables.delays(result, console.width):
        console.print(table)
    for line in (*tables.delay_notes(result), *tables.summary_lines(result)):
        print(line)


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None] | None]:
    """A progress bar on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        known: dict[str, Any] = {}

        def told(what: str, share: float) -> None:
            if what not in known:
                known[what] = bar.add_task(what, total=1.0)
            bar.update(known[what], completed=min(share, 1.0))

        yield told


def _load(path: Path, seed: int | None, duration_s: float | None) -> Scenario:
    edge.Settings.source = str(path)
    scenario = loading.load(path)
    changes: dict[str, Any] = {}
    if seed is not None:
        changes["seed"] = seed
    if duration_s is not None:
        if not 0.001 <= duration_s <= 86_400:
            raise ConfigError(
                f"option --duration = {duration_s}: must be between 0.001 and 86400 seconds; choose one in this range"
            )
        changes["duration_s"] = duration_s
    return scenario.model_copy(update=changes)


def _feasible(scenario: Scenario) -> Plan:
    plan = session.planned(scenario)
    if plan["status"] != "feasible":
        why = plan["why"]
        raise errors.InfeasibleError(
            f"no plan: {why['message']}; nearest change: {why['nearest_change']}",
            why["constraint"],
            why["streams"],
            why["nearest_change"],
        )
    return plan


def _conclude(outcome: Outcome, folder: Path, as_json: bool, interrupted: bool) -> int:
    """Print what a run gave and return its exit code: the first driver is judged, the others are its peers."""
    edge.Settings.concluded = True
    if not outcome.runs:
        edge.say("interrupted before the first driver was complete; nothing was written")
        return EXIT_INTERRUPTED
    if as_json:
        _print_json(outcome.result)
    else:
        console = _console()
        _print_delays(console, outcome.result)
        print(f"result folder: {folder}  (report: {folder / documents.REPORT_FILE})")
    if interrupted:
        done = ", ".join(run.driver for run in outcome.runs)
        edge.say(f"interrupted; complete and written: {done}")
        return EXIT_INTERRUPTED
    return outcomes.EXIT_CODES[outcome.runs[0].document["outcome"]]


@app.command(epilog=EXIT_CODES)
def run(
    scenario: ScenarioFile,
    out: Out = None,
    target: Target = "sim",
    kernel: Kernel = "6.1",
    seed: Seed = None,
    duration: Duration = None,
    capture_frames: CaptureFrames = session.CAPTURE_FRAMES,
    as_json: Json = False,
) -> None:
    """Plan a scenario, run it with every driver of [compare], write a result folder."""
    chosen = session.target_named(target, kernel)
    loaded = _load(scenario, seed, duration if duration is not None else chosen.duration_s)
    folder = out if out is not None else Path("out") / (loaded.name if target == "sim" else f"{loaded.name}-{target}")
    session.prepare(loaded, folder, chosen)
    plan = _feasible(loaded)
    with _progress() as progress:
        outcome = session.run_scenario(loaded, plan, folder, loaded.seed, capture_frames, progress, chosen)
    raise typer.Exit(_conclude(outcome, folder, as_json, outcome.interrupted))


@app.command()
def plan(
    scenario: ScenarioFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the plan to this file.", show_default=False, callback=named)
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="A plan whose streams must not move; others are added.", show_default=False),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for all of it, from reading to trial.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Seed = None,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=partition_limits.WORKERS_MAX, help="Threads; 1: plans repeat exactly."),
    ] = 1,
    as_json: Json = False,
) -> None:
    """Plan a scenario: slots, partitions, release times, gate lists and bounds; or say why not and what would help."""
    from keepon.cli import plan_command as plans

    code = plans.run(lambda: _load(scenario, seed, None), out, keep, time_limit, workers, as_json)
    edge.Settings.concluded = True
    raise typer.Exit(code)


def _read_folder(folder: Path) -> tuple[Result, Plan]:
    result = outcomes.completed(read_result(folder / documents.RESULT_FILE))
    return result, read_plan(folder / documents.PLAN_FILE)


@app.command("partition")
def partition_command(
    file: Annotated[Path, typer.Argument(help="Instances, or with --check answers (JSON).", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the answers to this file.", show_default=False, callback=named)
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for each instance.")
    ] = partition_limits.TIME_LIMIT_S,
    seed: Annotated[int, typer.Option("--seed", min=0, max=SEED_MAX, help="Seed of every random choice.")] = 1,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=partition_limits.WORKERS_MAX, help="Threads; 1: answers repeat exactly."),
    ] = 1,
    check: Annotated[bool, typer.Option("--check", help="Verify the answers in FILE, or those just written.")] = False,
    as_json: Json = False,
) -> None:
    """Decide for each instance of a file whether a ring partition exists, and show it; or check such answers."""
    # Loads CP-SAT, which takes a second that no other command should spend.
    from keepon.cli import partition_command as partitions

    code = EXIT_MET
    if out is not None:
        code = partitions.solve(file, out, time_limit, seed, workers, as_json)
        edge.Settings.concluded = True
    elif not check:
        raise ConfigError("option --out: is missing; name the file for the answers, or give --check to verify FILE")
    if check:
        code = partitions.verify(file if out is None else out, as_json) or code
    raise typer.Exit(code)


@app.command("export")
def export_command(
    scenario: ScenarioFile,
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder to write; for dot and scenario a file.", show_default=False, callback=named),
    ],
    name: Annotated[str, typer.Option("--format", metavar="FORMAT", help=exported.HELP, show_default=False)],
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="Its plan, as keepon plan --out writes it.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    device: Annotated[str, typer.Option("--device", help="commands: NIC of every station.")] = "eth0",
    keepon_device: Annotated[str, typer.Option("--keepon-device", help="commands: keepon device on it.")] = "rt0",
    as_json: Json = False,
) -> None:
    """Write a plan for other tools: commands of Linux, gate lists, tables, a picture."""
    # Loads the makers of every format, which no other command needs.
    from keepon.cli import export_command as exporting

    document = exporting.run(scenario, plan_file, name, out, force, device, keepon_device)
    if as_json:
        _print_json(document)
        return
    print(f"{document['scenario']}: {name} written to {document['out']}")
    for file in document["files"]:
        print(f"  {file}")
    for note in document["notes"]:
        edge.say(f"note: {note}")


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Result folder.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write report.html of a result folder again and print its table."""
    if documents.schema_of(folder / documents.RESULT_FILE) == STUDY_SCHEMA:
        _report_study(folder, as_json)
        return
    result, planned = _read_folder(folder)
    extra_path = folder / session.REPRODUCTION_FILE
    extra = read_reproduction(extra_path) if extra_path.exists() else None
    try:
        report.write(folder / documents.REPORT_FILE, result, planned, extra)
    except OSError as error:
        raise errors.EnvironmentProblemError(
            f"{folder / documents.REPORT_FILE}: cannot be written ({error.strerror}); check the permissions"
        ) from error
    if as_json:
        _print_json(report.comparison(result))
        return
    console = _console()
    _print_delays(console, result)
    print(f"report: {folder / documents.REPORT_FILE}")


def _report_study(folder: Path, as_json: bool) -> None:
    document = cast(StudyDocument, documents.read(folder / documents.RESULT_FILE, STUDY_SCHEMA))
    path = folder / documents.REPORT_FILE
    try:
        path.write_text(output.html(document), encoding="utf-8")
    except OSError as error:
        raise errors.EnvironmentProblemError(
            f"{path}: cannot be written ({error.strerror}); check the permissions"
        ) from error
    if as_json:
        _print_json([row for part in document["parts"] for row in part["compared"]])
        return
    output.show(_console(), document)
    print(f"report: {path}")


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Two or more result folders.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Put several result folders side by side; exit 1 if a later one has a greater worst delay or a worse outcome."""
    if len(folders) < 2:
        raise ConfigError("compare: needs at least two result folders; name the one to compare with first")
    found = {str(folder): _read_folder(folder)[0] for folder in folders}
    rows = tables.side_by_side(found)
    if not rows:
        names = ", ".join(sorted({str(result["scenario"]) for result in found.values()}))
        raise ConfigError(
            f"compare: the results have no driver and stream in common (scenarios {names}); name results of "
            "one scenario"
        )
    worse = [row for row in rows if row["worse"]]
    if as_json:
        _print_json({"rows": rows, "worse": len(worse)})
    else:
        print("delay, us: mean / max, outcome")
        _console().print(tables.side_by_side_table(list(found), rows))
        print(f"{len(worse)} of {len(rows)} have a greater worst delay or a worse outcome than in {folders[0]}")
    raise typer.Exit(EXIT_MISSED if worse else EXIT_MET)


@app.command("reproduce")
def reproduce_command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help=f"{', '.join(('habitat', *registry.STUDIES))}, or a scenario file like habitat's."
        ),
    ] = "habitat",
    out: Out = None,
    seed: Seed = None,
    duration: Duration = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, max=1000, help="Seeds; habitat: of the cascade, default 20.", show_default=False
        ),
    ] = None,
    capture_frames: CaptureFrames = session.CAPTURE_FRAMES,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="KEY=VALUE: a setting of a study other than habitat; repeatable.", show_default=False
        ),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option("--sets", help="fig27, schedulability: sets per utilisation, default 64.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Studies: threads or processes, default one for each processor.", show_default=False
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ADDRESS", help="Studies: dask scheduler to use instead.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """A published figure again, ours beside the published: the habitat case study in full, or a study by its name."""
    found = registry.find(study)
    assigned = registry.assignments(study, {"sets": sets, "workers": workers, "cluster": cluster}, changes or [])
    if found is not None:
        if duration is not None or capture_frames != session.CAPTURE_FRAMES:
            option = "--duration" if duration is not None else "--capture-frames"
            raise ConfigError(f'option {option}: not for study "{study}"; its settings are changed with --set')
        raise typer.Exit(_reproduce_study(study, found, out, assigned, seed, seeds, as_json))
    if changes:
        raise ConfigError(f'option --set = "{changes[0]}": not for a scenario; change the scenario file instead')
    path = Path("examples/habitat.toml") if study == "habitat" else Path(study)
    loaded = _load(path, seed, duration)
    folder = out if out is not None else Path("out") / f"{loaded.name}-reproduction"
    casestudy.check(loaded)
    session.prepare(loaded, folder)
    planned = _feasible(loaded)
    with _progress() as progress:
        outcome, extra = session.reproduce_scenario(
            loaded,
            planned,
            folder,
            loaded.seed,
            seeds or casestudy.CASCADE_SEEDS,
            capture_frames,
            progress,
        )
    interrupted = outcome.interrupted or (extra is not None and extra["interrupted"])
    if as_json and extra is not None:
        _print_json(extra)
        judged = outcome.runs[0].document["outcome"]
        raise typer.Exit(EXIT_INTERRUPTED if interrupted else outcomes.EXIT_CODES[judged])
    code = _conclude(outcome, folder, as_json, interrupted)
    if extra is not None and not as_json:
        for line in tables.reproduction_lines(extra):
            print(line)
    raise typer.Exit(code)


def _reproduce_study(
    name: str,
    study: Study[Any],
    out: Path | None,
    changes: list[str],
    seed: int | None,
    seeds: int | None,
    as_json: bool,
) -> int:
    folder = out if out is not None else Path("out") / name
    documents.check_target(folder)
    document = run_study(study, name, changes, seed, seeds)
    with interrupts.interrupts_wait() as seen:
        output.write_folder(folder, document)
        edge.Settings.concluded = True
    if as_json:
        _print_json(document)
    else:
        output.show(_console(), document)
        print(f"result folder: {folder}  (report: {folder / documents.REPORT_FILE})")
    if document.get("interrupted", False):
        edge.say(f"interrupted; {document['attempted']} sets were decided, the others are left out of {folder}")
        return EXIT_INTERRUPTED
    return EXIT_INTERRUPTED if seen else EXIT_MET if document["met"] else EXIT_MISSED


cards.add_to(app)


@app.command("nics")
def nics(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="Top folder of a kernel's sources.", show_default=False)],
    everything: Annotated[bool, typer.Option("--all", help="List also drivers with nothing of interest.")] = False,
    as_json: Json = False,
) -> None:
    """List the Ethernet drivers of a kernel tree: which can send at an instant, and which Keepon has a driver for."""
    nics_command.run(tree, everything, as_json, _console())


@app.command("doctor")
def doctor_command(as_json: Json = False) -> None:
    """Check what this machine has and lacks for Keepon; exit 3 if something needed is missing."""
    checks = doctor.examine()
    document = doctor.document(checks)
    if as_json:
        _print_json(document)
    else:
        table = Table()
        for column in ("", "what", "found", "remedy"):
            table.add_column(column)
        for check in checks:
            table.add_row(
                "ok" if check.ok else "MISSING" if check.needed else "absent", check.name, check.found, check.remedy
            )
        _console().print(table)
    raise typer.Exit(EXIT_MET if document["ok"] else errors.EXIT_ENVIRONMENT)


def main() -> int:
    """Entry point: every error is one line on stderr and an exit code; a traceback only with --debug."""
    return edge.guard(lambda: app(standalone_mode=False))
