# SPDX-License-Identifier: GPL-2.0-only
"""The units of systemd/ as Debian's systemd runs them from the first moment of a boot, with the
real modules: a link and its PTP from one file in /etc/keepon, before the network is online.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cells import RATE_BPS, ptp_cell
from guest_python import PYTHON, python_files
from keepon.cli import session
from keepon.model import loading
from keepon_guests import build_modules, get_kernel, run_guest

HERE = Path(__file__).parent
UNITS = HERE.parents[1] / "systemd"
DEBIANS = Path("/lib/systemd")
MODULES = ("native", "hwsim", "keepon")
# The way to multi-user.target, without what a guest has not.
TARGETS = (
    "basic", "final", "local-fs", "local-fs-pre", "multi-user", "network", "network-online",
    "network-pre", "paths", "shutdown", "slices", "sockets", "swap", "sysinit", "timers", "umount",
)  # fmt: skip
KEEPON = f"""#!/bin/sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python:/usr/bin PYTHONDONTWRITEBYTECODE=1
exec {PYTHON.name} -S -m keepon "$@"
"""
# In place of a journal
TO_A_FILE = "[Service]\nStandardOutput=append:/run/log\nStandardError=inherit\n"
LINK = f"""
[link]
rate_mbps = {RATE_BPS // 1_000_000}
options = "slot_bytes 1230"
ptp = "follow"
"""
PLAN = """
[plan]
file = "plan.json"
scenario = "cell.toml"
station = "talker"
"""


def tried(folder: Path) -> str:
    """Lines that import what the units' command does."""
    words = ["start", "eth0", "--plan", "plan.json", "--scenario", "cell.toml"]
    words += ["--station", "talker", "--dry-run", "--json"]
    return f"""
import contextlib, io, os
import keepon.__main__
os.chdir({str(folder)!r})
sys.argv = ["keepon", *{words!r}]
try:
    with contextlib.redirect_stdout(io.StringIO()):
        keepon.__main__.main()
except SystemExit as end:
    if end.code:
        sys.exit(f"keepon start: exit code {{end.code}}")
"""


def station_files(folder: Path) -> dict[str, Path | bytes]:
    """Guest path -> a plan and the scenario it was made of."""
    # With room for what the card sends itself.
    text = ptp_cell().replace("slot_bytes = 1230", "slot_bytes = 1230\nframe_bytes_max = 1522")
    text = text.replace("advance_ns = 400_000", "advance_ns = 450_000")
    (folder / "cell.toml").write_text(text)
    plan = session.planned(loading.parse(text, "cell.toml"))
    (folder / "plan.json").write_text(json.dumps(plan))
    return {f"/etc/keepon/{name}": folder / name for name in ("cell.toml", "plan.json")}


def debians_files() -> dict[str, Path | bytes]:
    """Guest path -> what of systemd is found by its place."""
    names = [f"system/{name}.target" for name in TARGETS]
    names += ["system/sys-kernel-debug.mount", "systemd"]
    return {f"/lib/systemd/{name}": DEBIANS / name for name in names}


@pytest.mark.vm
@pytest.mark.soak
@pytest.mark.parametrize(("table", "cable"), [("link", "yes"), ("plan", "no")])
def test_systemd_sets_a_link_up_and_puts_all_back(table: str, cable: str, tmp_path: Path) -> None:
    kernel = get_kernel("6.1")
    first = 'schema = "keepon.machine/1"\niface = "eth0"\n'
    files = {
        **station_files(tmp_path),
        **python_files(tried(tmp_path), tmp_path, packages=True),
        **debians_files(),
        **{f"/lib/systemd/system/{path.name}": path for path in UNITS.glob("*.service")},
        "/etc/keepon/eth0.toml": (first + {"link": LINK, "plan": PLAN}[table]).encode(),
        "/etc/machine-id": b"0123456789abcdef0123456789abcdef\n",
        "/etc/systemd/system/service.d/log.conf": TO_A_FILE.encode(),
        "/lib/keepon/start.sh": HERE / "start_common.sh",
        "/lib/keepon/units.sh": HERE / "units.sh",
        "/usr/bin/keepon": KEEPON.encode(),
    }
    result = run_guest(
        kernel, HERE / "units.sh", files,
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]),
        tools=[PYTHON, "systemctl", DEBIANS / "systemd"],
        environment={
            "PYTHON": PYTHON.name, "MODE": "ring", "RATE": str(RATE_BPS), "DEVICE": "rt0",
            "FILE": table, "CABLE": cable,
        },
        append="rdinit=/lib/keepon/units.sh printk.devkmsg=on"
        " systemd.log_target=kmsg systemd.show_status=no",
        memory_mb=1024, timeout_s=1800,
    )  # fmt: skip
    print(result.stdout, result.files.get("log", b"").decode())
    result.check()
    assert result.tap.problems() == []
