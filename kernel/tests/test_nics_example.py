# SPDX-License-Identifier: GPL-2.0-only
"""The driver that docs/nics.md shows builds, without a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from keepon.vm import build_modules, get_kernel, offered_families

pytestmark = pytest.mark.vm

ROOT = Path(__file__).parents[2]
KBUILD = """# SPDX-License-Identifier: GPL-2.0-only
obj-m := example.o
ccflags-y := -I$(KEEPON_ROOT)/kernel/include
ccflags-y += -I$(KEEPON_ROOT)/core/include -I$(KEEPON_ROOT)/core/platform/kernel
"""


@pytest.mark.parametrize("family", offered_families())
def test_the_driver_of_the_documentation_builds(family: str, tmp_path: Path) -> None:
    (source,) = re.findall(
        r"^```c\n(.*?)^```", (ROOT / "docs" / "nics.md").read_text(), re.DOTALL | re.MULTILINE
    )
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "example.c").write_text(source)
    (folder / "Kbuild").write_text(KBUILD)
    modules = build_modules(
        get_kernel(family), [ROOT / "kernel" / "native", folder], build_root=tmp_path / "build"
    )
    assert [module.name for module in modules] == ["keepon_native.ko", "example.ko"]
