# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios written as TOML are read back as they were, with every value that one may hold."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
import tomli_w
from helpers import HABITAT, TWO_STATIONS
from hypothesis import given
from hypothesis import strategies as st
from keepon.model import loading

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), _TEXT
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(_TEXT, _VALUES, max_size=6))
def test_any_document_survives_the_round_trip(document: dict[str, Any]) -> None:
    assert tomllib.loads(tomli_w.dumps(document)) == document


def test_not_a_number_survives_the_round_trip() -> None:
    assert math.isnan(tomllib.loads(tomli_w.dumps({"x": math.nan}))["x"])


def test_none_is_refused_rather_than_written_as_something_else() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        tomli_w.dumps({"x": None})


@pytest.mark.parametrize("path", [HABITAT, TWO_STATIONS], ids=lambda path: path.stem)
def test_the_effective_scenario_read_again_is_the_same_scenario(path: Any) -> None:
    scenario = loading.load(path)
    again = loading.parse(tomli_w.dumps(scenario.effective()), "effective.toml")
    assert again == scenario
