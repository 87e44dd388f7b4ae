# SPDX-License-Identifier: BSD-3-Clause
"""Commands that README and documents tell people to type are commands there are: words, options,
targets of make, examples.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from helpers import ROOT
from keepon.cli.app import app
from keepon_host import cli

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CALLED = re.compile(r"(?:sudo )?(?:\.venv/bin/)?keepon (?P<words>[a-z].*)")
# A synopsis, or words for more than one command.
NOT_TYPED = re.compile(r"\.\.\.|\||\[|bind\|unbind")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def typed(path: Path) -> Iterator[str]:
    """Lines of blocks of code, without comments."""
    fenced = False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield re.sub(r"\s+(#|&$|>|2>).*", "", line.strip())


def commands(path: Path) -> list[list[str]]:
    found = [CALLED.fullmatch(line) for line in typed(path)]
    lines = [match["words"] for match in found if match and not NOT_TYPED.search(match["words"])]
    return [shlex.split(line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_is_understood(path: Path) -> None:
    for words in commands(path):
        # Both raise what would be said of a wrong option or a missing word, and carry nothing out.
        if cli.verb_of(words) is not None:
            cli.parsed(words)
            continue
        command, rest = typer.main.get_command(app), list(words)
        context = command.make_context("keepon", [], resilient_parsing=True)
        while hasattr(command, "commands"):
            name = rest.pop(0) if rest else ""
            command = command.get_command(context, name)
            assert command is not None, words
        context = command.make_context("keepon", rest)
        assert context.info_name == "keepon", words


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_target_of_make_and_every_example_is_there(path: Path) -> None:
    for line in typed(path):
        for target in re.findall(r"^(?:sudo )?make ([a-z-]+)$", line):
            assert target in TARGETS, line
        for example in re.findall(r"examples/\S+\.toml", line):
            assert (ROOT / example).is_file(), line


def test_the_readme_has_commands_to_be_judged() -> None:
    words = commands(ROOT / "README.md")
    assert {"new", "plan", "run", "doctor", "start", "stop"} <= {each[0] for each in words}


def test_files_in_commands_of_the_readme_are_there_or_were_made_before() -> None:
    made: set[str] = set()
    for words in commands(ROOT / "README.md"):
        files = [word for word in words if word.endswith((".json", ".toml"))]
        new = {words[2]} if words[0] == "new" else set()
        new |= {word for option, word in itertools.pairwise(words) if option == "--out"}
        for file in files:
            assert file in made | new or (ROOT / file).is_file(), words
        made |= new
