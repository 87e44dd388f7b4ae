# SPDX-License-Identifier: GPL-2.0-only
"""The checkers of the kernels built here are alive and watch modules: a clean log of theirs says something.

checker_probe makes one defect for each checker, and each must be reported. The same module must leave a clean
log when it makes none, or when two CPUs meet at a variable by accesses that are marked as meant.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from keepon.vm import GuestResult, build_modules, get_kernel, offered_families, run_guest

pytestmark = [pytest.mark.vm, pytest.mark.soak]

HERE = Path(__file__).parent
TIMEOUT_S = 1800
# Boots -> defect -> what the kernel says of it. The first report about locks is the last one, and
# KASAN's ends the checking of locks, too: hence this order, and a boot of its own for the second kind.
DEBUG_REPORTS = {
    "everything": {
        "sleep": r"BUG: sleeping function called from invalid context at kernel/locking/mutex\.c",
        "raw_nesting": r"\[ BUG: Invalid wait context \]",
        "shift": r"UBSAN: shift-out-of-bounds in .*memory\.c",
        "free_active_timer": r"ODEBUG: free active .* object type: timer_list hint: probe_timer",
        "use_after_free": r"BUG: KASAN: use-after-free in probe_use_after_free",
        "leak": r"kmemleak: 1 new suspected memory leaks",
    },
    "the other kinds": {
        "lock_order": r"WARNING: possible circular locking dependency detected",
        "beyond_end": r"BUG: KASAN: slab-out-of-bounds in probe_beyond_end",
    },
}
KCSAN_REPORTS = {
    "race": r"BUG: KCSAN: data-race in count_plainly \[checker_probe\] / count_plainly \[checker_probe\]",
    "race_with_interrupt": r"BUG: KCSAN: data-race in count_in_interrupt \[checker_probe\] / count_interrupted \[checker_probe\]",
}
LOCKDEP_STOPPED = r"keepon-vm: WARNING: lockdep has stopped"
# What the compiler puts into every object that touches memory.
CALLS = {"debug": (b"__asan_report_", b"__ubsan_handle_"), "kcsan": (b"__tsan_read", b"__tsan_write")}


def probe(flavour: str, mode: str, faults: list[str]) -> GuestResult:
    """A run in which the probe made these defects; its problems are not judged here."""
    kernel = get_kernel(offered_families(flavour)[0], flavour)
    result = run_guest(
        kernel, f"modprobe checker_probe {'faults=' if faults else ''}{','.join(faults)}",
        modules=build_modules(kernel, [HERE / "checker_probe"]), memory_mb=1024, mode=mode, timeout_s=TIMEOUT_S,
        virtual_limit_s=10_000,
    )  # fmt: skip
    print(f"{kernel.version} {faults}: {result.wall_seconds:.0f} s\n" + "\n".join(result.problems))
    assert result.exit_code == 0, result.explain()
    assert result.kernel_log.count("checker_probe: makes ") == len(faults)
    return result


@pytest.mark.parametrize("reports", DEBUG_REPORTS.values(), ids=DEBUG_REPORTS)
def test_memory_locks_contexts_and_arithmetic_of_modules_are_watched(reports: dict[str, str]) -> None:
    result = probe("debug", "icount", list(reports))
    missing = [fault for fault, text in reports.items() if not re.search(text, "\n".join(result.problems))]
    assert missing == []
    assert any(re.search(LOCKDEP_STOPPED, problem) for problem in result.problems)
    if "leak" in reports:
        assert b"probe_leak" in result.files["kmemleak"]


def test_two_cpus_and_an_interrupt_at_one_variable_of_a_module_are_seen() -> None:
    result = probe("kcsan", "smp", list(KCSAN_REPORTS))
    missing = [fault for fault, text in KCSAN_REPORTS.items() if not re.search(text, "\n".join(result.problems))]
    assert missing == []


@pytest.mark.parametrize(("flavour", "mode", "faults"), [("debug", "icount", []), ("kcsan", "smp", ["marked"])])
def test_without_a_defect_the_log_is_clean(flavour: str, mode: str, faults: list[str]) -> None:
    probe(flavour, mode, faults).check()


@pytest.mark.parametrize("flavour", CALLS)
def test_every_module_is_compiled_for_the_checkers(flavour: str) -> None:
    kernel = get_kernel(offered_families(flavour)[0], flavour)
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    bare = [(path.name, call) for path in modules for call in CALLS[flavour] if call not in path.read_bytes()]
    assert bare == []
