# SPDX-License-Identifier: GPL-2.0-only
"""`keepon bind` moves a card to our driver with its addresses and routes, and back; what fails
leaves it as it was.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_python import PYTHON, python_files
from keepon_guests import build_modules, get_kernel, run_guest
from test_nics import OURS, THEIRS, card

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
# Runs the command as far as it goes anywhere.
TRIED = """
import keepon_host.__main__
from keepon_host.cli import main
if main(["bind", "lo", "--rollback", "0"]) != 2:
    sys.exit("no time is enough?")
"""


def boot(tmp_path: Path, once: str) -> None:
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(kernel, [HERE.parent / "native", HERE.parent / "nics" / "intel"])
    result = run_guest(
        kernel, HERE / "bind_card.sh", python_files(TRIED, tmp_path), modules=modules,
        tools=["ethtool", PYTHON],
        environment={"OURS": OURS, "THEIRS": THEIRS, "PYTHON": PYTHON.name, "ONCE": once},
        qemu_args=[*card("e1000e", 1, OURS), *card("e1000e", 2, THEIRS)], timeout_s=1200,
    ).check()  # fmt: skip
    assert result.tap.problems() == []


def test_a_card_goes_once_to_our_driver_and_back(tmp_path: Path) -> None:
    boot(tmp_path, once="1")


@pytest.mark.full
def test_a_card_goes_to_our_driver_and_back(tmp_path: Path) -> None:
    """Also with a connection that is lost, with ifupdown, and to and fro."""
    boot(tmp_path, once="")
