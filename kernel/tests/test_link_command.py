# SPDX-License-Identifier: GPL-2.0-only
"""`keepon link` without iproute2's plugin, in a guest that has a Python of nothing but what the
command imports.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import guest_programs
import pytest
from guest_python import PYTHON, python_files
from keepon_guests import build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent

# Runs the command as far as it goes here: lo is no keepon link.
TRIED = """
import keepon_host.link
import keepon_host.__main__
from keepon_host.cli import main
if main(["link", "show", "lo"]) != 2:
    sys.exit("lo is a keepon link?")
"""


@pytest.fixture(scope="module")
def core_limits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of the core's own sources that says what one call does at most."""
    core = KERNEL.parent / "core"
    target = tmp_path_factory.mktemp("limits") / "core_limits"
    sources = [HERE / "core_limits.c", *sorted((core / "src").glob("*.c"))]
    flags = [
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{core}/include",
        f"-I{core}/platform/user",
    ]
    done = subprocess.run(
        ["gcc", *flags, *sources, "-o", target], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


def check_limits(core_limits: Path, document: bytes) -> dict[str, int]:
    """The limits a link shows, which are those the core computes for its options on an hwsim NIC
    that writes back.
    """
    (link,) = json.loads(document)
    shown = link["linkinfo"]["info_data"]
    chosen = [str(shown[name]) for name in ("rate_bps", "slot_bytes", "ring", "batch", "depth")]
    done = subprocess.run(
        [core_limits, "0", *chosen, str(int(shown["clock"] == "dual"))],
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}
    limits = {name: number for name, number in shown.items() if name.startswith("limit_")}
    assert limits == wanted
    return limits


@pytest.mark.parametrize("family", offered_families())
def test_links_without_the_plugin_equal_those_with_it(
    family: str, core_limits: Path, tmp_path: Path
) -> None:
    kernel = get_kernel(family)
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        **python_files(TRIED, tmp_path),
        guest_programs.PLUGIN: guest_programs.plugin(tmp_path),
    }
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])
    environment = {"PYTHON": PYTHON.name}
    result = checked(
        lambda: run_guest(
            kernel, HERE / "link_command.sh", files, environment=environment, modules=modules,
            tools=[PYTHON],
            timeout_s=1200,
        )
    )  # fmt: skip
    print(f"{result.wall_seconds:.0f} s, {result.virtual_seconds} s in the guest\n{result.stdout}")
    assert result.tap.problems() == []
    (ours,), (plugin,) = (json.loads(result.files[name]) for name in ("ours.json", "plugin.json"))
    assert ours["linkinfo"] == {key: plugin["linkinfo"][key] for key in ("info_kind", "info_data")}
    assert list(ours["linkinfo"]["info_data"]) == list(plugin["linkinfo"]["info_data"])
    assert {name: plugin[name] for name in ours if name != "linkinfo"} == {
        name: value for name, value in ours.items() if name != "linkinfo"
    }
    up, longer = (
        check_limits(core_limits, result.files[name])
        for name in ("plugin_up.json", "plugin_longer.json")
    )
    assert all(longer[name] > up[name] for name in up)
    assert check_limits(core_limits, result.files["ours_up.json"]) == longer
