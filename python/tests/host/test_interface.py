# SPDX-License-Identifier: BSD-3-Clause
"""Who is logged in over an interface is known where sudo does not tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keepon
import pytest

ASKED = 'from keepon_host.interface import client_over; print(client_over("lo"))'
PLACE = {"PYTHONPATH": str(Path(keepon.__file__).parents[1])}


def client(connection: str, *before: str) -> str:
    words = [*before, sys.executable, "-S", "-c", ASKED]
    environment = {**os.environ, **PLACE, "SSH_CONNECTION": connection}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ("127.0.0.1 50000 127.0.0.1 22", "127.0.0.1"),
        ("fe80::1%lo 50000 fe80::2%lo 22", "fe80::1%lo"),
        ("fe80::1%eth7 50000 fe80::2%eth7 22", ""),
    ],
)
def test_the_other_end_is_known_with_and_without_its_variable(
    connection: str, expected: str
) -> None:
    assert client(connection) == expected
    # "true" keeps the shell, which has it, from becoming the program
    hidden = ["sh", "-c", 'env -u SSH_CONNECTION "$@"; true', "sh"]
    assert client(connection, *hidden) == expected
