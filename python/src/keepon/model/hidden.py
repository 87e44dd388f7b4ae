# SPDX-License-Identifier: BSD-3-Clause
"""Hidden folders beside a result or a file, in which it is made whole before it takes its place.

Whoever makes one holds a lock on it, which the kernel takes away when the process ends in whatever
way; so what a process that was killed has left can be told, and be taken away by the next.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from keepon_host.interrupts import finish_first

finish_first(__file__)

_MARK: Final = "keepon-"
_SET_ASIDE: Final = "earlier-"
EARLIER: Final = "earlier"
"""Name of what was set aside in its folder."""
SIGN: Final = ".made-by-keepon"
"""A file in each: by its name alone a folder may be anybody's."""
placed: Final[list[Path]] = []
"""What this command has made that is whole and in its place; whoever begins one empties it."""


def _prefix(folder: Path, kind: str = "") -> str:
    return f".{folder.name}.{_MARK}{kind}"


def _locked(place: Path, is_waiting: bool) -> int | None:
    """A lock on a folder; None if it is gone, or there are none, or, unless it waits, if somebody
    has it.
    """
    try:
        held = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | (0 if is_waiting else fcntl.LOCK_NB))
    except OSError:
        os.close(held)
        return None
    return held


class beside:  # noqa: N801 (used as a function)
    """A new hidden folder beside `folder`, that is gone afterwards unless it was moved. No command
    ends within its steps, only in the block between them.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, folder: Path, is_for_earlier: bool = False) -> None:
        self._folder = folder
        self._is_for_earlier = is_for_earlier

    def __enter__(self) -> Path:
        kind = _SET_ASIDE if self._is_for_earlier else ""
        self._place, self._held = _made(self._folder.parent, _prefix(self._folder, kind))
        if self._is_for_earlier:
            return self._place
        try:
            (self._place / "new").mkdir()
        except OSError:
            self.__exit__()
            raise
        return self._place / "new"

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)


def can_be_made(folder: Path) -> None:
    """Make one and take it away. Here, so that no command ends between both.

    Raises:
        OSError: it cannot be made.
    """
    with beside(folder):
        pass


def _made(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """A new folder and our lock on it; without one where there are none, and nobody takes it away
    either.
    """
    while True:
        place = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        held = _locked(place, is_waiting=True)
        if place.exists():
            _sign(place)
            return place, held
        # Somebody who tidies up had it before us.
        if held is not None:
            os.close(held)


def _sign(place: Path) -> None:
    try:
        (place / SIGN).write_text("Unfinished; the next command to the same place removes it.\n")
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        raise


def put(work: Path, place: Path) -> None:
    """A file takes the place of another one or of nothing, a folder that of nothing.

    Raises:
        OSError: it failed.
    """
    work.replace(place)
    while placed and placed[-1].is_relative_to(work):  # what it was made of is no more there
        placed.pop()
    placed.append(place)


def take_place(work: Path, folder: Path) -> None:
    """`work` becomes `folder`; if that fails, what was there is there again.

    Raises:
        OSError: it failed.
    """
    if not folder.exists():
        put(work, folder)
        return
    with beside(folder, is_for_earlier=True) as aside:
        folder.replace(aside / EARLIER)
        try:
            put(work, folder)
        except BaseException:
            if not folder.exists():
                (aside / EARLIER).replace(folder)
            raise


@contextmanager
def for_folder(folder: Path) -> Iterator[Path]:
    """A new hidden folder that becomes `folder` when the block ends well. Here, so that no command
    ends between its steps.

    Raises:
        OSError: it failed.
    """
    with beside(folder) as work:
        yield work
        work.chmod(0o755)
        take_place(work, folder)


def take_away(folder: Path) -> None:
    """Take away what processes that are no more have left beside `folder`; an earlier result that
    one had set aside comes back if nothing has taken its place.
    """
    form = re.compile(re.escape(_prefix(folder)) + rf"({_SET_ASIDE})?[a-z0-9_]{{8}}")
    try:
        found = sorted(place for place in folder.parent.iterdir() if form.fullmatch(place.name))
    except OSError:
        return
    for place in found:
        held = _locked(place, is_waiting=False)
        if held is None:
            continue
        try:
            if not (place / SIGN).is_file():
                continue
            earlier = place / EARLIER
            if earlier.is_dir() and not folder.exists():
                earlier.replace(folder)
            shutil.rmtree(place, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(held)
