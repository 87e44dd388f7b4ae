# SPDX-License-Identifier: GPL-2.0-only
"""The virtual machine itself: kernels boot, modules load, results come back, runs repeat, and every
failure is seen.

About a second for each guest, 5 s where it boots. Needs `scripts/setup kernel`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from keepon.errors import EnvironmentProblemError
from keepon_guests import (
    Kernel,
    ModuleBuildError,
    build_modules,
    differences,
    get_kernel,
    offered_families,
    run_guest,
    snapshot,
    twice,
)

pytestmark = pytest.mark.vm

PROBE = Path(__file__).parent / "probe"
TOUR = """
. /lib/keepon/test.sh
plan 8
is "$(uname -r)" "$WANTED" "the kernel asked for runs"
like "$(ip -V)" iproute2 "ip is the real one"
like "$(tc -V)" iproute2 "tc is the real one, too"
like "$(timeout 5 ip -V)" iproute2 "and stays it behind timeout"
run "our module loads" modprobe keepon_probe
like "$(dmesg)" "keepon_probe: 8000 ps a byte" "and calls the core"
run "two devices" ip link add v0 type veth peer name v1
run "etf loads by itself" tc qdisc add dev v0 root etf clockid CLOCK_TAI delta 300000
ip link set v0 up; ip link set v1 up; sleep 0.5; ip -s link show v0
dmesg | grep keepon_probe; echo "now $(now_ns) $(head -c 16 /dev/urandom | md5sum)"
mkdir /out/deep; cat /proc/interrupts /sys/kernel/debug/sched/debug > /out/deep/times
"""


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return get_kernel("6.1")


@pytest.mark.parametrize("position", [0, -1], ids=["oldest", "newest"])
def test_a_kernel_with_our_module_gives_equal_bytes_twice(position: int) -> None:
    kernel = get_kernel(offered_families()[position])
    modules = build_modules(kernel, [PROBE])
    variables = {"WANTED": kernel.version}
    first, second = twice(lambda: run_guest(kernel, TOUR, modules=modules, environment=variables))
    assert first.check().tap.problems() == []
    assert len(first.files["deep/times"]) > 1000
    assert differences(first, second) == []


def test_runs_from_two_snapshots_of_a_guest_are_equal(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest is saved at an instruction, not at a time: saved again, it is the same."""
    modules = build_modules(kernel, [PROBE])
    results = []
    for name in ("first", "second"):
        monkeypatch.setattr(snapshot, "folder", lambda name=name: tmp_path / name)
        (tmp_path / name).mkdir()
        for _ in range(2):
            results.append(
                run_guest(kernel, TOUR, modules=modules, environment={"WANTED": kernel.version})
            )
        saved = [path for path in (tmp_path / name).iterdir() if not path.name.startswith(".")]
        assert [path.stat().st_size > 2**20 for path in saved] == [True]
    assert results[0].check().tap.problems() == []
    assert [differences(results[0], other) for other in results[1:]] == [[], [], []]


def test_a_guest_that_never_comes_to_its_script_is_no_snapshot(kernel: Kernel) -> None:
    with pytest.raises(EnvironmentProblemError, match="no snapshot of a guest: "):
        run_guest(kernel, "true", append="rdinit=nowhere")


def test_two_cpus_in_host_time(kernel: Kernel) -> None:
    script = (
        'nproc; echo "$KEEPON_MODE"; cat /given/a /given/b; cp /given/b /out/; tcpdump --version'
        " 2>&1 | head -1"
    )
    result = run_guest(
        kernel,
        script,
        {"/given/a": b"from bytes\n", "/given/b": PROBE / "Kbuild"},
        mode="smp",
        tools=["tcpdump"],
    ).check()
    assert result.stdout.startswith("2\nsmp\nfrom bytes\n# SPDX"), result.stdout
    assert "tcpdump version" in result.stdout
    assert result.files["b"] == (PROBE / "Kbuild").read_bytes()


def test_a_kernel_warning_and_the_scripts_exit_code_are_reported(kernel: Kernel) -> None:
    result = run_guest(
        kernel, "modprobe keepon_probe warn=1; exit 3", modules=build_modules(kernel, [PROBE])
    )
    assert result.exit_code == 3
    assert any("WARNING" in line and "keepon_probe_init" in line for line in result.problems), (
        result.problems
    )
    assert "kernel is tainted: warning" in result.problems
    assert "exit code is 3" in result.explain()


def test_a_panic_is_reported_with_its_line_and_keeps_the_output_so_far(kernel: Kernel) -> None:
    result = run_guest(kernel, "echo before; echo c > /proc/sysrq-trigger; echo after")
    assert (result.exit_code, result.stdout, result.ok, result.timed_out) == (
        None,
        "before\n",
        False,
        False,
    )
    assert "kernel: Kernel panic - not syncing: sysrq triggered crash" in result.problems


def test_a_hang_ends_at_the_guests_limit_with_its_files(kernel: Kernel) -> None:
    result = run_guest(
        kernel, "echo begun; echo 1 > /out/kept; sleep 100000; echo never", virtual_limit_s=200
    )
    assert (result.exit_code, result.stdout, result.timed_out) == (None, "begun\n", True)
    assert result.problems == ("the script did not end within 200 virtual seconds",)
    assert result.files == {"kept": b"1\n"}


def test_a_hang_ends_at_the_hosts_limit_with_the_console(kernel: Kernel) -> None:
    result = run_guest(
        kernel, "echo '<3>still here' > /dev/kmsg; sleep 1000", mode="smp", timeout_s=3
    )
    assert result.timed_out and result.exit_code is None
    assert "did not end within 3 s" in result.explain()


def test_a_module_is_built_once_and_its_warnings_are_errors(kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "probe"
    shutil.copytree(PROBE, folder)
    (built,) = build_modules(kernel, [folder], build_root=tmp_path / "build")
    stamp = built.stat().st_mtime_ns
    assert build_modules(kernel, [folder], build_root=tmp_path / "build") == [built]
    assert built.stat().st_mtime_ns == stamp
    assert sorted(path.name for path in folder.iterdir()) == ["Kbuild", "main.c"]
    source = folder / "main.c"
    source.write_text(source.read_text().replace("\tWARN_ON", "\tint unused;\n\n\tWARN_ON"))
    for _ in range(2):  # the second time its object would be up to date
        with pytest.raises(ModuleBuildError, match=r"main\.c.*unused"):
            build_modules(kernel, [folder], build_root=tmp_path / "build")


@pytest.mark.parametrize("name", ["main.c", "said.h"])
def test_a_source_that_is_swapped_for_an_older_one_is_compiled(
    kernel: Kernel, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "probe"
    shutil.copytree(PROBE, folder)
    source, header = folder / "main.c", folder / "said.h"
    header.write_text('#define SAID "the first"\n')
    source.write_text(f'#include "said.h"\n{source.read_text()}MODULE_INFO(said, SAID);\n')
    (built,) = build_modules(kernel, [folder], build_root=tmp_path / "build")
    assert b"said=the first" in built.read_bytes()
    swapped = folder / name
    swapped.write_text(
        swapped.read_text().replace('"the first"', '"another"').replace(", SAID", ', "another"')
    )
    os.utime(swapped, (1_000_000_000, 1_000_000_000))
    (built,) = build_modules(kernel, [folder], build_root=tmp_path / "build")
    assert b"said=another" in built.read_bytes()
