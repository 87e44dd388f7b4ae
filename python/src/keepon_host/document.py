# SPDX-License-Identifier: BSD-3-Clause
"""A JSON document that a command leaves: it replaces only an earlier one of its kind."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line

BYTES_MAX = 2**28
"""Longer files are not read."""


def _is_of(path: Path, kind: str) -> bool:
    if path.stat().st_size > BYTES_MAX:
        return False
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and str(found.get("schema")).startswith(f"keepon.{kind}/")


def check_replaces(option: str, path: Path | None, kind: str) -> None:
    """Refuse to replace a file that is not empty and not a document of schema `keepon.KIND/`.

    Raises:
        ConfigError: it is another one.
        EnvironmentProblemError: it cannot be read.
    """
    if path is None or not path.is_file():
        return
    try:
        if not path.stat().st_size or _is_of(path, kind):
            return
    except OSError as error:
        raise _unwritable(path, error) from error
    raise ConfigError(
        f'option {option} = "{one_line(path)}": is there and is not a document of {kind}, so it'
        " would be lost; choose another name"
    )


def write(path: Path, document: Mapping[str, object]) -> None:
    """Readers see the old file or the new one; what is no file, as /dev/stdout, is written into.

    Raises:
        EnvironmentProblemError: the place cannot be written.
    """
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    try:
        if path.exists() and not path.is_file():
            with path.open("a", encoding="utf-8") as stream:
                stream.write(text)
            return
        place = Path(os.path.realpath(path))
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=place.parent, prefix=f".{place.name}.", delete=False
        ) as draft:
            new = Path(draft.name)
            try:
                draft.write(text)
                draft.flush()
                new.chmod(0o644)
                new.replace(place)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> EnvironmentProblemError:
    return EnvironmentProblemError(
        f"{path}: cannot be written ({error.strerror}); choose another folder"
    )
