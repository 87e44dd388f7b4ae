# SPDX-License-Identifier: BSD-3-Clause
"""The commands on results (report, compare) and on what came with Keepon (docs, completion)."""

from __future__ import annotations

import pydoc
import sys
from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import completion, papers, shared
from keepon.cli.options import Json, among, argument, check_apart, completing, named, option
from keepon.errors import EXIT_MET, EXIT_MISSED, ConfigError, one_line
from keepon.model import documents, examples, resultfolder
from keepon.report import compared, terminal
from keepon.report import page as report

app = typer.Typer()


@app.command("report")
def report_command(
    folder: Annotated[Path, argument("Result folder.")],
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        option(
            "--picture",
            "SVG of how far frames left from their instants, too.",
            metavar="FILE",
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
    folders: Annotated[list[Path], argument("Two or more result folders.")],
    out: Annotated[
        Path | None,
        option(
            "--out",
            "HTML page with the delays over each other, too.",
            metavar="FILE",
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


SHELLS = tuple(completion.FILES)


def manual_pages() -> dict[str, Path]:
    """Files of the pages by name."""
    folder = examples.folder().parent
    found = {path.stem: path for path in folder.glob("docs/[a-z]*.md")}
    first = {"readme": folder / "README.md", "changelog": folder / "CHANGELOG.md"}
    return first | dict(sorted(found.items()))


def _chosen(name: str, value: str, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ConfigError(
            f'argument {name} = "{one_line(value)}": must be one of {", ".join(words)}; choose one'
        )
    return value


@app.command("docs")
def docs(
    page: Annotated[
        str | None,
        argument("One to read; default: list all.", autocompletion=completing(manual_pages)),
    ] = None,
) -> None:
    """List the pages that came with Keepon, or show one: in the pager of a terminal, into a pipe
    as it is.
    """
    known = manual_pages()
    if page is None:
        for name, path in known.items():
            title, _, _ = path.read_text(encoding="utf-8").partition("\n")
            print(f"{name:<20} {title.strip('# ')}")
        print(f"files: {known['readme'].parent}")
        return
    text = known[_chosen("PAGE", page, tuple(known))].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        pydoc.pager(text)
    else:
        print(text, end="")


@app.command("completion")
def completion_command(
    shell: Annotated[str, argument(f"{', '.join(SHELLS)}.", autocompletion=among(*SHELLS))],
) -> None:
    """Print what makes a shell complete commands of Keepon; only where pip, pipx or uv installed
    it, the Debian package and make install bring it.

    \b
    bash: keepon completion bash > ~/.local/share/bash-completion/completions/keepon
    fish: keepon completion fish > ~/.config/fish/completions/keepon.fish
    zsh:  keepon completion zsh > ~/.zfunc/_keepon, with fpath+=~/.zfunc before compinit
    """
    print(completion.script(_chosen("SHELL", shell, SHELLS)), end="")
