# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes our JSON files and result folders: schema checked on reading, whole or not at
all on writing.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from keepon.errors import ConfigError, EnvironmentProblemError, TraceError, one_line
from keepon.model import atomic, validation
from keepon.model.lines import DIGITS_MAX

PACKAGE = "keepon.model"
"""Has the JSON Schemas of all files but those of studies."""
SVG = r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg\b"
"""How a picture begins."""
RESULT_FILE = "result.json"
PLAN_FILE = "plan.json"
SCENARIO_FILE = "scenario.toml"
CAPTURE_FILE = "capture.pcapng"
REPORT_FILE = "report.html"
REPRODUCTION_FILE = "reproduction.json"
RESULT_FILES = (
    RESULT_FILE, PLAN_FILE, SCENARIO_FILE, CAPTURE_FILE, REPORT_FILE, REPRODUCTION_FILE,
)  # fmt: skip
TABLE_FILES = "packets-*.csv"
"""What the tables of packets are called that targets vm and host leave in a result folder."""
STUDY_SCHEMA = "keepon.study/1"
"""What a result file is in the result folder of a published study."""
RESULT_SCHEMAS = ("keepon.result/", "keepon.study/")
DAMAGED = "the file is damaged or of another version, make it again"
NUMBER_MAX = 1e100
BYTES_MAX = 2**28
"""Of files that are read to see whether they are ours."""
SIGN_BYTES = 65_536
"""By so much of its beginning a file is known as one of ours."""
IsOurs = Callable[[Path], bool]


def finite(text: str) -> float:
    """A number of a JSON file.

    Raises:
        ValueError: it is none that a float can hold, or whose powers one could not.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{one_line(text)} is no finite number")
    if abs(value) > NUMBER_MAX:
        raise ValueError(f"{one_line(text)} is beyond {NUMBER_MAX:g}, as no number here is")
    return value


def whole(text: str) -> int:
    """A whole number of a JSON file.

    Raises:
        ValueError: it has more digits than one that Python converts.
    """
    if len(text) > DIGITS_MAX:
        raise ValueError(f"{one_line(text, 20)} has more than {DIGITS_MAX} digits")
    return int(text)


def _whole(text: str) -> int:
    """A whole number of a document, in which each is divided or drawn as a float somewhere."""
    value = whole(text)
    finite(text)
    return value


def _parsed(path: Path) -> Any:
    try:
        return json.loads(
            path.read_text(encoding="utf-8-sig"),
            parse_int=_whole,
            parse_float=finite,
            parse_constant=finite,
        )
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TraceError(
            f"{path}: not JSON ({one_line(error, 200)}); make the file again"
        ) from error


def read(path: Path, schema: str) -> dict[str, Any]:
    """A JSON file of ours.

    Raises:
        TraceError: it cannot be read, is not JSON, or has another schema.
    """
    document = _parsed(path)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise TraceError(
            f'{path}: key `schema` = "{one_line(found)}": must be "{schema}"; this version reads no'
            " other"
        )
    return dict(document)


def read_whole(path: Path, schema: str, kind: Any, may_lack: Container[str] = ()) -> dict[str, Any]:
    """A JSON file of ours that has all its parts.

    Args:
        kind: the document's type.
        may_lack: keys that files of earlier versions do not have.

    Raises:
        TraceError: as `read`, or it is not of its type.
    """
    document = read(path, schema)
    check(path, document, kind, may_lack=may_lack)
    return document


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Makes the schema of a plan or a result, some 20 ms, once."""
    return TypeAdapter(kind)


def check(
    source: object,
    document: Mapping[str, Any],
    kind: Any,
    remedy: str = DAMAGED,
    may_lack: Container[str] = (),
) -> Any:
    """What was read of a file as its type has it: its dataclasses made.

    Args:
        source: what to call the file in messages.

    Raises:
        TraceError: one sentence on the first key that is wrong; it ends with the remedy.
    """
    try:
        # Strictly, and still a table becomes a dataclass: pydantic does both only of JSON.
        return _adapter(kind).validate_json(json.dumps(document), strict=True)
    except ValidationError as failure:
        if wrong := validation.first(failure, document, may_lack=may_lack):
            value = "missing" if wrong.is_missing else one_line(wrong.value)
            raise TraceError(
                f"{source}: key `{wrong.key}` = {value}: {wrong.rule}; {remedy}"
            ) from None
        return document


def schema_of(path: Path) -> str | None:
    """What a JSON file says it is; None if it says nothing.

    Raises:
        TraceError: it cannot be read or is not JSON.
    """
    found = _parsed(path)
    name = found.get("schema") if isinstance(found, dict) else None
    return name if isinstance(name, str) else None


def write(path: Path, document: Mapping[str, object]) -> None:
    """Write JSON so that readers see the old file or the new one, never half of it.

    Raises:
        EnvironmentProblemError: the place is not writable.
    """
    with _replacing(path, "choose another folder") as handle:
        json.dump(document, handle, indent=1, allow_nan=False)
        handle.write("\n")


def write_text(path: Path, text: str, remedy: str) -> None:
    """The same of a text, which is UTF-8 in the file.

    Raises:
        EnvironmentProblemError: the place is not writable; the sentence ends with the remedy.
    """
    with _replacing(path, remedy) as handle:
        handle.write(text)


_STREAM = re.compile(
    r"/+(?:dev/(?:(stdin|stdout|stderr)|fd/(\d+))|proc/self/fd/(\d+)|proc/[^/]+/fd/\d+)"
)
LINKS_MAX = 40


def _stream(path: Path) -> re.Match[str] | None:
    """Whether this names a file that a process has open, by whatever links: what is there is
    written into.
    """
    for _ in range(LINKS_MAX):
        if found := _STREAM.fullmatch(str(path)):
            return found
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


@contextmanager
def _replacing(path: Path, remedy: str) -> Iterator[TextIO]:
    """A file that takes the place of `path`, of what that is a link to, or of nothing: what is no
    file, such as /dev/stdout, is written into.
    """
    special = _stream(path) or not (path.is_file() or path.is_dir())
    if path.exists() and special:
        try:
            with _opened(path) as handle:
                yield handle
        except OSError as error:
            raise _unwritable(path, error, remedy) from error
        return
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        with atomic.new_file(path) as draft, draft.open("w", encoding="utf-8") as handle:
            yield handle
    except OSError as error:
        raise _unwritable(path, error, remedy) from error


def _opened(path: Path) -> TextIO:
    """A pipe, a terminal; or a file that the command has open, behind what is in it: by its name it
    would be opened from its beginning.
    """
    found = _stream(path)
    names = {"stdin": 0, "stdout": 1, "stderr": 2}
    number = next((each for each in found.groups() if each), None) if found else None
    if number is None:
        return path.open("a", encoding="utf-8")
    sys.stdout.flush()
    return os.fdopen(
        os.dup(names[number] if number in names else int(number)), "w", encoding="utf-8"
    )


def _unwritable(path: Path, error: OSError, remedy: str) -> EnvironmentProblemError:
    return EnvironmentProblemError(f"{path}: cannot be written ({error.strerror}); {remedy}")


def json_schema(name: str, package: str = PACKAGE) -> dict[str, Any]:
    """The JSON Schema of a file kind, such as scenario, plan or result, in a package."""
    text = (
        resources.files(package).joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")
    )
    schema: dict[str, Any] = json.loads(text)
    return schema


def _foreign(folder: Path) -> str | None:
    """A name in the folder that no run wrote; None if there is none."""
    entries = sorted(folder.iterdir())
    if any(entry.name == RESULT_FILE for entry in entries):
        try:
            is_ours = any(has_schema(each)(folder / RESULT_FILE) for each in RESULT_SCHEMAS)
        except OSError:
            is_ours = False
        if not is_ours:
            return RESULT_FILE
    elif entries:
        return entries[0].name
    ours = (*RESULT_FILES, TABLE_FILES)
    return next(
        (
            entry.name
            for entry in entries
            if not any(fnmatchcase(entry.name, each) for each in ours) or not entry.is_file()
        ),
        None,
    )


def has_schema(name: str) -> IsOurs:
    """Whether a file is JSON whose key `schema` begins so."""

    def is_ours(path: Path) -> bool:
        try:
            return path.stat().st_size <= BYTES_MAX and (schema_of(path) or "").startswith(name)
        except TraceError:
            return False

    return is_ours


def begins(form: str) -> IsOurs:
    """Whether a file begins with what this regular expression matches."""

    def is_ours(path: Path) -> bool:
        with path.open("rb") as handle:
            head = handle.read(SIGN_BYTES).decode(errors="replace")
        return re.match(form, head, re.DOTALL) is not None

    return is_ours


def check_replaces(option: str, path: Path | None, is_ours: IsOurs, kind: str) -> None:
    """Refuse to write over a file that is not an earlier one of its kind.

    Args:
        is_ours: whether a file is one.

    Raises:
        ConfigError: it is another, and not empty.
        EnvironmentProblemError: it cannot be read.
    """
    if path is None or _stream(path) or not path.is_file():
        return
    try:
        if not path.stat().st_size or is_ours(path):
            return
    except OSError as error:
        raise _unwritable(path, error, f"choose another place with {option}") from error
    raise ConfigError(
        f'option {option} = "{one_line(path)}": is there and is not {kind}, so it would be'
        " lost; choose another name"
    )


def check_target(folder: Path) -> None:
    """Refuse, before any work is done, a result folder that could not be written or is not ours to
    replace.

    Raises:
        ConfigError: it is a file or a folder that holds something else.
        EnvironmentProblemError: its parent cannot be made or written.
    """
    if folder.exists():
        if not folder.is_dir():
            raise ConfigError(f"{folder}: is a file; choose another result folder with --out")
        if foreign := _foreign(folder):
            raise ConfigError(
                f'{folder}: holds other files than results, as "{one_line(foreign)}"; move them'
                " away, or choose another result folder with --out"
            )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        atomic.check_writable(folder)
    except OSError as error:
        raise EnvironmentProblemError(
            f"{folder}: cannot be written ({error.strerror}); choose another result folder with"
            " --out"
        ) from error


@contextmanager
def result_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block ends well and vanishes
    when it does not. A link to a folder stays one.
    """
    folder = Path(os.path.realpath(folder)) if folder.is_symlink() else folder
    check_target(folder)
    try:
        with atomic.new_folder(folder) as work:
            yield work
    except OSError as error:
        raise EnvironmentProblemError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another result folder"
            " with --out"
        ) from error
