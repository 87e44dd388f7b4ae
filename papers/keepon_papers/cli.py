# SPDX-License-Identifier: BSD-3-Clause
"""The commands reproduce and nics of `keepon`, and its report of a study."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from keepon_host import interrupts
from rich.table import Table

from keepon.cli import edge, session, shared
from keepon.cli.options import (
    CLUSTER_HELP,
    CaptureFrames,
    Duration,
    Json,
    Out,
    Seed,
    among,
    check_apart,
)
from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, ConfigError, shell_path
from keepon.model import documents, examples, outcomes, published
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import terminal
from keepon.targets.runs import Outcome, Progress
from keepon_papers import casestudy, registry
from keepon_papers.document import read as read_study
from keepon_papers.published import load as load_published
from keepon_papers.report import case_page, study_page
from keepon_papers.reproduction import Reproduction
from keepon_papers.spread import Spread, read
from keepon_papers.study import Study
from keepon_papers.study import run as run_study
from keepon_papers.survey import Driver, Survey, survey

app = typer.Typer(
    name="keepon-papers",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=shared.EXIT_CODES,
)
NAMES = ("habitat", *registry.STUDIES)
COLUMNS = (
    ("PHC", "phc"),
    ("SO_TXTIME", "so_txtime"),
    ("taprio", "taprio"),
    ("own FCS", "own_fcs"),
    ("bad frames", "bad_frames"),
)


@app.command("reproduce")
def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            autocompletion=among(*NAMES),
            help=f"{', '.join(NAMES)}, or a scenario file like habitat's.",
        ),
    ] = "habitat",
    out: Out = None,
    seed: Seed = None,
    duration: Duration = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=1000,
            help="Seeds; habitat: of the cascade, default 20.",
            show_default=False,
        ),
    ] = None,
    capture_frames: CaptureFrames = session.CAPTURE_FRAMES,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="KEY=VALUE: a setting of a study other than habitat; repeatable.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option(
            "--sets",
            help="fig27, schedulability: sets per utilisation, default 64.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Threads or processes, default one for each processor.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help=CLUSTER_HELP,
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the published figures, each with its state.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A published figure again, ours beside the published: the habitat case study in full, or a
    study by its name.
    """
    if listed:
        _list_figures(as_json)
        return
    found = registry.find(study)
    who = {"workers": workers, "cluster": cluster}
    options = {"sets": sets} if found is None else {"sets": sets, **who}
    assigned = registry.assignments(study, options, changes or [])
    if found is not None:
        if duration is not None or capture_frames != session.CAPTURE_FRAMES:
            option = "--duration" if duration is not None else "--capture-frames"
            raise ConfigError(
                f'option {option}: not for study "{study}"; its settings are changed with --set'
            )
        raise typer.Exit(_reproduce_study(study, found, out, assigned, seed, seeds, as_json))
    if changes:
        raise ConfigError(
            f'option --set = "{changes[0]}": not for a scenario; change the scenario file instead'
        )
    settings = read({key: value for key, value in who.items() if value is not None})
    path = examples.path(study) if study == "habitat" else Path(study)
    loaded = shared.load(path, seed, duration)
    folder = out if out is not None else Path("out") / f"{loaded.name}-reproduction"
    check_apart("--out", folder, path)
    casestudy.check(loaded)
    session.prepare(loaded, folder)
    with Spread(settings) as spread:
        spread.connect()
        _, planned = shared.feasible(lambda: loaded, TIME_LIMIT_S)
        with shared.progress_bar() as progress:
            outcome, extra = reproduce_scenario(
                loaded,
                planned,
                folder,
                loaded.seed,
                seeds or casestudy.CASCADE_SEEDS,
                capture_frames,
                progress,
                spread,
            )
    interrupted = outcome.interrupted or (extra is not None and extra["interrupted"])
    if as_json and extra is not None:
        shared.print_json(extra)
        judged = outcome.runs[0].document["outcome"]
        raise typer.Exit(EXIT_INTERRUPTED if interrupted else outcomes.EXIT_CODES[judged])
    code = shared.conclude(outcome, folder, as_json, interrupted)
    if extra is not None and not as_json:
        for line in case_page.reproduction_lines(extra):
            terminal.say(line)
    raise typer.Exit(code)


def _list_figures(as_json: bool) -> None:
    """Print what became of every published figure and table."""
    figures = load_published("figures")
    if as_json:
        shared.print_json(figures)
        return
    table = Table("published", "state", "study or row of tests/requirements.toml, and reason")
    for source, entries in figures.items():
        for name, entry in entries.items():
            said = [", ".join(entry.get("by", [])), entry.get("why", "")]
            table.add_row(f"{source}.{name}", entry["state"], ": ".join(filter(None, said)))
    terminal.show(table)


def reproduce_scenario(
    scenario: Scenario,
    plan: Plan,
    folder: Path,
    seed: int,
    seeds: int,
    capture_frames: int,
    progress: Progress | None,
    spread: Spread,
) -> tuple[Outcome, Reproduction | None]:
    """The compared runs and the case study's other parts, in one result folder.

    `spread`: who does the runs of many seeds.
    """
    session.prepare(scenario, folder)
    simulated = replace(session.SIMULATOR, capture_frames=capture_frames)
    outcome = simulated.run_all(scenario, plan, seed, progress)
    if not outcome.runs:
        return outcome, None
    if outcome.interrupted:
        session.write_folder(folder, scenario, plan, outcome, capture_frames)
        return outcome, None
    extra = casestudy.reproduce(scenario, plan, seed, seeds, progress, spread)

    def more(work: Path) -> str:
        documents.write(work / documents.REPRODUCTION_FILE, extra)
        return case_page.section(extra)

    session.write_folder(folder, scenario, plan, outcome, capture_frames, more)
    return outcome, extra


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
    study_page.write_folder(folder, document)
    if as_json:
        shared.print_json(document)
    else:
        study_page.show(document)
        page = shell_path(folder / documents.REPORT_FILE)
        terminal.say(f"result folder: {shell_path(folder)}  (report: {page})")
    if document.get("interrupted", False):
        edge.say(
            f"interrupted; {document['attempted']} sets were decided, the others are left out of"
            f" {folder}"
        )
        edge.Settings.concluded = True
        return EXIT_INTERRUPTED
    return EXIT_MET if document["met"] else EXIT_MISSED


def report_study(folder: Path, as_json: bool) -> None:
    """Write the page of a study again, and print its tables."""
    document = read_study(folder / documents.RESULT_FILE)
    path = folder / documents.REPORT_FILE
    documents.write_text(path, study_page.html(document), "check the permissions")
    if as_json:
        shared.print_json([row for part in document["parts"] for row in part["compared"]])
        return
    study_page.show(document)
    print(f"report: {path}")


@app.command("nics")
def nics(
    tree: Annotated[
        Path,
        typer.Argument(
            metavar="TREE", help="Top folder of a kernel's sources.", show_default=False
        ),
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="List also drivers with nothing of interest.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the Ethernet drivers of a kernel tree: which can send at an instant, and which Keepon
    has a driver for.
    """
    _print_survey(tree, everything, as_json)


def _print_survey(tree: Path, everything: bool, as_json: bool) -> None:
    """Print the survey of a tree.

    Args:
        everything: also drivers that have nothing of what is looked for.

    Raises:
        ConfigError: it is no kernel tree.
    """
    found = survey(tree)
    if as_json:
        drivers = [{**asdict(driver), "scheduled": driver.scheduled} for driver in found.drivers]
        print(json.dumps({"counts": found.counts(), "drivers": drivers}, indent=1))
        return
    table = Table("driver", *(title for title, _ in COLUMNS), "Keepon")
    for driver in found.drivers:
        if everything or driver.scheduled or driver.own_fcs or driver.backend:
            table.add_row(driver.name, *_marks(driver), driver.backend or "-")
    terminal.show(table)
    for line in _summary(found):
        print(line)


def _marks(driver: Driver) -> list[str]:
    return ["yes" if getattr(driver, key) else "" for _, key in COLUMNS]


def _summary(found: Survey) -> list[str]:
    """Our counts, and those that were published for Linux 6.12 or 6.14."""
    ours, theirs = found.counts(), published.load()["driver_survey"]
    return [
        (
            f"{ours['drivers']} drivers of {ours['modules']} modules make Ethernet interfaces "
            f"(keepon.driver_survey: {theirs['drivers_surveyed_count']} drivers)"
        ),
        (
            f"{ours['phc']} have a PTP clock ({theirs['drivers_with_ptp_phc_count']}),"
            f" {ours['scheduled']} send at a given instant"
            f" ({theirs['drivers_with_sched_offload_count']}): {ours['so_txtime']} by SO_TXTIME"
            f" ({theirs['drivers_so_txtime_count']}), {ours['taprio']} by taprio"
            f" ({theirs['drivers_taprio_count']}), {ours['both']} by both"
            f" ({theirs['drivers_both_count']})"
        ),
        (
            "counted is what handles the offload of qdisc etf or taprio; own FCS: SO_NOFCS; bad"
            " frames: ethtool rx-all"
        ),
    ]


def main() -> int:
    """Entry point of `keepon-papers`."""
    with interrupts.ending_interrupts():
        return edge.guard(lambda: app(standalone_mode=False))
