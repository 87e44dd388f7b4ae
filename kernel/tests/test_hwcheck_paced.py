# SPDX-License-Identifier: GPL-2.0-only
"""`keepon hwcheck` on cards whose models in QEMU pace the wire and fetch ahead by a set depth."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import test_nics_gem as gem
from guest_python import PYTHON, python_files
from keepon_guests import build_modules, get_kernel, run_guest
from keepon_guests.machines import VERSAL
from keepon_host.hwcheck.judge import judge
from keepon_host.hwcheck.peer import ETHERTYPE, MAGIC
from keepon_host.hwcheck.records import parse
from keepon_host.hwcheck.wire import Peer
from test_hwcheck_guests import TRIED
from test_nics_paced import PLACES, addresses, cards, emulator

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
KERNEL = HERE.parent


def check(
    model: str,
    ahead: int,
    said: int,
    tmp_path: Path,
    done: bool = False,
    said_done: bool | None = None,
    mbps: int = 1000,
    driver: Path = KERNEL / "nics" / "intel",
) -> dict[str, Any]:
    """`done`: the index tells of frames that have left, and the driver says so unless `said_done`
    is something else. The far end counts frames with a wrong FCS. `driver`: its sources.
    """
    said_done = done if said_done is None else said_done
    ours_is_right = driver.is_relative_to(KERNEL)
    true = said >= ahead and said_done == done and mbps == 1000 and ours_is_right
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(
        kernel, [KERNEL / "native", driver, KERNEL / "hwcheck"],
        build_root=None if ours_is_right else tmp_path / "build",
    )  # fmt: skip
    ours, theirs = addresses(model)
    args = cards(model, ahead, tmp_path / "wire.csv", judged=True, done=done)
    result = run_guest(
        kernel, HERE / "hwcheck_card.sh", python_files(TRIED, tmp_path), modules=modules,
        tools=[PYTHON, "ethtool"],
        qemu=emulator(),
        qemu_args=[arg.replace("paced=on", f"paced=on,mbps={mbps}") for arg in args],
        timeout_s=900,
        environment={"OURS": ours, "THEIRS": theirs, "STOCK": model, "PREFETCH": str(said),
        "INDEX_DONE": str(int(said_done)), "CODE": str(int(not true)), "PYTHON": PYTHON.name},
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    document: dict[str, Any] = json.loads(result.files["document.json"])
    return document


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("model", PLACES)
def test_the_depth_of_a_model_is_found(model: str, done: bool, tmp_path: Path) -> None:
    """All its driver says holds: it is safe to use. Two slots more are said than there are: so late
    may the wire have begun, and nothing but the far end's stamps would show it.
    """
    document = check(model, 16, 18, tmp_path, done)
    assert all(finding["holds"] is True for finding in document["findings"]), document["findings"]
    assert document["safe"] is True
    assert document["verdict"].endswith(": safe to use")
    assert document["measured"]["prefetch_slots"] in (15, 16)
    fragments = next(found for found in document["findings"] if found["name"] == "fragments")
    assert fragments["said"] == "32 of a frame"
    assert fragments["measured"] == (
        "of 3 frames 3 arrived, and none of 42 mixtures of old and new descriptors: proven"
    )
    ahead = 0 if done else 17
    assert document["measured"]["index_ahead_slots"] == pytest.approx(ahead, abs=0.5)
    assert abs(document["measured"]["pace_ppm"]) <= document["measured"]["pace_within_ppm"] <= 200


@pytest.mark.parametrize("model", PLACES)
def test_a_depth_beyond_what_is_said_is_found(model: str, tmp_path: Path) -> None:
    document = check(model, 32, 8, tmp_path)
    wrong = {finding["name"] for finding in document["findings"] if finding["holds"] is False}
    assert wrong == {"index to wire", "prefetch"}
    assert document["safe"] is False
    assert "not safe to use: index to wire" in document["verdict"]


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("model", PLACES)
def test_an_index_of_another_kind_is_found(model: str, done: bool, tmp_path: Path) -> None:
    """Though 20 us said of a restart could hide it among two slots."""
    document = check(model, 16, 18, tmp_path, done, said_done=not done)
    holds = {finding["name"]: finding["holds"] for finding in document["findings"]}
    assert holds["index moves"] is False
    assert holds["pace"] is holds["prefetch"] is True
    assert document["safe"] is False


def test_a_pace_that_no_link_bears_is_found(tmp_path: Path) -> None:
    document = check("igb", 4, 4, tmp_path, mbps=999)
    wrong = [finding for finding in document["findings"] if finding["holds"] is False]
    assert [finding["name"] for finding in wrong] == ["pace"]
    assert "a link bears 200, and 1000 whatever its drift_ppb is" in wrong[0]["measured"]


@pytest.mark.parametrize("model", PLACES)
def test_fragments_with_an_fcs_of_the_card_are_found(model: str, tmp_path: Path) -> None:
    """A driver that lets the card insert an FCS behind a fragment: whatever is fetched while the
    descriptors of a frame change is good then.
    """
    driver = tmp_path / "intel"
    shutil.copytree(KERNEL / "nics" / "intel", driver)
    source = (driver / "native.c").read_text()
    right = "bytes < rest_bytes ? 0 : TX_LEGACY_EOP)"
    wrong = "TX_LEGACY_IFCS | (bytes < rest_bytes ? 0 : TX_LEGACY_EOP))"
    assert source.count(right) == 1
    (driver / "native.c").write_text(source.replace(right, wrong))
    document = check(model, 4, 6, tmp_path, driver=driver)
    wrong_ones = [found for found in document["findings"] if found["holds"] is False]
    assert [found["name"] for found in wrong_ones] == ["fragments"]
    print(wrong_ones[0]["measured"])
    assert "good frames of 42 mixtures of old and new descriptors" in wrong_ones[0]["measured"]
    assert "not safe to use: fragments" in document["verdict"]


def test_fragments_on_a_gem(tmp_path: Path) -> None:
    """Versal's controller, whose far end counts nothing: the wire's log says what left."""
    kernel = get_kernel("6.1", "arm64")
    modules = build_modules(
        kernel, [KERNEL / "native", KERNEL / "nics" / "gem", KERNEL / "hwcheck"]
    )
    log = tmp_path / "wire.csv"
    result = run_guest(
        kernel, HERE / "hwcheck_gem.sh", {"/lib/keepon/lent.sh": HERE / "lent_common.sh"},
        modules=modules, tools=["ethtool"], qemu=gem.emulator(),
        qemu_args=gem.board(log, prefetch=4), environment={"PREFETCH": "6"}, timeout_s=1200,
        machine=VERSAL,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    assert "was not written back" not in result.files["dmesg.txt"].decode()
    frames = {"good": 0, "bad": 0}
    numbers = set()
    trial = f"{ETHERTYPE:04x}{MAGIC:08x}"
    with log.open() as file:
        for row in csv.DictReader(file):
            frames[row["fcs"]] += int(row["frames"])
            if row["fcs"] == "good" and row["head"][24:36] == trial:
                numbers.add(int(row["head"][36:44], 16))
    peer = Peer("the wire", frozenset(numbers), frames["bad"], frames["good"])
    document = judge("eth0", "native", parse(result.files["records.txt"].decode()), peer)
    assert all(finding["holds"] is True for finding in document["findings"]), document["findings"]
    assert [
        found["measured"] for found in document["findings"] if found["name"] == "fragments"
    ] == ["of 3 frames 3 arrived, and none of 42 mixtures of old and new descriptors: proven"]
