# SPDX-License-Identifier: BSD-3-Clause
"""The bounded proofs are for `make soak`; that they still fit the sources is seen at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from core_model.build import CORE


@pytest.mark.slow
def test_every_mutant_of_a_proof_finds_its_text() -> None:
    command = [sys.executable, str(CORE.parent / "scripts" / "prove"), "--mutants"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
