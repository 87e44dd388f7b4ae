# SPDX-License-Identifier: BSD-3-Clause
"""The survey of Ethernet drivers reads a kernel tree as its Makefiles build it."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from keepon.cli import app as cli
from keepon.errors import EXIT_INPUT, EXIT_MET, ConfigError
from keepon_papers.survey import survey

NETDEV = "struct net_device *dev = alloc_etherdev(sizeof(*priv));\n"
SOURCES = {
    # One module of several sources, one of them only in some configurations.
    "fast/Makefile": (
        "obj-$(CONFIG_FAST) += fast.o\nfast-y := main.o \\\n\t clock.o  # two\n"
        "fast-$(CONFIG_FAST_TSN) += tsn/etf.o\n"
    ),
    "fast/main.c": NETDEV,
    "fast/clock.c": "priv->ptp = ptp_clock_register(&priv->caps, dev);\n",
    "fast/tsn/etf.c": "static int set(struct tc_etf_qopt_offload *offload)\n",
    # It answers questions about taprio and has none; its PHC is said to be absent.
    "asks/Makefile": "obj-m += asks.o\nasks-objs := asks_main.o\n",
    "asks/asks_main.c": (
        NETDEV
        + "case TC_SETUP_QDISC_TAPRIO:\ninfo->phc_index = -1;\ndev->priv_flags |= IFF_SUPP_NOFCS;\n"
    ),
    # Two modules in one Makefile, one source each: an interface, and a library with a frame sink
    # for NAPI alone.
    "mixed/Kbuild": "obj-y += plain.o library.o\nobj-y += deeper/\n",
    "mixed/plain.c": (
        "dev = devm_alloc_etherdev_mqs(dev, 8, 1, 1);\ninfo->phc_index = priv->index;\n"
    ),
    "mixed/library.c": "dev = alloc_netdev_dummy(0);\nstruct tc_taprio_qopt_offload *offload;\n",
    "mixed/deeper/Makefile": "obj-$(CONFIG_GATED) += gated.o generated.o\n",
    "mixed/deeper/gated.c": (
        "dev = alloc_ei_netdev();\nuse(struct tc_taprio_qopt_offload *offload);\nNETIF_F_RXALL\n"
    ),
    "Makefile": "obj-y += fast/ asks/ mixed/\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        path = tmp_path / "drivers" / "net" / "ethernet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_features_are_those_of_the_sources_of_a_module(tree: Path) -> None:
    found = {driver.name: driver for driver in survey(tree).drivers}
    assert list(found) == ["asks", "fast", "gated", "plain"]
    assert (found["fast"].phc, found["fast"].so_txtime, found["fast"].taprio) == (True, True, False)
    assert (found["asks"].phc, found["asks"].scheduled, found["asks"].own_fcs) == (
        False,
        False,
        True,
    )
    assert (found["plain"].phc, found["plain"].taprio) == (True, False)
    assert (found["gated"].taprio, found["gated"].bad_frames, found["gated"].folder) == (
        True,
        True,
        "mixed/deeper",
    )
    counts = survey(tree).counts()
    assert (counts["modules"], counts["drivers"], counts["phc"], counts["scheduled"]) == (
        6,
        4,
        2,
        2,
    )
    assert (counts["so_txtime"], counts["taprio"], counts["both"]) == (1, 1, 0)


def _nics(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["keepon", "nics", *map(str, arguments)])
    return cli.main()


def test_the_command_prints_a_table_and_json(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _nics(monkeypatch, tree) == EXIT_MET
    printed = capsys.readouterr().out
    assert "fast" in printed
    assert "plain" not in printed
    assert (
        "4 drivers of 6 modules make Ethernet interfaces (keepon.driver_survey: 341 drivers)"
        in printed
    )
    assert "2 send at a given instant (13)" in printed
    assert _nics(monkeypatch, tree, "--all") == EXIT_MET
    assert "plain" in capsys.readouterr().out
    assert _nics(monkeypatch, tree, "--json") == EXIT_MET
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["drivers"] == len(document["drivers"]) == 4


@pytest.mark.parametrize("missing", ["drivers/net/ethernet/Makefile", "everything"])
def test_what_is_no_kernel_tree_is_refused(
    tree: Path, missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if missing == "everything":
        for path in (*tree.rglob("Makefile"), *tree.rglob("Kbuild")):
            path.write_text("")
    else:
        (tree / missing).unlink()
    assert _nics(monkeypatch, tree) == EXIT_INPUT
    printed = capsys.readouterr().err
    assert printed.startswith("keepon: argument TREE = ")
    assert printed.count("\n") == 1


def test_what_is_no_file_is_none_of_a_tree(tree: Path) -> None:
    """Folders and pipes called like a Makefile or a source, links in circles, names no file has."""
    before = survey(tree)
    top = tree / "drivers" / "net" / "ethernet"
    odd = top / "odd"
    (odd / "Makefile").mkdir(parents=True)
    os.mkfifo(odd / "Kbuild")
    (top / "circle").symlink_to(top, target_is_directory=True)
    (top / "fast" / "Kbuild").symlink_to("Kbuild")
    lines = SOURCES["mixed/deeper/Makefile"] + "obj-y += pipe.o folder.o loop.o device.o\n"
    folder = top / "mixed" / "deeper"
    (folder / "Makefile").write_text(lines)
    os.mkfifo(folder / "pipe.c")
    (folder / "folder.c").mkdir()
    (folder / "loop.c").symlink_to("loop.c")
    (folder / "device.c").symlink_to("/dev/zero")
    found = survey(tree)
    assert found.drivers == before.drivers
    assert found.modules == before.modules + 4


@pytest.mark.parametrize("name", ["fast/Makefile", "fast/clock.c"])
def test_a_file_that_cannot_be_read_is_named(
    tree: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it a driver would be missing, or a feature of one. Root may read everything."""
    real = Path.read_text

    def read_text(path: Path, encoding: str | None = None, errors: str | None = None) -> str:
        if str(path).endswith(name):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, encoding, errors)

    monkeypatch.setattr(Path, "read_text", read_text)
    with pytest.raises(ConfigError, match=rf"{name}: cannot be read \(Permission denied\)"):
        survey(tree)


def test_a_name_that_no_file_can_have_is_said(tree: Path) -> None:
    makefile = tree / "drivers" / "net" / "ethernet" / "asks" / "Makefile"
    makefile.write_text(f"obj-m += {'a' * 300}.o\n")
    with pytest.raises(ConfigError, match=r"cannot be read .File name too long"):
        survey(tree)
