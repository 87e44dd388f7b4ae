# SPDX-License-Identifier: BSD-3-Clause
"""Field types of scenario files: each refuses a wrong value with its allowed range and a remedy.

pydantic's own unions report one error per member; these report one sentence per key. Each also says
in JSON Schema what it takes.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from keepon.model import rates
from keepon.model.cables import node_of
from keepon.model.units import Unit, unit_of

_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_GATES_PATTERN = "0x[0-9a-fA-F]{1,2}"
_NAME = re.compile(rf"{_NAME_PATTERN}\Z")
_PORT_PATTERN = f"{_NAME_PATTERN}(#[2-8])?"
_PORT = re.compile(rf"{_PORT_PATTERN}\Z")
_GATES = re.compile(rf"{_GATES_PATTERN}\Z")
_NAME_SCHEMA = {"type": "string", "pattern": f"^{_NAME_PATTERN}$"}


def _is_finite(value: float) -> bool:
    """Whether a number is one, and no larger than a float can be."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _refuse(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError(
        "keepon", "{message}; {remedy}", {"message": message, "remedy": remedy}
    )


class _Checked(ABC):
    """Base: a plain validator function as the whole schema of the annotated type."""

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value, or raise what `_refuse` makes."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """What `check` takes, as JSON Schema."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self,
        schema: CoreSchema,
        handler: GetJsonSchemaHandler,
    ) -> dict[str, Any]:
        return self.json_schema()


class _Quantity(_Checked):
    """Base of numbers: where the key's name ends in a unit, a string with another is taken, too."""

    words: tuple[str, ...]
    remedy: str

    @abstractmethod
    def allowed(self) -> str:
        """What it may be, in a sentence."""

    @abstractmethod
    def of(self, value: Fraction) -> Any:
        """The value, or None if it is no such number."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        unit = unit_of(handler.field_name)
        check = self.check if unit is None else self._with(unit)
        return core_schema.no_info_plain_validator_function(check, metadata={"unit": unit})

    def __get_pydantic_json_schema__(
        self,
        schema: CoreSchema,
        handler: GetJsonSchemaHandler,
    ) -> dict[str, Any]:
        made = self.json_schema()
        if unit := (schema.get("metadata") or {}).get("unit"):
            number = made["anyOf"][-1] if "anyOf" in made else made
            number |= {"type": [number["type"], "string"], "pattern": unit.pattern}
        return made

    def _with(self, unit: Unit) -> Callable[[Any], Any]:
        def check(value: Any) -> Any:
            if not isinstance(value, str) or value in self.words:
                return self.check(value)
            number = unit.number(value)
            if number is None:
                units = f'"{unit.example}" ({", ".join(unit.sizes)})'
                more = f"; {self.remedy}" if self.remedy else ""
                raise _refuse(
                    f"must be {self.allowed()}",
                    f"write it without quotes, or with a unit in them: {units}{more}",
                )
            plain = self.of(number)
            if plain is None:
                raise _refuse(
                    f"is {float(number):.12g} {unit.own}: must be {self.allowed()}",
                    f"the nearest is {round(number)}",
                )
            return self.check(plain)

        return check


def _or_words(words: tuple[str, ...], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, or one of a few words beside it."""
    if not words:
        return schema
    return {"anyOf": [{"const": words[0]} if len(words) == 1 else {"enum": [*words]}, schema]}


def _range(low: float, high: float) -> dict[str, Any]:
    """Bounds, without a fraction where there is none."""

    def plain(value: float) -> float:
        return int(value) if float(value).is_integer() else value

    return {"minimum": plain(low), "maximum": plain(high)}


@dataclass(frozen=True)
class Whole(_Quantity):
    """A whole number in [low, high], or one of a few words where `words` are given."""

    low: int
    high: int
    words: tuple[str, ...] = ()
    remedy: str = ""

    def _range(self) -> str:
        words = [f'"{word}"' for word in self.words]
        return " or ".join([*words, f"between {self.low} and {self.high}"])

    def allowed(self) -> str:
        return f"a whole number, {self._range()}"

    def of(self, value: Fraction) -> int | None:
        return int(value) if value.denominator == 1 else None

    def check(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise _refuse(
                f"must be {self.allowed()}",
                self.remedy or "write it without quotes and without a fraction",
            )
        if not self.low <= value <= self.high:
            raise _refuse(f"must be {self._range()}", self.remedy or "choose a value in this range")
        return value

    def json_schema(self) -> dict[str, Any]:
        return _or_words(self.words, {"type": "integer", **_range(self.low, self.high)})


@dataclass(frozen=True)
class Number(_Quantity):
    """A finite number in [low, high]; whole numbers are taken as such."""

    low: float
    high: float
    remedy: str = ""
    words = ()

    def allowed(self) -> str:
        return f"a number between {self.low:g} and {self.high:g}"

    def of(self, value: Fraction) -> float:
        return float(value)

    def check(self, value: Any) -> float:
        allowed = f"between {self.low:g} and {self.high:g}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _refuse(f"must be a number {allowed}", self.remedy or "write it without quotes")
        if value != value:
            raise _refuse(f"must be a number {allowed}", self.remedy or "write it in digits")
        if not (_is_finite(value) and self.low <= value <= self.high):
            raise _refuse(f"must be {allowed}", self.remedy or "choose a value in this range")
        return float(value)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", **_range(self.low, self.high)}


@dataclass(frozen=True)
class Rate(_Checked):
    """Frames a second: a whole number, or a string with a fraction."""

    def check(self, value: Any) -> int | str:
        if isinstance(value, float) and (found := rates.rate(str(value))):
            wrong = rates.too_long(found) or f'is binary; write it in quotes: "{value}"'
            raise _refuse(*wrong.split("; ", 1))
        found = rates.rate(value)
        if found is None or not Fraction(1, 10) <= found <= 1_000_000:
            raise _refuse(
                "must be a number between 0.1 and 1000000, or a fraction in quotes",
                'write it as 4800, "4.8" or "60000/1001"',
            )
        assert isinstance(value, int | str)
        return value

    def json_schema(self) -> dict[str, Any]:
        pattern = f"^{rates.PATTERN}$"
        return {"type": ["integer", "string"], **_range(1, 1_000_000), "pattern": pattern}


@dataclass(frozen=True)
class Name(_Checked):
    """A name of a node, a stream or a scenario; it appears in file names and tables.

    With `cables` the number of a link may follow (model/cables.py).
    """

    cables: bool = False

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not (_PORT if self.cables else _NAME).match(value):
            raise _refuse(
                "must be 1 to 64 letters, digits, '.', '_' or '-', a letter or digit first",
                "rename it, for example a-1",
            )
        return value

    def json_schema(self) -> dict[str, Any]:
        pattern = _PORT_PATTERN if self.cables else _NAME_PATTERN
        return {"type": "string", "pattern": f"^{pattern}$"}


@dataclass(frozen=True)
class GateMask(_Checked):
    """Open gates as a hexadecimal string, one bit per queue, such as "0x20"."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not _GATES.match(value):
            raise _refuse(
                'must be a string between "0x00" and "0xff", one bit per queue',
                'queue 5 alone is "0x20"',
            )
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{_GATES_PATTERN}$"}


@dataclass(frozen=True)
class WholeList(_Checked):
    """A list of whole numbers in [low, high], or one of a few words: distinct ones, or exactly
    `count`.
    """

    low: int
    high: int
    words: tuple[str, ...] = ()
    count: int = 0

    def check(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        fits = isinstance(value, list) and all(
            isinstance(entry, int)
            and not isinstance(entry, bool)
            and self.low <= entry <= self.high
            for entry in value
        )
        if not fits or len(value) != (self.count or len(set(value))):
            numbers = f"{self.count} numbers" if self.count else "distinct numbers"
            allowed = " or ".join(
                [
                    *(f'"{word}"' for word in self.words),
                    f"a list of {numbers} between {self.low} and {self.high}",
                ]
            )
            example = [0, 4] if not self.count else [self.low] * self.count
            raise _refuse(f"must be {allowed}", f"write it as {example}")
        return value

    def json_schema(self) -> dict[str, Any]:
        entries = {"type": "integer", **_range(self.low, self.high)}
        shape: dict[str, Any] = {"uniqueItems": True}
        if self.count:
            shape = {"minItems": self.count, "maxItems": self.count}
        return _or_words(self.words, {"type": "array", "items": entries, **shape})


@dataclass(frozen=True)
class NameList(_Checked):
    """A list of distinct names, or one of a few words.

    With `cables` the number of a link may follow each (model/cables.py).
    """

    shortest: int
    longest: int
    words: tuple[str, ...] = ()
    cables: bool = False

    def check(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        pattern = _PORT if self.cables else _NAME
        fits = (
            isinstance(value, list)
            and self.shortest <= len(value) <= self.longest
            and all(isinstance(entry, str) and pattern.match(entry) for entry in value)
        )
        if not fits or len({node_of(entry) for entry in value}) != len(value):
            if self.shortest == self.longest:
                counted = f"a list of exactly {self.shortest} different names"
            else:
                counted = f"a list of {self.shortest} to {self.longest} different names"
            raise _refuse(
                "must be " + " or ".join([*(f'"{word}"' for word in self.words), counted]),
                "name nodes that the scenario declares",
            )
        return value

    def json_schema(self) -> dict[str, Any]:
        counts = {"minItems": self.shortest, "maxItems": self.longest, "uniqueItems": True}
        item = {"type": "string", "pattern": f"^{_PORT_PATTERN}$"} if self.cables else _NAME_SCHEMA
        return _or_words(self.words, {"type": "array", "items": dict(item), **counts})
