# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link fit` against the compiler of gate lists that the kernel module has."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from keepon.cli import app as cli
from keepon.errors import EXIT_INPUT, EXIT_MET, ConfigError
from keepon_host.link import fit, gatelist
from keepon_host.link.gatelist import GateList

ROOT = Path(__file__).parents[3]
ROOM = 65_536
KPN_ERANGE = 34


class Entry(ctypes.Structure):
    _fields_ = (("gates", ctypes.c_uint16), ("interval_ns", ctypes.c_uint32))


class List(ctypes.Structure):
    _fields_ = (
        ("base_ns", ctypes.c_int64),
        ("entry_count", ctypes.c_uint32),
        ("entries", ctypes.POINTER(Entry)),
    )


class Report(ctypes.Structure):
    _fields_ = (("partition_slots", ctypes.c_uint32), ("lost_ps", ctypes.c_uint64 * 16))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The core's gate list compiler as a library."""
    library = tmp_path_factory.mktemp("gcl") / "gcl.so"
    folders = ["include", "platform/user", "src"]
    subprocess.run(
        ["gcc", "-std=c11", "-O1", "-shared", "-fPIC", "-o", str(library)]
        + [f"-I{ROOT / 'core' / folder}" for folder in folders]
        + [str(ROOT / "core/src/gcl.c"), str(ROOT / "core/src/wire.c")],
        check=True,
    )
    return ctypes.CDLL(str(library))


def compiled(core: ctypes.CDLL, gates: GateList, slot_ps: int) -> tuple[list[int], Report] | None:
    """Class masks of a partition by the core, None if that is too long."""
    entries = (Entry * len(gates.entries))(*(Entry(mask, ns) for mask, ns in gates.entries))
    asked = List(gates.base_ns, len(gates.entries), entries)
    masks = (ctypes.c_uint16 * ROOM)()
    report = Report()
    call = core.kpn_gcl_compile
    code = call(
        ctypes.byref(asked), ctypes.c_uint64(slot_ps), masks, ctypes.c_uint32(ROOM),
        ctypes.byref(report),
    )  # fmt: skip
    if code == -KPN_ERANGE:
        return None
    assert code == 0
    return list(masks[: report.partition_slots]), report


def random_list(random: Random) -> GateList:
    unit_ns = random.choice([1000, 10_000, 12_500, 40_000])
    entries = tuple(
        (random.randrange(1 << 4), unit_ns * random.randrange(1, 12))
        for _ in range(random.randrange(1, 7))
    )
    return GateList(random.randrange(10**9), entries)


@pytest.mark.parametrize("seed", range(150))
def test_slots_and_loss_are_those_of_the_core(core: ctypes.CDLL, seed: int) -> None:
    random = Random(seed)
    gates = random_list(random)
    rate_bps = random.choice(list(fit.RATES_BPS.values()))
    slot_bytes = random.randrange(fit.SLOT_BYTES_MIN, fit.SLOT_BYTES_MAX + 1)
    found = fit.fit(gates, slot_bytes, rate_bps)
    slot_ps = (slot_bytes + 20) * 8 * 10**12 // rate_bps
    other = compiled(core, gates, slot_ps)
    if other is None:
        assert found.partition_slots > ROOM
        return
    masks, report = other
    assert found.partition_slots == len(masks)
    for tc, own in found.classes.items():
        assert own.slots == sum(mask >> tc & 1 for mask in masks), tc
        open_ps = own.slots * slot_ps + report.lost_ps[tc]
        assert own.lost == pytest.approx(report.lost_ps[tc] / open_ps, abs=1e-12)
    assert set(found.classes) == {
        tc for tc in range(16) if any(mask >> tc & 1 for mask, _ in gates.entries)
    }


@pytest.mark.parametrize("seed", range(40))
def test_no_slot_begins_later_after_its_gate_opens(seed: int) -> None:
    random = Random(seed)
    gates = random_list(random)
    lengths = random.sample(range(64, 1500), 1400)
    found = next(
        one
        for one in (fit.fit(gates, slot_bytes, 10**9) for slot_bytes in lengths)
        if one.partition_slots <= 5_000
    )
    slot_ps = (found.slot_bytes + 20) * 8000
    cycle_ps = gates.cycle_ns * 1000
    for tc, own in found.classes.items():
        opened = fit.windows(gates, tc)
        if opened[0].length_ps == cycle_ps:
            continue
        latest_ps = 0
        for cycle in range(found.partition_slots * slot_ps // cycle_ps):
            for window in opened:
                at_ps = gates.base_ns * 1000 + cycle * cycle_ps + window.start_ps
                latest_ps = max(latest_ps, -at_ps % slot_ps)
        assert own.late_ns == latest_ps / 1000


@pytest.fixture
def keepon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `keepon link fit`: exit code, what it printed, what it said."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["keepon", "link", "fit", *arguments])
        code = cli.main()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


Run = Callable[..., tuple[int, str, str]]
PUBLISHED = "sgs 300000 0x01\nsgs 300000 0x02\nsgs 400000 0x04\n"


@pytest.mark.slow
def test_the_published_windows_at_100_mbit(tmp_path: Path, keepon: Run) -> None:
    """KeepON paper, Listing 2: 300/300/400 us; slots of 1230 bytes are 100 us."""
    path = tmp_path / "gates.cfg"
    path.write_text(PUBLISHED)
    code, out, _ = keepon(str(path), "--rate", "100M", "--json")
    assert code == EXIT_MET
    document = json.loads(out)
    (whole,) = [one for one in document["fits"] if one["slot_bytes"] == 1230]
    assert whole["partition_slots"] == 10
    assert [own["slots"] for own in whole["classes"]] == [3, 3, 4]
    assert document["fits"][0] == whole
    code, text, _ = keepon(str(path), "--rate", "100M")
    assert code == EXIT_MET
    assert "slot_bytes 1230" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_words_of_tc_are_the_same_list(tmp_path: Path) -> None:
    words = (
        "tc qdisc replace dev rt0 parent root taprio num_tc 3 map 2 2 1 0 queues 1@0 1@1 1@2 \\\n"
        " base-time 5 sched-entry S 01 300000 sched-entry S 02 300000 sched-entry S 0a 300000"
        " cycle-time 1000000 flags 0x2"
    )
    entries = ((1, 300000), (2, 300000), (10, 400000))
    assert gatelist.parse(words, "words") == GateList(5, entries, shortest_ns=300000)
    cut = gatelist.parse("sgs 300 1\nsgs 300 2\nsgs 9 4\ncycle-time 400", "cut")
    assert cut.entries == ((1, 300), (2, 100))
    assert cut.shortest_ns == 9


def test_a_base_time_before_1970_is_one_of_its_cycles_later() -> None:
    """taprio takes any, and the kernel module goes by the cycle that follows."""
    entries = "sched-entry S 1 310000 sched-entry S 2 290000"
    before = gatelist.parse(f"base-time -1740123 {entries}", "before")
    later = gatelist.parse(f"base-time {600_000 * 3 - 1_740_123} {entries}", "later")
    assert fit.fit(before, 605, 10**8) == fit.fit(later, 605, 10**8)
    assert fit.fit(before, 605, 10**8) != fit.fit(gatelist.parse(entries, "zero"), 605, 10**8)


def test_without_the_rest_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "gates.cfg"
    path.write_text(PUBLISHED)
    done = subprocess.run(
        [sys.executable, "-S", "-m", "keepon_host", "link", "fit", str(path),
         "--slot-bytes", "1230", "--rate", "100M"],
        env={"PYTHONPATH": str(ROOT / "python/src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "slot_bytes 1230" in done.stdout


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", [], "has 0 gate entries, must have 1 to 1024"),
        ("sgs 300000", [], "line 1: sgs is followed by 1 words, must be 2"),
        ("sgs 0 1", [], "line 1: an entry of 0: must be 1 to 4294967295 ns"),
        ("\nsgs x 1", [], "line 2: an entry of x: must be 1 to 4294967295 ns"),
        ("sgs 10 0x10000", [], "gates 0x10000 are none: must be 0 to 0xffff"),
        ("sched-entry H 1 10", [], "sched-entry H: must be S"),
        ("sgs 4000000000 1", [], "entries last 4000000000 ns, must be 1 to 2147483647"),
        ("sgs 100 1\ncycle-time -1", [], "cycle-time -1: must be 0 to 2147483647 ns"),
        ("sgs 100 1\nbase-time --1", [], "base-time --1: must be -4611686018427387904 to"),
        ("sgs 100 1", ["--rate", "3G"], '--rate = "3G": must be one of 10M, 100M, 1G'),
        ("sgs 100 1", ["--slot-bytes", "63"], "--slot-bytes = 63: must be between 65 and 1521"),
        ("sgs 500 1\nsgs 900 2", [], "no slots of 65 to 1521 bytes at 1G hold every class's"),
        ("sgs 479 1\nsgs 999521 2", [], "an entry of 479 ns: must be at least 480 ns at 1G"),
        ("sgs 1000000 1\ncycle-time-extension 300000000", [],
         "cycle-time-extension 300000000: must be at most 16384 slots, 201"),
        ("sgs 1000000 1\ncycle-time-extension 163840001", ["--slot-bytes", "1230"],
         "cycle-time-extension 163840001 ns is longer than 16384 slots of 10000 ns; the nearest"),
        ("sgs 5000 1\nsgs 995000 2", ["--slot-bytes", "1230"],
         "no window of class 0 holds a whole slot of 10000 ns; the nearest that serves is 605"),
        ("sgs 1234567 1", ["--slot-bytes", "1230"], "after 1234567 slots only, more than 65536"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(
    text: str, options: list[str], said: str, tmp_path: Path, keepon: Run
) -> None:
    path = tmp_path / "gates.cfg"
    path.write_text(text)
    code, out, err = keepon(str(path), *options)
    assert (code, out) == (EXIT_INPUT, "")
    (line,) = err.splitlines()
    assert said in line
    assert line.count(str(path)) <= 1


def test_a_file_that_is_none() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        gatelist.read(Path("/nonexistent/gates"))
