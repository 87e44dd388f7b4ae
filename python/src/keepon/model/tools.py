# SPDX-License-Identifier: BSD-3-Clause
"""The documents `keepon.talk/1` and `keepon.listen/1` that our two programs write (docs/tools.md).

Their schemas are made of these types (keepon.model.document_schemas); tests of the programs check
what they write against them. Times are integers in ns.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model.typed import CLOSED, NotNegative

TALK_SCHEMA: Final = "keepon.talk/1"
LISTEN_SCHEMA: Final = "keepon.listen/1"

StreamHash = Annotated[int, Field(ge=0, le=0xFFFF_FFFF)]
Vid = Annotated[int, Field(ge=0, le=4094)]
Pcp = Annotated[int, Field(ge=0, le=7)]


@with_config(CLOSED)
class Summary(TypedDict):
    """Nanoseconds; percentiles by nearest rank, all null if nothing was counted."""

    count: NotNegative
    """values"""
    min: int | None
    """least"""
    mean: int | None
    """mean, rounded"""
    p50: int | None
    """median"""
    p99: int | None
    """99 % are at most this"""
    max: int | None
    """greatest"""


@with_config(CLOSED)
class TalkSettings(TypedDict):
    """Settings of the talker."""

    period_ns: NotNegative
    """from frame to frame"""
    advance_ns: int
    """how long before its txtime a frame is handed over"""
    count: NotNegative
    """frames to send; 0: until stopped"""
    frame_bytes: NotNegative
    """length, FCS included"""
    priority: NotNegative
    """SO_PRIORITY"""
    vid: Vid | None
    """VLAN; null: no tag"""
    pcp: Pcp | None
    """priority in the tag; null: no tag"""
    clock: Literal["tai", "monotonic"]
    """clock of the times"""
    txtime: bool
    """frames are handed over with their txtime"""
    deadline: bool
    """the txtime is a deadline"""
    report_errors: bool
    """errors of the queueing discipline are asked for"""
    udp: bool
    """frames are UDP"""
    fifo_priority: Annotated[int, Field(ge=0, le=99)]
    """SCHED_FIFO priority; 0: none"""
    memory_locked: bool
    """memory cannot be paged out"""
    stamp_offset_ns: int
    """added to stamps"""
    record_count: NotNegative
    """frames of which a record is kept"""


@with_config(CLOSED)
class TalkCounters(TypedDict):
    """submitted = stamped + missed + invalid + refused + unanswered"""

    submitted: NotNegative
    """frames handed over"""
    stamped: NotNegative
    """the stamp that was asked for came, and no error"""
    missed: NotNegative
    """their time passed while they waited"""
    invalid: NotNegative
    """the queueing discipline or driver turned their txtime down"""
    refused: NotNegative
    """sendmsg() failed and nobody said more"""
    unanswered: NotNegative
    """neither stamp nor error"""
    stamped_and_error: NotNegative
    """both; counted as their error"""
    ignored_answers: NotNegative
    """answers that belong to no frame"""


@with_config(CLOSED)
class TalkStatistics(TypedDict):
    """Over the frames of which a record was kept."""

    deviation_ns: Summary
    """stamp less txtime"""
    handover_late_ns: Summary
    """handed over, less when that was planned"""


@with_config(CLOSED)
class TalkFrame(TypedDict):
    """One frame."""

    seq: NotNegative
    """its number"""
    txtime_ns: int
    """its txtime"""
    submitted_ns: int
    """when it was handed over"""
    tx_stamp_ns: int | None
    """the stamp, that of hardware if both were asked for"""
    sw_stamp_ns: int | None
    """the stamp of software"""
    error: Literal["missed", "invalid", "refused"] | None
    """what went wrong"""
    errno: int | None
    """what the system call said"""


@with_config(CLOSED)
class Talk(TypedDict):
    """What keepon-talk sent and what became of it (docs/tools.md)."""

    schema: Literal["keepon.talk/1"]
    """the kind of document"""
    interface: str
    """device frames were sent on"""
    stream: str
    """id of the stream"""
    stream_hash: StreamHash
    """what its frames carry of the id"""
    interrupted: bool
    """the user stopped it"""
    stamp_source: Literal["hardware", "software", "none"]
    """who stamped frames"""
    settings: TalkSettings
    """its settings"""
    first_txtime_ns: int
    """txtime of frame 0"""
    counters: TalkCounters
    """frames by fate"""
    statistics: TalkStatistics
    """of the frames recorded"""
    frames: list[TalkFrame]
    """the frames recorded"""


@with_config(CLOSED)
class ListenSettings(TypedDict):
    """Settings of the listener."""

    count: NotNegative
    """frames to take; 0: until stopped"""
    duration_ns: NotNegative
    """for how long; 0: until stopped"""
    record_count: NotNegative
    """frames of which a record is kept"""


@with_config(CLOSED)
class ListenCounters(TypedDict):
    """Frames."""

    received: NotNegative
    """of the streams listened to"""
    dropped_by_socket: NotNegative
    """arrived and were not read in time"""
    other_streams: NotNegative
    """of others"""


@with_config(CLOSED)
class HeardStatistics(TypedDict):
    """Over the frames of which a record was kept."""

    interarrival_ns: Summary
    """between successive stamps"""
    delay_ns: Summary
    """stamp less txtime"""


@with_config(CLOSED)
class HeardStream(TypedDict):
    """One stream."""

    stream: str
    """its id, or its hash if that is not known"""
    stream_hash: StreamHash
    """what its frames carry of the id"""
    received: NotNegative
    """frames"""
    lost: NotNegative
    """numbers between the lowest and the highest seen that never came"""
    duplicates: NotNegative
    """frames that came before"""
    reordered: NotNegative
    """frames that came after a later one"""
    beyond_window: NotNegative
    """frames more than 4096 behind the newest"""
    without_stamp: NotNegative
    """frames without a stamp"""
    first_seq: NotNegative | None
    """the lowest number"""
    last_seq: NotNegative | None
    """the highest"""
    statistics: HeardStatistics
    """of the frames recorded"""


@with_config(CLOSED)
class HeardFrame(TypedDict):
    """One frame."""

    seq: NotNegative
    """its number"""
    stream: str
    """its stream's id, or the hash if that is not known"""
    rx_stamp_ns: int | None
    """the stamp, of `stamp_source`"""
    sw_stamp_ns: int | None
    """the stamp of software"""
    txtime_ns: int
    """its txtime"""
    sent_ns: int
    """just before the talker's system call"""
    frame_bytes: NotNegative
    """length, FCS included"""
    vid: Vid | None
    """VLAN; null: no tag"""
    pcp: Pcp | None
    """priority in the tag; null: no tag"""


@with_config(CLOSED)
class Listen(TypedDict):
    """What keepon-listen received (docs/tools.md)."""

    schema: Literal["keepon.listen/1"]
    """the kind of document"""
    interface: str
    """device frames came in by"""
    stamp_source: Literal["hardware", "software"]
    """who stamped frames"""
    interrupted: bool
    """the user stopped it"""
    settings: ListenSettings
    """its settings"""
    counters: ListenCounters
    """frames"""
    streams: list[HeardStream]
    """streams heard"""
    frames: list[HeardFrame]
    """the frames recorded"""
