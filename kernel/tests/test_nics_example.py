# SPDX-License-Identifier: GPL-2.0-only
"""The driver that docs/write-a-driver.md shows builds, without a warning, and is as small as it
says, as ours are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from keepon_guests import build_modules, get_kernel, offered_families

ROOT = Path(__file__).parents[2]
KBUILD = """# SPDX-License-Identifier: GPL-2.0-only
obj-m := keepon_example.o
keepon_example-y := example.o ../../core/src/wire.o
keepon_example-y += $(addprefix ../nics/common/,buffers.o counters.o device.o frames.o lend.o)
ccflags-y := -I$(KEEPON_ROOT)/kernel/nics/common -I$(KEEPON_ROOT)/kernel/include
ccflags-y += -I$(KEEPON_ROOT)/core/include -I$(KEEPON_ROOT)/core/platform/kernel
"""


RING_LINES_MAX = 100  # of what lending a ring takes beyond an ordinary driver


def shown() -> list[str]:
    """The ordinary card, its lent ring, its bus."""
    text = (ROOT / "docs" / "write-a-driver.md").read_text()
    return re.findall(r"^```c\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.vm
@pytest.mark.parametrize("family", offered_families())
def test_the_driver_of_the_documentation_builds(family: str, tmp_path: Path) -> None:
    source = "\n".join(shown())
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "example.c").write_text(source)
    (folder / "Kbuild").write_text(KBUILD)
    modules = build_modules(
        get_kernel(family), [ROOT / "kernel" / "native", folder], build_root=tmp_path / "build"
    )
    assert [module.name for module in modules] == ["keepon_native.ko", "keepon_example.ko"]


def test_what_lending_takes_is_a_hundred_lines() -> None:
    _, ring, _ = shown()
    assert len(ring.splitlines()) <= RING_LINES_MAX


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^#[^\n]*SPDX[^\n]*", re.DOTALL | re.MULTILINE)
# Intel's share their PHY with firmware, one of them has errata, and frames have fragments.
LINES_MAX = {"gem": 1220, "genet": 1200, "intel": 1320}


@pytest.mark.parametrize("driver", LINES_MAX)
def test_a_driver_is_small(driver: str) -> None:
    """Lines that are neither blank nor comment alone, of what is the chip's only."""
    files = [path for path in (ROOT / "kernel" / "nics" / driver).iterdir() if path.is_file()]
    lines = [
        line for path in files for line in COMMENT.sub("", path.read_text()).splitlines()
        if line.strip()
    ]  # fmt: skip
    assert LINES_MAX[driver] / 2 < len(lines) < LINES_MAX[driver]
