# SPDX-License-Identifier: BSD-3-Clause
"""Puts exported texts in their place: a folder or a file appears whole or not at all, and nothing
else is replaced.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.export.exported import Exported
from keepon.model import atomic
from keepon.model.documents import begins, check_replaces, read, schema_of, write_text

MANIFEST_FILE = "export.json"
EXPORT_SCHEMA = "keepon.export/1"


_REMEDY = "choose another place with --out"


def _problem(path: Path, error: OSError) -> EnvironmentProblemError:
    return EnvironmentProblemError(
        f"{path}: cannot be written ({error.strerror or error}); {_REMEDY}"
    )


def _foreign(folder: Path) -> str | None:
    """A file in the folder that an earlier export did not write; None if there is none."""
    names = sorted(entry.name for entry in folder.iterdir())
    if not names:
        return None
    if MANIFEST_FILE not in names or schema_of(folder / MANIFEST_FILE) != EXPORT_SCHEMA:
        return names[0]
    known = read(folder / MANIFEST_FILE, EXPORT_SCHEMA).get("files")
    listed = [MANIFEST_FILE, *(known if isinstance(known, list) else [])]
    return next((name for name in names if name not in listed), None)


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that is in use.

    Raises:
        ConfigError: it is a file, or holds something and `force` is false, or holds what no export
            wrote.
    """
    if not (folder.exists() or folder.is_symlink()):
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ConfigError(
            f"option --out = {folder}: is not a folder and this format needs one; choose another"
            " name"
        )
    if not any(folder.iterdir()):
        return
    foreign = _foreign(folder)
    if foreign is not None:
        raise ConfigError(
            f'option --out = {folder}: holds "{foreign}", which no export wrote; choose a new or an'
            " empty folder"
        )
    if not force:
        raise ConfigError(
            f"option --out = {folder}: exists; choose another folder or replace it with --force"
        )


def check_file(path: Path, force: bool, form: str) -> None:
    """Refuse a file that is there already.

    Args:
        form: a regular expression for how each export of this format begins.

    Raises:
        ConfigError: it is a folder, or it exists and `force` is false, or it is of another format.
    """
    if path.is_dir():
        raise ConfigError(
            f"option --out = {path}: is a folder and this format is one file; name a file"
        )
    if (path.exists() or path.is_symlink()) and not force:
        raise ConfigError(
            f"option --out = {path}: exists; choose another name or replace it with --force"
        )
    check_replaces("--out", path, begins(form), "an export of this format")


def write_file(path: Path, text: str) -> None:
    """Write one file whole; the folder around it is made.

    Raises:
        EnvironmentProblemError: the place is not writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _problem(path, error) from error
    write_text(path, text, _REMEDY)


def write_folder(folder: Path, exported: Exported, manifest: dict[str, Any]) -> None:
    """Write a folder of texts with its manifest; scripts become executable.

    Raises:
        EnvironmentProblemError: the place is not writable.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic.new_folder(folder) as work:
            for name, text in {
                **exported.files,
                MANIFEST_FILE: json.dumps(manifest, indent=1) + "\n",
            }.items():
                (work / name).write_text(text, encoding="utf-8", newline="\n")
                (work / name).chmod(0o755 if text.startswith("#!") else 0o644)
    except OSError as error:
        raise _problem(folder, error) from error
