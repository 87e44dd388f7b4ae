# SPDX-License-Identifier: BSD-3-Clause
"""Examples in docstrings of papers say what the code does."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from keepon_papers import document as study
from keepon_papers import settings, stampbounds
from keepon_papers.ptperrors import fits

MODULES = (fits, settings, stampbounds, study)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstring_examples_hold(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
