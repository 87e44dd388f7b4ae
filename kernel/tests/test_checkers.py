# SPDX-License-Identifier: GPL-2.0-only
"""The checkers of the kernels built here are alive and watch modules: a clean log of theirs tells.

checker_probe makes one defect for each checker, and each must be reported. The same module must
leave a clean log when it makes none, or when two CPUs meet at a variable by accesses that are
marked as meant.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from keepon.targets.vm import observations
from keepon_guests import (
    GuestResult,
    Kernel,
    build_modules,
    get_kernel,
    offered_families,
    run_guest,
)

pytestmark = [pytest.mark.vm, pytest.mark.soak]

HERE = Path(__file__).parent
TIMEOUT_S = 1800
# Boot -> defect -> what the kernel says of it. The first report about locks is the last one, and
# KASAN's ends the checking of locks, too: hence this order, and a boot for each kind.
DEBUG_REPORTS = {
    "everything": {
        "sleep": r"BUG: sleeping function called from invalid context at kernel/locking/mutex\.c",
        "raw_nesting": r"\[ BUG: Invalid wait context \]",
        "shift": r"UBSAN: shift-out-of-bounds in .*memory\.c",
        "free_active_timer": r"ODEBUG: free active .* object type: timer_list hint: probe_timer",
        "use_after_free": r"BUG: KASAN: use-after-free in probe_use_after_free",
        "leak": r"kmemleak: 1 new suspected memory leaks",
    },
    "other kinds": {
        "lock_order": r"WARNING: possible circular locking dependency detected",
        "beyond_end": r"BUG: KASAN: slab-out-of-bounds in probe_beyond_end",
    },
}
RACE = r"BUG: KCSAN: data-race in {} \[checker_probe\] / {} \[checker_probe\]"
KCSAN_REPORTS = {
    "race": RACE.format("count_plainly", "count_plainly"),
    "race_with_interrupt": RACE.format("count_in_interrupt", "count_interrupted"),
}
LOCKDEP_STOPPED = r"keepon-vm: WARNING: lockdep has stopped"
# What the compiler puts into objects that touch memory or compute.
CALLS = {
    "debug": (b"__asan_report_", b"__ubsan_handle_"),
    "kcsan": (b"__tsan_read", b"__tsan_write"),
}


def kernel_of(flavour: str) -> Kernel:
    return get_kernel(offered_families(flavour)[0], flavour)


def probe(flavour: str, faults: list[str]) -> GuestResult:
    """A run in which the probe made these defects; its problems are not judged here."""
    kernel = kernel_of(flavour)
    names = f" faults={','.join(faults)}" if faults else ""
    result = run_guest(
        kernel, f"modprobe checker_probe{names}",
        modules=build_modules(kernel, [HERE / "checker_probe"]), memory_mb=1024,
        mode="smp" if flavour == "kcsan" else "icount", timeout_s=TIMEOUT_S, virtual_limit_s=10_000,
    )  # fmt: skip
    print(f"{kernel.version} {faults}: {result.wall_seconds:.0f} s")
    assert result.exit_code == 0, result.explain()
    assert result.kernel_log.count("checker_probe: makes ") == len(faults)
    return result


def unreported(result: GuestResult, reports: dict[str, str]) -> list[str]:
    problems = "\n".join(result.problems)
    return [fault for fault, text in reports.items() if not re.search(text, problems)]


@pytest.mark.parametrize("reports", DEBUG_REPORTS.values(), ids=DEBUG_REPORTS)
def test_memory_locks_contexts_and_arithmetic_are_watched(reports: dict[str, str]) -> None:
    result = probe("debug", list(reports))
    assert unreported(result, {**reports, "lockdep": LOCKDEP_STOPPED}) == []
    if "leak" in reports:
        assert b"probe_leak" in result.files["kmemleak"]


def test_two_cpus_and_an_interrupt_at_one_variable_are_seen() -> None:
    result = probe("kcsan", list(KCSAN_REPORTS))
    assert unreported(result, KCSAN_REPORTS) == []


@pytest.mark.parametrize(("flavour", "faults"), [("debug", []), ("kcsan", ["marked"])])
def test_without_a_defect_the_log_is_clean(flavour: str, faults: list[str]) -> None:
    result = probe(flavour, faults).check()
    if flavour == "kcsan":
        assert observations.read_counters(result.files["kcsan"].decode())["enabled"] == 1


@pytest.mark.parametrize("flavour", CALLS)
def test_every_module_is_compiled_for_the_checkers(flavour: str) -> None:
    kernel = kernel_of(flavour)
    folders = [HERE.parent / name for name in ("native", "hwsim", "keepon")]
    bare = [
        (path.name, call)
        for path in build_modules(kernel, folders)
        for call in CALLS[flavour]
        if call not in path.read_bytes()
    ]
    assert bare == []
