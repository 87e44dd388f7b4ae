# SPDX-License-Identifier: BSD-3-Clause
"""What targets with real programs share: frames as they were seen become what a result says of
their stream.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keepon.measure import results
from keepon.measure.due import Schedule, last_bits_ps, on_schedule
from keepon.measure.results import FrameArrays
from keepon.measure.series import delay_distribution, delay_series
from keepon.model.plan import Plan
from keepon.model.result import StreamResult
from keepon.model.scenario import Scenario, Stream


def measured_stream(
    seen: FrameArrays,
    scenario: Scenario,
    stream: Stream,
    plan: Plan,
    driver: str,
    window_ns: tuple[int, int],
    verdict_names: list[str],
) -> tuple[FrameArrays, StreamResult]:
    """A row for every frame due, and what the result says of them.

    Args:
        seen: frames as talker and listeners reported them, by the talker's numbers.
        scenario, stream, plan: a scenario, a stream of it, and its verified plan.
        driver: of the talker in this run.
        window_ns: [start, end) of what is measured, since the epoch of the frames.
        verdict_names: name by index.

    Raises:
        SimulationError: the frames contradict themselves or their schedule.
    """
    entry = plan["streams"][stream.id]
    due = Schedule(stream.period_ns, (entry["release_ns"],), seen.epoch_ns)
    # A talker that is ready too late begins with a later frame and calls it its first.
    numbered = replace(seen, seq=due.numbers(seen.txtime_ns))
    measured = on_schedule(numbered, due, window_ns, stream.id)
    lost = int(np.count_nonzero(measured.sent & ~measured.delivered))
    document = results.stream_result(
        measured, verdict_names, {"the wire or a bridge": lost} if lost else {},
        results.bounds_of(entry, driver == "keepon"), stream.id, stream.period_ns,
        stream.deadline_ns, last_bits_ps(scenario, stream, entry, driver == "keepon"),
    )  # fmt: skip
    document["delay_series"] = delay_series(measured, window_ns[0])
    document["delay_distribution"] = delay_distribution(measured)
    return measured, document
