# SPDX-License-Identifier: BSD-3-Clause
"""README and docs/nics.md say the same of what each card has been seen on, and docs/nics.md knows
every device tree that our drivers take.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTHING = "nothing yet"
NAMES = re.compile(
    r"`[a-z]+,[\w-]+`|\bI\d{3}\b|\b82\d{3}|Zynq-7000|Raspberry Pi \d|\bCM4\b"
)  # fmt: skip
"""What a card is known by."""


def seen(path: Path) -> dict[str, set[bool]]:
    """By name: whether the rows of tables on what was seen say that it was."""
    found: dict[str, set[bool]] = {}
    is_of_cards = False
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            is_of_cards = False
        elif cells[-1] == "seen on":
            is_of_cards = True
        elif is_of_cards:
            for name in NAMES.findall(" ".join(cells[:-1])):
                found.setdefault(name, set()).add(cells[-1] != NOTHING)
    return found


def test_both_pages_say_the_same_of_what_was_seen() -> None:
    short, whole = seen(ROOT / "README.md"), seen(ROOT / "docs" / "nics.md")
    assert {"82576", "I210", "`cdns,zynqmp-gem`", "`xlnx,zynqmp-gem`"} <= set(short)
    # A card without a driver of ours is in no table of drivers, and was seen nowhere.
    assert {name: whole.get(name, {False}) for name in short} == short
    assert [name for name, was in whole.items() if True in was and name not in short] == [
        "82540", "82545", "`brcm,bcm2711-genet-v5`",
    ]  # fmt: skip


def test_every_device_tree_of_our_drivers_is_in_the_table() -> None:
    known = seen(ROOT / "docs" / "nics.md")
    taken = {
        f"`{name}`"
        for source in (ROOT / "kernel" / "nics").rglob("*.c")
        for name in re.findall(r'"([a-z]+,[\w-]+)"', source.read_text())
        if "mdio" not in name  # a part of one
    }
    assert taken and taken <= set(known)
