# SPDX-License-Identifier: BSD-3-Clause
"""The device goes down, by its owner or by a NIC that is gone or stands still, and comes up again:
every frame ends, and the time of day is carried over.
"""

from __future__ import annotations

from fractions import Fraction

from core_model import model
from core_model.cases import BEST_EFFORT_LOW
from core_model.clock_setting import ClockSetting
from core_model.model import Law
from core_model.submitting import Submitting
from core_model.twin import FRACTION, Down, require


class Downtime(Submitting, ClockSetting):
    """A case whose device is stopped and started."""

    def stop(self) -> None:
        """The device goes down: everything held ends, in the ring and before it: what has left is
        sent, what the NIC had fetched is in doubt, the rest is flushed."""
        now = self.now
        held, ended = len(self.frames), sum(self.counts.values())
        if self.down is None:
            read = now.read_ns + now.read_frac * FRACTION
            self.down = Down(
                since_ps=now.now_ps,
                view=now,
                law=self.law,
                ideal=Law(now.now_ps, self.law.at(now.position_ps), self.law.adjustment),
                believed=Law(now.cpu_ps, read, self.law.adjustment),
            )
        self.core.stop()
        self.buffers.clear()
        self.down.since_ps = self.core.report().now_ps
        self.settle("stop")
        require(
            sum(self.counts.values()) == ended + held, "a stop does not end every frame", held=held
        )

    def start(self) -> None:
        """The device comes up again: the NIC is reset, the pacer initialised again with the time of
        day carried over by the CPU counter, its rate set again. Nothing happens if it is up."""
        if self.down is None:
            return
        down, params, scaled_ppm = self.down, self.case.params, self.now.scaled_ppm
        restart_ps = (params["restart_ps_min"] + params["restart_ps_max"]) // 2
        start_ns = down.believed.at(self.now.cpu_ps + restart_ps)
        start_ns = min(max(0, int(start_ns)), model.TIME_NS_MAX)
        require(
            self.core.reset(start_ns),
            "the pacer refuses to be initialised again",
            start_ns=start_ns,
        )
        self.core.take_records()
        self.begin(start_ns)
        self.poll()
        self.submit_at(BEST_EFFORT_LOW, model.FRAME_BYTES_LEAST, None)
        if scaled_ppm:
            self.adjfine(scaled_ppm)
        self.rate_changes = []
        self.disturbances += 1
        self.down = None
        self.core.start()
        self.settle("start")
        require(
            bool(self.now.head_valid) and not self.now.synchronised,
            "what a started pacer claims",
            now=self.now,
        )
        # the first slot waits for its first bit, or has begun while the others were trimmed
        first_ps = self.first_start_ps
        self.check_carried(
            down, self.slots[0].start_ps if first_ps is None else first_ps, restart_ps
        )

    def check_carried(self, down: Down, start_ps: int, restart_ps: int) -> None:
        """After a restart the clock is wrong by what it was wrong by, the latency of the first bit,
        a few calls, and the drift while down; not by the time it took to prepare the ring."""
        if not self.case.honest:
            return
        params = self.case.params
        down_ps = start_ps - down.ideal.position_ps
        known_ps = down.error_ps + params["restart_ps_max"] - params["restart_ps_min"] + 2000
        known_ps += 4 * params["call_ps"] + 4 * params["cpu_tick_ps"]
        error_ps = abs(self.law.at(0) - down.ideal.at(start_ps)) * 1000
        allowed_ps = known_ps + abs(down_ps) * params["drift_ppb_max"] * Fraction(11, 10**10)
        require(
            error_ps <= allowed_ps, "the time of day was not carried over", error_ps=float(error_ps)
        )

    def vanish(self) -> None:
        """The card is pulled: the next poll stops the pacer."""
        self.core.fail(True)
        self.until_lost(1)

    def freeze(self) -> None:
        """The index stands still for ever: the pacer stops when the stated time has passed."""
        self.core.fail(False)
        interval_ns = max(1, self.core.poll_interval_ps() // 1000)
        self.until_lost(self.now.stall_ns // interval_ns * 2 + 10)

    def until_lost(self, polls_max: int) -> None:
        """Polls until the pacer has stopped itself, which ends every frame; only the rig looks on
        meanwhile.
        """
        now = self.now
        read = now.read_ns + now.read_frac * FRACTION
        self.unread, self.trusted = True, False
        for _ in range(polls_max):
            self.core.advance(self.core.poll_interval_ps())
            self.core.poll()
            if self.core.report().losses > now.losses:
                break
        lost = self.core.report()
        require(lost.losses == now.losses + 1, "a dead NIC was not noticed", polls=polls_max)
        most_ns = (
            now.stall_ns
            + 3 * self.core.poll_interval_ps() // 1000
            + self.case.params["read_ps"] // 250
        )
        require(lost.cpu_ns - now.cpu_ns <= most_ns, "a dead NIC was noticed late", most_ns=most_ns)
        require(
            not lost.synchronised and not lost.head_valid, "a lost pacer claims to know the time"
        )
        law, ideal = self.law, Law(now.now_ps, self.law.at(now.position_ps), self.law.adjustment)
        self.down = Down(now.now_ps, now, law, ideal, Law(now.cpu_ps, read, self.law.adjustment))
        self.stop()
