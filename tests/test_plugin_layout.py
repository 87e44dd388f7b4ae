# SPDX-License-Identifier: BSD-3-Clause
"""Plugins of `ip` and `tc` are right for a layout, whichever version of iproute2 has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from keepon_host.checkout import checkout_root

ROOT = checkout_root()
HOST = """#include <dlfcn.h>
#include <stdio.h>
struct { const char *first, *second; char rest[REST]; } NAME = { FIRST, SECOND, "" };
int main(int argc, char **argv)
{
	if (!dlopen(argv[1], RTLD_LAZY))
		return fprintf(stderr, "%s\\n", dlerror()), 3;
	return 0;
}
"""
"""A program with a plugin of its own, laid out as it likes."""
PLUGINS = {
    "link_keepon.so": ("vlan_link_util", '"vlan"', 56),
    "q_guard.so": ("fq_codel_qdisc_util", '"fq_codel"', 48),
}
"""What it looks at: struct, name in it, and bytes behind that on a machine of 64 bits."""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    subprocess.run([ROOT / "kernel/plugin/build", folder], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_they_are_read_by_the_programs_of_this_machine(plugins: Path) -> None:
    environment = os.environ | {"IP_LIB_DIR": str(plugins), "TC_LIB_DIR": str(plugins)}
    for words, option in (
        ("ip link add type keepon help", "slot_bytes BYTES"),
        ("tc qdisc add dev lo root guard help", "fudge NS"),
    ):
        program, *rest = words.split()
        found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        done = subprocess.run(
            [str(found), *rest], env=environment, capture_output=True, text=True, check=False
        )
        assert option in done.stdout + done.stderr, words


@pytest.mark.slow
@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("change", ["none", "longer", "shorter", "moved", "gone"])
def test_another_layout_is_refused_in_a_sentence(
    plugins: Path, tmp_path: Path, plugin: str, change: str
) -> None:
    name, text, rest = PLUGINS[plugin]
    rest += {"longer": 8, "shorter": -8}.get(change, 0)
    both = (text, "0") if change == "moved" else ("0", text)
    name = f"other_{name}" if change == "gone" else name
    (tmp_path / "host.c").write_text(HOST)
    settings = [f"-DNAME={name}", f"-DFIRST={both[0]}", f"-DSECOND={both[1]}", f"-DREST={rest}"]
    host = tmp_path / "host"
    command = ["gcc", "-Wall", "-Werror", "-rdynamic", *settings, tmp_path / "host.c", "-o", host]
    subprocess.run(command, check=True)
    done = subprocess.run([host, plugins / plugin], capture_output=True, text=True, check=False)
    if change == "none":
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 1
        assert re.fullmatch(r"Keepon's plugin was built for .* or purge it\n", done.stderr)
