# SPDX-License-Identifier: BSD-3-Clause
"""How results tell of one quantity over many frames, in ns, and which are measured of a stream.

Part of `keepon.result/1` and of documents that hold such tables (keepon.model.result).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model.typed import CLOSED, NotNegative

Share = Annotated[float, Field(ge=0, le=1)]


@with_config(CLOSED)
class Statistics(TypedDict):
    """One quantity over many frames; all null where there are none."""

    min: float | None
    """least"""
    mean: float | None
    """exact sum by count"""
    p50: float | None
    """median"""
    p99: float | None
    """99 % are at most this"""
    p999: float | None
    """99.9 %"""
    p9999: float | None
    """99.99 %"""
    max: float | None
    """greatest"""
    stddev: float | None
    """standard deviation of all"""
    mean_abs_deviation: float | None
    """mean distance from the mean"""
    count: NotNegative
    """values"""


@with_config(CLOSED)
class OffsetStatistics(Statistics):
    """Offsets of a clock in ns."""

    rms: float | None
    """root of the mean square, about zero"""


@with_config(CLOSED)
class ListenerQuantities(TypedDict):
    """Quantities as the listeners' own clocks have them."""

    delay_ns: Statistics
    """from the txtime to the listener's stamp"""
    interarrival_ns: Statistics
    """between successive stamps"""


@with_config(CLOSED)
class Quantities(TypedDict):
    """What is measured of a stream's frames."""

    delay_ns: Statistics
    """from the txtime to delivery, in true time"""
    interarrival_ns: Statistics
    """between successive arrivals at a listener"""
    release_error_ns: Statistics
    """from the txtime to the reference plane at the talker"""
    listener: ListenerQuantities
    """the same by the listeners' stamps"""


@with_config(CLOSED)
class DelaySeries(TypedDict):
    """Delays over time: a point for each frame due, or for as many in turn as are needed so that
    there are few; all lists are of the same length.
    """

    time_s: list[float]
    """txtime of the first of its frames, from the start of the time measured"""
    seq: list[NotNegative]
    """number of the first of its frames"""
    min_ns: list[float | None]
    """least delay of its frames to any listener; null: none is known"""
    max_ns: list[float | None]
    """greatest"""
    missing: list[NotNegative]
    """how many of its frames are missing"""


@with_config(CLOSED)
class DelayDistribution(TypedDict):
    """Delays by size; both lists are of the same length and ascend."""

    delay_ns: list[float]
    """delays that occurred"""
    share: list[Share]
    """share of the deliveries due that took at most this; what is missing never came"""


@with_config(CLOSED)
class OffsetSeries(TypedDict):
    """Offsets of a clock over time; all lists are of the same length."""

    time_s: list[float]
    """first sample of a point, from the start of the run"""
    min_ns: list[float]
    """least offset of its samples"""
    max_ns: list[float]
    """greatest"""
