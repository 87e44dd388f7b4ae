# SPDX-License-Identifier: BSD-3-Clause
"""One command at a time has an interface: lo stands for one, with a folder of its own for /run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keepon
import pytest
from keepon.errors import EnvironmentProblemError
from keepon_host import hold
from keepon_host import journal as journals
from keepon_host.journal import STARTED, Journal

# Another process: holds lo, says so, and ends when its input does.
OTHER = """
import sys
from pathlib import Path
from keepon_host import hold
from keepon_host import journal
journal.FOLDER = Path(sys.argv[1])
held = hold.hold("lo")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(journals, "FOLDER", tmp_path / "run")
    yield tmp_path / "run"


@pytest.mark.parametrize("end", ["stdin", "kill"])
def test_it_is_held_as_long_as_the_other_lives(folder: Path, end: str) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None and other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    said = "^another keepon command is at work with lo; wait for its end$"
    with pytest.raises(EnvironmentProblemError, match=said), hold.holding("lo"):
        pass
    if end == "kill":
        other.kill()
    other.communicate()
    with hold.holding("lo"):
        pass


def test_one_that_is_set_up_is_refused_and_not_held(folder: Path) -> None:
    with hold.holding("lo"):
        pass  # makes the folder
    journal = Journal(
        journals.netns(), int(Path("/sys/class/net/lo/ifindex").read_text()), "lo", "station a",
        state=STARTED, boot=journals.boot(),
    )  # fmt: skip
    journals.save(journal)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        said = "^lo is set up by keepon start, as station a; .* keepon stop lo$"
        with pytest.raises(EnvironmentProblemError, match=said), hold.holding("lo"):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "a lock was left open"
    journal.state = journals.STARTING
    journals.save(journal)
    with pytest.raises(EnvironmentProblemError, match="lo is half set up by keepon start"):
        hold.hold("lo")


def test_what_is_not_there_is_not_held(folder: Path) -> None:
    assert hold.hold("none0") is None
    assert not folder.exists()


def test_a_journal_of_a_namespace_that_has_gone_is_of_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Linux gives its number to another."""
    monkeypatch.setattr(journals, "FOLDER", tmp_path)
    kept = Journal(1, 2, "eth0", "station x", boot=journals.boot())
    journals.save(kept)
    assert journals.read(kept.path) == kept
    apart = ["unshare", "--net", sys.executable, "-S", "-c"]
    other = subprocess.run(
        [*apart, "from keepon_host import journal; print(journal.boot())"],
        capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(Path(keepon.__file__).parents[1])},
    ).stdout.strip()  # fmt: skip
    assert other.partition(".")[0] == kept.boot.partition(".")[0] and other != kept.boot
    journals.save(replace(kept, boot=other))
    assert journals.read(kept.path) is None
