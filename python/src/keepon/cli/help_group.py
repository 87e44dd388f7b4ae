# SPDX-License-Identifier: BSD-3-Clause
"""The commands docs and completion: what came with Keepon for those who use it."""

from __future__ import annotations

import pydoc
import sys
from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import completed
from keepon.cli.manual import completion
from keepon.errors import ConfigError, one_line
from keepon.model import examples

app = typer.Typer()
SHELLS = tuple(completion.FILES)


def pages() -> dict[str, Path]:
    """Files of the pages by name."""
    folder = examples.folder().parent
    found = {path.stem: path for path in folder.glob("docs/[a-z]*.md")}
    first = {"readme": folder / "README.md", "changelog": folder / "CHANGELOG.md"}
    return first | dict(sorted(found.items()))


def _chosen(argument: str, value: str, among: tuple[str, ...]) -> str:
    if value not in among:
        raise ConfigError(
            f'argument {argument} = "{one_line(value)}": must be one of {", ".join(among)};'
            " choose one"
        )
    return value


@app.command("docs")
def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            help="One to read; default: list all.",
            show_default=False,
            autocompletion=completed.of(pages),
        ),
    ] = None,
) -> None:
    """List the pages that came with Keepon, or show one: in the pager of a terminal, into a pipe
    as it is.
    """
    known = pages()
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
    shell: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(SHELLS)}.",
            show_default=False,
            autocompletion=completed.words(*SHELLS),
        ),
    ],
) -> None:
    """Print what makes a shell complete commands of Keepon; only where pip, pipx or uv installed
    it, the Debian package and make install bring it.

    \b
    bash: keepon completion bash > ~/.local/share/bash-completion/completions/keepon
    fish: keepon completion fish > ~/.config/fish/completions/keepon.fish
    zsh:  keepon completion zsh > ~/.zfunc/_keepon, with fpath+=~/.zfunc before compinit
    """
    print(completion.script(_chosen("SHELL", shell, SHELLS)), end="")
