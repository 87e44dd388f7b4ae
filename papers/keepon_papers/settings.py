# SPDX-License-Identifier: BSD-3-Clause
"""Settings of studies from the command line: what is not a key, or out of range, is refused in one
sentence.

`Origins` tells in a document where their values come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from keepon.errors import ConfigError
from keepon.model import validation
from keepon.model.hosts import Sourced
from keepon.model.loading import value_of
from keepon_papers.document import CalibratedSetting, ChosenSetting

S = TypeVar("S", bound=BaseModel)


def refuse(key: str, value: Any, expectation: str) -> ConfigError:
    """The sentence for a setting."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return ConfigError(f"setting `{key}` = {shown}: {expectation}")


def parse(model: type[S], changes: dict[str, Any]) -> S:
    """Settings of a study with `changes` applied to the defaults; how keys fit together is the
    study's affair.

    Raises:
        ConfigError: a key is unknown or a value out of range; one sentence.
    """
    try:
        return model.model_validate(changes)
    except ValidationError as failure:
        wrong = validation.first(failure, changes, model)
        assert wrong is not None  # no key may be missing
        raise refuse(wrong.key, wrong.value, f"{wrong.rule}; {wrong.remedy}") from None


def from_options(assignments: list[str]) -> dict[str, Any]:
    """Changes from KEY=VALUE texts; a value is a number, or a bare word.

    >>> from_options(["interval_ms=50", "ratio_from=counter"])
    {'interval_ms': 50, 'ratio_from': 'counter'}
    """
    changes: dict[str, Any] = {}
    for text in assignments:
        key, separator, value = text.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise ConfigError(
                f'option --set = "{text}": must be KEY=VALUE; for example --set interval_ms=50'
            )
        changes[key.strip()] = value_of(value)
    return changes


@dataclass(frozen=True)
class Origins:
    """Where the numbers of a study come from.

    Attributes:
        calibrated: setting -> id of a publication.
        chosen: setting -> why it is what it is.
        fixed: what was published and cannot be set.
        silent: what is not published and cannot be set.
    """

    calibrated: Mapping[str, str]
    chosen: Mapping[str, str]
    fixed: Sequence[CalibratedSetting] = ()
    silent: Sequence[ChosenSetting] = ()

    def documents(
        self, settings: BaseModel, used: Iterable[Sourced] = ()
    ) -> tuple[list[CalibratedSetting], list[ChosenSetting]]:
        """Calibrated and chosen numbers as a study's document has them; a changed setting is chosen
        by the user.

        Args:
            used: what else the study's runs were given, from `inputs.collecting`.
        """
        calibrated: list[CalibratedSetting] = []
        chosen: list[ChosenSetting] = []
        for entry in used:
            if entry.kind == "calibrated":
                calibrated.append(
                    {
                        "parameter": entry.parameter,
                        "value": entry.value,
                        "source_id": entry.source_id,
                    }
                )
            else:
                chosen.append(
                    {"parameter": entry.parameter, "value": entry.value, "why": entry.source_id}
                )
        calibrated += self.fixed
        for key, value in settings.model_dump().items():
            if value != type(settings).model_fields[key].default:
                chosen.append({"parameter": key, "value": value, "why": "set on the command line"})
            elif key in self.calibrated:
                calibrated.append(
                    {"parameter": key, "value": value, "source_id": self.calibrated[key]}
                )
            else:
                chosen.append({"parameter": key, "value": value, "why": self.chosen[key]})
        return calibrated, [*chosen, *self.silent]
