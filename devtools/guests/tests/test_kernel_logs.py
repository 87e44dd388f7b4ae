# SPDX-License-Identifier: BSD-3-Clause
"""Trouble in a guest's kernel log is found, a sound log is not blamed, and a run is judged by all
it left.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from keepon.errors import ConfigError, TraceError

from keepon_guests import newc
from keepon_guests.compare import differences
from keepon_guests.console import find_report, find_trouble, taint_problems
from keepon_guests.images import Kernel
from keepon_guests.run import GuestFailedError, GuestResult, collect, run_guest

SOUND = """[    0.000000] Linux version 6.1.0-56-cloud-amd64 (debian-kernel) #1 SMP PREEMPT_DYNAMIC
[    0.000000] rcu: Preemptible hierarchical RCU implementation.
[    0.055000] rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.
[    0.400000] kfence: initialized - using 2097152 bytes for 255 objects
[    0.410000] kmemleak: Kernel memory leak detector initialized (mem pool available: 36123)
[    0.420000] kasan: KernelAddressSanitizer initialized
[    0.880876] mtrr: your CPUs had inconsistent fixed MTRR settings
[    1.380796] hello: loading out-of-tree module taints kernel.
[    1.381040] hello: module verification failed: signature and/or required key missing \
- tainting kernel
[    1.412716] keepon-vm: exit=0 late=no tainted=12288
"""
TROUBLE = [
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "BUG: unable to handle page fault for address: ffffc90000000000",
    "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
    "BUG: scheduling while atomic: sh/77/0x00000002",
    "BUG: Bad page state in process sh  pfn:0a1b2",
    "kernel BUG at net/core/skbuff.c:120!",
    "WARNING: CPU: 0 PID: 77 at kernel/keepon/main.c:12 keepon_init+0x1/0x10 [keepon]",
    "WARNING: possible circular locking dependency detected",
    "WARNING: suspicious RCU usage",
    "Oops: 0002 [#1] PREEMPT SMP NOPTI",
    "general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b: 0000 [#1]",
    "Kernel panic - not syncing: Fatal exception in interrupt",
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [kworker/0:1:9]",
    "INFO: task rmmod:88 blocked for more than 120 seconds.",
    "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "refcount_t: underflow; use-after-free.",
    "list_del corruption. prev->next should be ffff888003a5c000, but was 0",
    "unregister_netdevice: waiting for kpn0 to become free. Usage count = 2",
    "NETDEV WATCHDOG: kpn0 (keepon): transmit queue 0 timed out",
    "UBSAN: shift-out-of-bounds in core/src/ring.c:10:3",
    "keepon-talk[91]: segfault at 0 ip 0000000000401136 sp 00007ffc error 4 in keepon-talk",
    "traps: keepon-talk[91] trap divide error ip:401136 sp:7ffc error:0",
    "Out of memory: Killed process 91 (sh) total-vm:1000kB",
    "keepon: Unknown symbol kpn_open (err -2)",
    'irq 16: nobody cared (try booting with the "irqpoll" option)',
    "kmemleak: Memory pool empty, consider increasing CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE",
    "[ BUG: Invalid wait context ]",
    "INFO: trying to register non-static key.",
    "BUG: KCSAN: data-race in keepon_receive / keepon_engine_stop",
    "keepon-vm: WARNING: lockdep has stopped",
]


def test_a_sound_log_is_not_blamed() -> None:
    assert find_trouble(SOUND) == []
    assert taint_problems(12288) == []


@pytest.mark.parametrize("line", TROUBLE)
def test_trouble_is_found_and_quoted_once(line: str) -> None:
    log = f"{SOUND}[    1.500000] {line}\n"
    assert find_trouble(log + log.replace("1.500000", "1.600000")) == [line]


def test_expected_trouble_is_left_out_and_only_that() -> None:
    log = f"[    1.5] {TROUBLE[0]}\n[    1.6] {TROUBLE[6]}\n"
    assert find_trouble(log, ["NULL pointer"]) == [TROUBLE[6]]
    with pytest.raises(TraceError, match=r"'\['"):
        find_trouble(log, ["["])


@pytest.mark.parametrize(
    ("bit", "word"), [(5, "bad page"), (7, "oops"), (9, "warning"), (14, "soft lockup")]
)
def test_taint_bits_are_put_in_words(bit: int, word: str) -> None:
    assert word in taint_problems(12288 | 1 << bit)[0]


def test_the_guests_report_is_read_with_its_time() -> None:
    report = find_report(SOUND.replace("exit=0", "exit=3"))
    assert report is not None
    assert (report.exit_code, report.late, report.tainted, report.virtual_seconds) == (
        3,
        False,
        12288,
        1.412716,
    )
    assert find_report(SOUND[:-60]) is None


def judge(
    folder: Path, log: str, *, files: dict[str, bytes] | None = None, killed: bool = False
) -> GuestResult:
    (folder / "console").write_text(log)
    (folder / "stdout").write_bytes(b"said\r\n")
    if files is not None:
        (folder / "result").write_bytes(
            newc.write(newc.file_entry(name, data) for name, data in files.items())
        )
    return collect(folder, "", killed, 10.0, 600, 1.5, ())


def test_a_good_run_has_its_files_and_output(tmp_path: Path) -> None:
    result = judge(tmp_path, SOUND, files={"out/a/b": b"1", "run/dmesg": SOUND.encode()})
    assert result.check() is result
    assert (result.exit_code, result.stdout, result.files, result.kernel_log) == (
        0,
        "said\n",
        {"a/b": b"1"},
        SOUND,
    )


def test_trouble_that_only_the_kernels_own_log_shows_fails_the_run(tmp_path: Path) -> None:
    log = f"{SOUND}[    1.2] {TROUBLE[22]}\n"
    result = judge(tmp_path, SOUND, files={"run/dmesg": log.encode()})
    assert result.problems == (f"kernel: {TROUBLE[22]}",)
    with pytest.raises(GuestFailedError, match="segfault"):
        result.check()


@pytest.mark.parametrize(
    ("log", "killed", "problem"),
    [
        (SOUND[:200], False, "ended before its script"),
        (SOUND[:200], True, "did not end within 10 s; the script was still running"),
        (SOUND, True, "did not end within 10 s; the script had ended"),
        (
            SOUND.replace("late=no", "late=yes").replace("exit=0", "exit=124"),
            False,
            "within 600 virtual seconds",
        ),
        (SOUND.replace("12288", "12800"), False, "kernel is tainted: warning"),
    ],
)
def test_runs_that_do_not_end_well_say_why(
    tmp_path: Path, log: str, killed: bool, problem: str
) -> None:
    result = judge(tmp_path, log, files={"out/a": b""}, killed=killed)
    assert not result.ok
    assert any(problem in text for text in result.problems), result.problems


def test_a_cut_off_result_is_a_failure(tmp_path: Path) -> None:
    judge(tmp_path, SOUND, files={"out/a": b"x" * 5000})
    (tmp_path / "result").write_bytes((tmp_path / "result").read_bytes()[:1000])
    result = judge(tmp_path, SOUND)
    assert any("files of /out are lost" in text for text in result.problems)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mode": "kvm"}, "mode 'kvm' is unknown: use one of icount, smp"),
        ({"memory_mb": 16}, "memory_mb is 16: use 256 to 65536"),
        ({"icount_shift": 11}, "icount_shift is 11: use 0 to 10"),
        ({"timeout_s": 0}, "timeout_s is 0: use 1 to 86400"),
        ({"seed": -1}, "seed is -1"),
        ({"virtual_limit_s": 0}, "virtual_limit_s is 0"),
        ({"script": Path("/nonexistent/script")}, "/nonexistent/script"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(
    tmp_path: Path, changes: dict[str, object], text: str
) -> None:
    arguments: dict[str, object] = {"script": "true"} | changes
    with pytest.raises(ConfigError, match=text):
        run_guest(Kernel("6.1", "cloud", "6.1.0-1-cloud-amd64", tmp_path), **arguments)  # type: ignore[arg-type]


def test_two_runs_that_differ_are_distinguished(tmp_path: Path) -> None:
    first = judge(tmp_path, SOUND, files={"out/a": b"1", "out/b": b""})
    assert differences(first, first) == []
    second = replace(first, stdout="said\nmore\n", files={"a": b"2", "b": b""}, virtual_seconds=1.0)
    assert differences(first, second) == [
        "output differs from line 2 on: [] and ['more']",
        "/out/a differs",
        "virtual time differs",
    ]
