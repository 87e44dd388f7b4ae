# SPDX-License-Identifier: BSD-3-Clause
"""The commands on results: report, compare and reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from keepon_host import interrupts

from keepon.cli import completed, edge, session, shared
from keepon.cli.options import CaptureFrames, Duration, Json, Out, Seed, check_apart, named
from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, ConfigError, shell_path
from keepon.model import documents, examples, outcomes, resultfolder
from keepon.model.reproduction import read as read_reproduction
from keepon.model.study import STUDY_SCHEMA
from keepon.model.study import read as read_study
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import compared, output, tables, terminal
from keepon.report import page as report
from keepon.studies import casestudy, registry
from keepon.studies.spread import Spread, read
from keepon.studies.study import Study
from keepon.studies.study import run as run_study

app = typer.Typer()


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Result folder.", show_default=False)],
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="SVG of how far frames left from their instants, too.",
            show_default=False,
            callback=named,
        ),
    ] = None,
) -> None:
    """Write report.html of a result folder again and print its table."""
    if documents.schema_of(folder / documents.RESULT_FILE) == STUDY_SCHEMA:
        if picture is not None:
            raise ConfigError(
                f"option --picture = {picture}: not for a study; its page has its plots"
            )
        _report_study(folder, as_json)
        return
    check_apart("--picture", picture, *_inputs(folder))
    documents.check_replaces("--picture", picture, documents.begins(SVG), "a picture")
    result, planned = resultfolder.read(folder)
    extra_path = folder / documents.REPRODUCTION_FILE
    extra = read_reproduction(extra_path) if extra_path.exists() else None
    path = folder / documents.REPORT_FILE
    documents.write_text(path, report.render(result, planned, extra), "check the permissions")
    if picture is not None:
        # Loads matplotlib, which the page does not need.
        from keepon.report.picture import release_errors

        remedy = "choose another place with --picture"
        documents.write_text(picture, release_errors(result), remedy)
    if as_json:
        shared.print_json(report.comparison(result))
        return
    shared.print_delays(result)
    print(f"report: {folder / documents.REPORT_FILE}")


SVG = r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg\b"
COMPARED = r"\s*(?:<!--.*?-->\s*)*<!DOCTYPE html>.*<title>Keepon: \d+ results compared</title>"
"""How a picture and a page of `compare` begin."""


def _inputs(folder: Path) -> list[Path]:
    """Files of a result folder, which keep their names."""
    names = (documents.RESULT_FILE, documents.PLAN_FILE, documents.SCENARIO_FILE)
    more = (documents.CAPTURE_FILE, documents.REPRODUCTION_FILE, documents.REPORT_FILE)
    return [folder / name for name in (*names, *more)]


def _report_study(folder: Path, as_json: bool) -> None:
    document = read_study(folder / documents.RESULT_FILE)
    path = folder / documents.REPORT_FILE
    documents.write_text(path, output.html(document), "check the permissions")
    if as_json:
        shared.print_json([row for part in document["parts"] for row in part["compared"]])
        return
    output.show(document)
    print(f"report: {path}")


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Two or more result folders.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="HTML page with the delays over each other, too.",
            show_default=False,
            callback=named,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put several result folders side by side; exit 1 if a later one has a greater worst delay or a
    worse outcome.
    """
    if len(folders) < 2:
        raise ConfigError(
            "compare: needs at least two result folders; name the one to compare with first"
        )
    check_apart("--out", out, *(path for folder in folders for path in _inputs(folder)))
    documents.check_replaces("--out", out, documents.begins(COMPARED), "such a page")
    members = [compared.Member(str(folder), resultfolder.read(folder)[0]) for folder in folders]
    compared.check_related(members)
    rows = compared.side_by_side(members)
    worse = [row for row in rows if row["worse"]]
    if out is not None:
        documents.write_text(out, compared.render(members, rows), "choose another place with --out")
    if as_json:
        names = sorted({member.result["scenario"] for member in members})
        shared.print_json({"rows": rows, "worse": len(worse), "scenarios": names})
    else:
        terminal.say("delay, us: mean / max, outcome")
        terminal.show(compared.table(members, rows))
        terminal.say(
            f"{len(worse)} of {len(rows)} have a greater worst delay or a worse outcome than in"
            f" {folders[0]}"
        )
        for line in compared.differences(members):
            terminal.say(line)
        if out is not None:
            print(f"page: {out}")
    raise typer.Exit(EXIT_MISSED if worse else EXIT_MET)


@app.command("reproduce")
def reproduce_command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            autocompletion=completed.studies,
            help=f"{', '.join(('habitat', *registry.STUDIES))}, or a scenario file like habitat's.",
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
            help="Dask scheduler whose workers do it instead.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """A published figure again, ours beside the published: the habitat case study in full, or a
    study by its name.
    """
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
            outcome, extra = session.reproduce_scenario(
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
        for line in tables.reproduction_lines(extra):
            terminal.say(line)
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
    if as_json:
        shared.print_json(document)
    else:
        output.show(document)
        page = shell_path(folder / documents.REPORT_FILE)
        terminal.say(f"result folder: {shell_path(folder)}  (report: {page})")
    if document.get("interrupted", False):
        edge.say(
            f"interrupted; {document['attempted']} sets were decided, the others are left out of"
            f" {folder}"
        )
        edge.Settings.concluded = True
        return EXIT_INTERRUPTED
    return EXIT_INTERRUPTED if seen else EXIT_MET if document["met"] else EXIT_MISSED
