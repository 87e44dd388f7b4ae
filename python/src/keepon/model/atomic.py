# SPDX-License-Identifier: BSD-3-Clause
"""Files and folders that appear whole or not at all: each is made in a hidden folder beside its
place and moved there. No command ends in between.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from keepon_host.interrupts import deferred

EARLIER: Final = "earlier"
"""Name of a folder that is being replaced, in the hidden one."""
placed: Final[list[Path]] = []
"""What this command has made that is whole and in its place; empty when a command begins."""


@contextmanager
def _hidden(place: Path) -> Iterator[Path]:
    with (
        deferred(),
        tempfile.TemporaryDirectory(
            dir=place.parent, prefix=f".{place.name}.keepon-", ignore_cleanup_errors=True
        ) as work,
    ):
        yield Path(work)


def check_writable(place: Path) -> None:
    """Raises OSError: what can be made here cannot be made there."""
    with _hidden(place):
        pass


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Where to write a file that becomes `path` when the block ends well.

    Raises:
        OSError: it failed; what was there is there still.
    """
    with _hidden(path) as work:
        yield work / path.name
        (work / path.name).replace(path)
        placed.append(path)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A new folder that becomes `folder` when the block ends well.

    Raises:
        OSError: it failed; what was there is there still.
    """
    with _hidden(folder) as hidden:
        work, earlier = hidden / "new", hidden / EARLIER
        work.mkdir()
        files = len(placed)
        try:
            yield work
        finally:
            del placed[files:]  # what is within has no place of its own
        work.chmod(0o755)
        if folder.exists():
            folder.replace(earlier)
        try:
            work.replace(folder)
        except BaseException:
            if earlier.exists():
                earlier.replace(folder)
            raise
        placed.append(folder)
