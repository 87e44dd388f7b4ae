# SPDX-License-Identifier: BSD-3-Clause
"""Stdout that is closed, full, of another encoding, or whose reader has gone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from keepon.cli import edge
from keepon.errors import EXIT_INTERRUPTED, ConfigError
from keepon.model import documents

KEEPON = [sys.executable, "-m", "keepon"]
# What is kept in a buffer fails at exit only; a shell may have asked for none.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
ALONE = [sys.executable, "-m", "keepon_host", "link"]
COMMANDS = {
    "table": [*KEEPON, "plan", str(Path(__file__).parents[2] / "examples" / "gptp.toml")],
    "text": [*KEEPON, "--help"],
    # With nothing but Python.
    "alone": [*ALONE, "show", "--json"],
}


def run(command: list[str], out: str) -> subprocess.CompletedProcess[str]:
    words = ["sh", "-c", f'"$@" {out}', "sh", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=BUFFERED)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_closed(command: list[str]) -> None:
    done = run(command, ">&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_full(command: list[str]) -> None:
    done = run(command, ">/dev/full")
    assert done.returncode == 3
    assert done.stderr == (
        "keepon: the output cannot be written (No space left on device); send it elsewhere\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_reader_that_has_gone(command: list[str]) -> None:
    near, far = os.pipe()
    os.close(near)
    done = subprocess.run(
        command, stdout=far, stderr=subprocess.PIPE, text=True, check=False,
        env=BUFFERED,
    )  # fmt: skip
    os.close(far)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.slow
def test_another_encoding(tmp_path: Path) -> None:
    done = subprocess.run(
        [*KEEPON, "new", "line", str(tmp_path / "é.toml")], env={"PYTHONIOENCODING": "ascii"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9.toml: written" in done.stdout


@pytest.mark.slow
def test_names_of_folders_are_no_markup(tmp_path: Path) -> None:
    scenario = str(Path(__file__).parents[2] / "examples" / "two-stations.toml")
    folders = [str(tmp_path / name) for name in ("[red]x", "a[", "名前")]
    for folder in folders:
        subprocess.run(
            [*KEEPON, "run", scenario, "--duration", "0.02", "--out", folder],
            capture_output=True, check=True,
        )  # fmt: skip
    folders[1] += "/../a["
    done = subprocess.run(
        [*KEEPON, "compare", *folders], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(folder in done.stdout for folder in folders)


def test_what_is_no_file_is_written_into_and_stays(tmp_path: Path) -> None:
    """As root the machine's /dev/null was replaced by a file."""
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("earlier")
    link.symlink_to(target)
    documents.write_text(link, "new", "choose another")
    assert link.is_symlink() and target.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    documents.write_text(pipe, "through", "choose another")
    assert os.read(reader, 100) == b"through" and stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)
    documents.write_text(Path("/dev/null"), "gone", "choose another")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_file_in_shared_memory_is_whole_or_as_it_was(tmp_path: Path) -> None:
    """And may be read by whom the umask lets."""
    place = Path("/dev/shm") / f"keepon-{tmp_path.name}-{os.getpid()}"
    place.write_text("earlier")
    mask = os.umask(0o077)
    try:
        earlier = place.stat().st_ino
        documents.write_text(place, "new", "choose another")
        assert place.read_text() == "new" and place.stat().st_ino != earlier
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    finally:
        os.umask(mask)
        place.unlink()


def test_a_link_to_a_result_folder_stays_one(tmp_path: Path) -> None:
    place, link = tmp_path / "elsewhere", tmp_path / "out"
    place.mkdir()
    link.symlink_to(place)
    with documents.result_folder(link) as half:
        (half / documents.RESULT_FILE).write_text("{}")
    assert link.is_symlink() and (place / documents.RESULT_FILE).read_text() == "{}"


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("out", [">/dev/full 2>/dev/full", ">/dev/full 2>&1"])
def test_all_of_it_is_full_and_the_exit_code_says_so(command: list[str], out: str) -> None:
    """1 would be: compared, and worse; or planned, and missed."""
    assert run(command, out).returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize("module", ["keepon plan", "keepon_host link fit"])
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(module: str) -> None:
    command = [sys.executable, "-m", *module.split(), "/no-such-file"]
    assert run(command, "").returncode == run(command, "2>/dev/full").returncode == 2


def test_an_end_while_an_error_is_printed_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise ConfigError("key `a`: is none")

    def say(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(edge, "say", say)
    assert (edge.guard(refused), capsys.readouterr().err) == (EXIT_INTERRUPTED, "")
