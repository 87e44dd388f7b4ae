# SPDX-License-Identifier: BSD-3-Clause
"""Examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest
from keepon.measure import statistics
from keepon.model import wire
from keepon.planner.parameters import synchronisation

MODULES = (statistics, wire, synchronisation)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstring_examples_hold(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
