# SPDX-License-Identifier: BSD-3-Clause
"""The core behind ctypes. Numbers come back as Python integers; signed where the name says so
below.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

SIGNED = {"scaled_ppm", "anchor_ns", "read_ns"}
PARTITION = ctypes.c_uint16
U64 = ctypes.c_uint64
S64 = ctypes.c_int64
CLASS_COUNT = 16
EINVAL, EBUSY, ERANGE = -22, -16, -34


class SlotRecord(ctypes.Structure):
    """One slot as the NIC latched it."""

    _fields_ = [
        (name, U64)
        for name in ("seq", "latch_ps", "start_ps", "position_ps", "frame_bytes", "frame_id")
    ]


class CommitRecord(ctypes.Structure):
    """A frame put into a slot, or taken out of it again."""

    _fields_ = [(name, U64) for name in ("frame_id", "seq", "base", "placed")]


class OutcomeRecord(ctypes.Structure):
    """The end of a pending frame."""

    _fields_ = [
        ("frame_id", U64),
        ("verdict", U64),
        ("start_ns", S64),
        ("start_frac", U64),
        ("wire_seq", U64),
        ("placed_seq", U64),
        ("placed_base", U64),
    ]


@dataclass(frozen=True)
class RefusedError(Exception):
    """kpn_config_validate() found a problem."""

    problem: str


class Library:
    """The functions of one build of the shim."""

    def __init__(self, path: Path) -> None:
        self.dll = ctypes.CDLL(str(path))
        for name, result, arguments in (
            ("shim_param_names", ctypes.c_char_p, []),
            ("shim_report_names", ctypes.c_char_p, []),
            ("shim_verdict_names", ctypes.c_char_p, []),
            (
                "shim_create",
                ctypes.c_void_p,
                [ctypes.c_void_p] * 4 + [ctypes.c_char_p, ctypes.c_size_t],
            ),
            ("shim_destroy", None, [ctypes.c_void_p]),
            ("shim_report", None, [ctypes.c_void_p, ctypes.c_void_p]),
            ("shim_rig", ctypes.c_void_p, [ctypes.c_void_p]),
            ("shim_slots", ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_void_p]),
            ("shim_commits", ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_void_p]),
            ("shim_outcomes", ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_void_p]),
            ("shim_used_bytes", U64, [ctypes.c_void_p, ctypes.c_uint32]),
            ("shim_clear", None, [ctypes.c_void_p]),
            ("shim_violation", ctypes.c_char_p, [ctypes.c_void_p]),
            ("shim_violate_assumptions", None, [ctypes.c_void_p]),
            ("shim_drift", None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32]),
            ("shim_poll_interval_ps", U64, [ctypes.c_void_p]),
            ("shim_settime", ctypes.c_int, [ctypes.c_void_p, S64, ctypes.c_uint32]),
            ("shim_clock_at", None, [ctypes.c_void_p, U64, ctypes.c_void_p]),
            ("shim_position_at", U64, [ctypes.c_void_p, S64, ctypes.c_uint32]),
            (
                "shim_bounds",
                None,
                [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p],
            ),
            ("shim_hash", U64, [ctypes.c_void_p]),
            (
                "shim_set_partition",
                ctypes.c_int,
                [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, U64],
            ),
            (
                "shim_set_credit",
                ctypes.c_int,
                [ctypes.c_void_p, ctypes.c_uint8, U64, ctypes.c_uint32],
            ),
            ("shim_fail", None, [ctypes.c_void_p, ctypes.c_bool]),
            ("shim_reset", ctypes.c_bool, [ctypes.c_void_p, S64]),
            ("shim_start", None, [ctypes.c_void_p]),
            ("rig_stop", None, [ctypes.c_void_p]),
            ("rig_poll", None, [ctypes.c_void_p]),
            ("rig_advance", None, [ctypes.c_void_p, U64]),
            (
                "rig_submit",
                ctypes.c_int,
                [
                    ctypes.c_void_p,
                    ctypes.c_uint32,
                    ctypes.c_uint8,
                    ctypes.c_uint8,
                    S64,
                    ctypes.c_void_p,
                ],
            ),
            ("rig_adjfine", ctypes.c_int, [ctypes.c_void_p, S64]),
            ("rig_adjtime", ctypes.c_int, [ctypes.c_void_p, S64]),
        ):
            function = getattr(self.dll, name)
            function.restype = result
            function.argtypes = arguments
        self.param_names: list[str] = self.dll.shim_param_names().decode().split()
        self.report_names: list[str] = self.dll.shim_report_names().decode().split()
        self.verdict_names: list[str] = self.dll.shim_verdict_names().decode().split()


class Core:
    """One started pacer on its fake NIC."""

    def __init__(
        self,
        library: Library,
        params: dict[str, int],
        allowed: list[int],
        late: list[int],
        rounding: list[int],
    ) -> None:
        self.library = library
        self._dll = library.dll
        missing = set(library.param_names) ^ set(params)
        if missing:
            raise KeyError(f"parameters not given or unknown: {sorted(missing)}")
        self._allowed = (PARTITION * len(allowed))(*allowed)
        values = (S64 * len(library.param_names))(*(params[name] for name in library.param_names))
        problem = ctypes.create_string_buffer(256)
        self._shim = self._dll.shim_create(
            values,
            self._allowed,
            (ctypes.c_uint8 * CLASS_COUNT)(*late),
            (ctypes.c_uint8 * CLASS_COUNT)(*rounding),
            problem,
            len(problem),
        )
        if not self._shim:
            raise RefusedError(problem.value.decode())
        self._rig = self._dll.shim_rig(self._shim)
        self._report = (U64 * len(library.report_names))()

    def close(self) -> None:
        """Free it; nothing may be called afterwards."""
        self._dll.shim_destroy(self._shim)

    def report(self) -> SimpleNamespace:
        """Everything pacer and NIC say of themselves now."""
        self._dll.shim_report(self._shim, self._report)
        report = SimpleNamespace(**dict(zip(self.library.report_names, self._report, strict=True)))
        for name in SIGNED:
            value = getattr(report, name)
            setattr(report, name, value - (1 << 64) if value >> 63 else value)
        return report

    def violation(self) -> str | None:
        """First broken invariant the rig has seen."""
        text = self._dll.shim_violation(self._shim)
        return text.decode() if text else None

    def _records(self, function: str, kind: type[ctypes.Structure]) -> list[ctypes.Structure]:
        pointer = ctypes.POINTER(kind)()
        count = getattr(self._dll, function)(self._shim, ctypes.byref(pointer))
        return [kind.from_buffer_copy(pointer[i]) for i in range(count)]

    def take_records(self) -> tuple[list[SlotRecord], list[CommitRecord], list[OutcomeRecord]]:
        """Slots latched, frames placed and frames ended since the last call."""
        records = (
            self._records("shim_slots", SlotRecord),
            self._records("shim_commits", CommitRecord),
            self._records("shim_outcomes", OutcomeRecord),
        )
        self._dll.shim_clear(self._shim)
        return records  # type: ignore[return-value]

    def start(self) -> None:
        """kpn_pacer_start()"""
        self._dll.shim_start(self._shim)

    def stop(self) -> None:
        """kpn_pacer_stop()"""
        self._dll.rig_stop(self._rig)

    def reset(self, start_time_ns: int) -> bool:
        """The NIC halted and reset, then kpn_pacer_init() on the same memory; False if it
        refuses.
        """
        return bool(self._dll.shim_reset(self._shim, start_time_ns))

    def poll(self) -> None:
        """kpn_pacer_poll()"""
        self._dll.rig_poll(self._rig)

    def advance(self, span_ps: int) -> None:
        """Let NIC time pass."""
        self._dll.rig_advance(self._rig, span_ps)

    def submit(self, frame_bytes: int, tc: int, txtime_ns: int | None) -> tuple[str, int]:
        """kpn_pacer_submit(); verdict, or "" if the rig holds too many frames, and id of
        the frame.
        """
        frame_id = U64()
        flags = 0 if txtime_ns is None else 1
        code = self._dll.rig_submit(
            self._rig, frame_bytes, tc, flags, txtime_ns or 0, ctypes.byref(frame_id)
        )
        return ("" if code < 0 else self.library.verdict_names[code]), frame_id.value

    def adjfine(self, scaled_ppm: int) -> int:
        """kpn_pacer_adjfine()"""
        return int(self._dll.rig_adjfine(self._rig, scaled_ppm))

    def adjtime(self, delta_ns: int) -> int:
        """kpn_pacer_adjtime()"""
        return int(self._dll.rig_adjtime(self._rig, delta_ns))

    def settime(self, ns: int, frac: int) -> int:
        """kpn_pacer_settime()"""
        return int(self._dll.shim_settime(self._shim, ns, frac))

    def drift(self, drift_ppb: int, wander_ppb_per_s: int) -> None:
        """Let the CPU counter go to another rate."""
        self._dll.shim_drift(self._shim, drift_ppb, wander_ppb_per_s)

    def set_partition(self, allowed: tuple[int, ...], at_net_slot: int) -> int:
        """kpn_pacer_set_partition()"""
        masks = (PARTITION * len(allowed))(*allowed)
        return int(
            self._dll.shim_set_partition(self._shim, masks, len(allowed), at_net_slot % (1 << 64))
        )

    def set_credit(self, tc: int, idle_slope_bps: int, high_bytes: int) -> int:
        """kpn_pacer_set_credit()"""
        return int(self._dll.shim_set_credit(self._shim, tc, idle_slope_bps, high_bytes))

    def fail(self, gone: bool) -> None:
        """The NIC cannot be read any more, or its index stands still."""
        self._dll.shim_fail(self._shim, gone)

    def violate_assumptions(self) -> None:
        """From here on the stated bounds are broken: the head's interval promises nothing."""
        self._dll.shim_violate_assumptions(self._shim)

    def poll_interval_ps(self) -> int:
        """kpn_pacer_poll_interval_ns()"""
        return int(self._dll.shim_poll_interval_ps(self._shim))

    def clock_at(self, position_ps: int) -> tuple[int, int]:
        """kpn_clock_at() of the law in force: ns and 2^-32 ns."""
        values = (U64 * 2)()
        self._dll.shim_clock_at(self._shim, position_ps % (1 << 64), values)
        return S64(values[0]).value, values[1]

    def position_at(self, ns: int, frac: int) -> int:
        """kpn_clock_position_at() of the law in force."""
        return int(self._dll.shim_position_at(self._shim, ns, frac))

    def bounds(self, rate_ppb: int, rate_change_ppb: int) -> SimpleNamespace:
        """kpn_pacer_bounds()"""
        values = (U64 * 4)()
        self._dll.shim_bounds(self._shim, rate_ppb, rate_change_ppb, values)
        return SimpleNamespace(
            boundary_error_ps=values[0], span_ns=values[1], lock_ns=values[2], lock_slots=values[3]
        )

    def used_bytes(self, desc_idx: int) -> int:
        """Bytes of a frame's buffer up to the last that is not zero."""
        return int(self._dll.shim_used_bytes(self._shim, desc_idx))

    def hash(self) -> int:
        """Hash over everything that happened."""
        return int(self._dll.shim_hash(self._shim))
