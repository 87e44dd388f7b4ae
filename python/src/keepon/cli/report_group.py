# SPDX-License-Identifier: BSD-3-Clause
"""The commands on results: report and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import papers, shared
from keepon.cli.options import Json, check_apart, named
from keepon.errors import EXIT_MET, EXIT_MISSED, ConfigError
from keepon.model import documents, resultfolder
from keepon.report import compared, terminal
from keepon.report import page as report

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
    if documents.schema_of(folder / documents.RESULT_FILE) == documents.STUDY_SCHEMA:
        if picture is not None:
            raise ConfigError(
                f"option --picture = {picture}: not for a study; its page has its plots"
            )
        papers.report("study")(folder, as_json)
        return
    check_apart("--picture", picture, *_inputs(folder))
    documents.check_replaces("--picture", picture, documents.begins(documents.SVG), "a picture")
    result, planned = resultfolder.read(folder)
    extra_path = folder / documents.REPRODUCTION_FILE
    more = papers.report("reproduction")(extra_path) if extra_path.exists() else ""
    path = folder / documents.REPORT_FILE
    documents.write_text(path, report.render(result, planned, more), "check the permissions")
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


COMPARED = r"\s*(?:<!--.*?-->\s*)*<!DOCTYPE html>.*<title>Keepon: \d+ results compared</title>"
"""How a page of `compare` begins."""


def _inputs(folder: Path) -> list[Path]:
    """Files of a result folder, which keep their names."""
    names = (documents.RESULT_FILE, documents.PLAN_FILE, documents.SCENARIO_FILE)
    more = (documents.CAPTURE_FILE, documents.REPRODUCTION_FILE, documents.REPORT_FILE)
    return [folder / name for name in (*names, *more)]


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
