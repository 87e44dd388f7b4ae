# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of driver keepon at a port, by the names of core/include/keepon/config_fields.h."""

from __future__ import annotations

from collections.abc import Mapping

from keepon_host.link.options import OPTIONS

from keepon.model.plan import PlannedStation
from keepon.model.stationtables import Station

FieldValue = int | str | bool


def driver_fields(station: Station, planned: PlannedStation) -> dict[str, FieldValue]:
    """What plan and scenario say of the driver; the rest has the defaults of core and driver.

    The partition is not there: its masks have their own length.
    """
    stated: Mapping[str, object] = planned
    values: dict[str, FieldValue] = {}
    for option in OPTIONS:
        value = stated.get(option.field, getattr(station.keepon, option.field, "auto"))
        if isinstance(value, FieldValue) and value != "auto":
            values[option.field] = value
    values["frame_bytes_max"] = planned.get("frame_bytes_max", 0)
    del values["partition_slots"]
    if station.keepon.backend == "native":
        del values["backend"]
    if station.keepon.clock != "dual":
        values.pop("merge")
        values.pop("tau_ns", None)
        if planned["mode"] == "paper":
            values["clock"] = "counter"
    return values


def link_words(values: Mapping[str, FieldValue]) -> list[str]:
    """The same as options of a link."""
    words: list[str] = []
    for option in OPTIONS:
        if (value := values.get(option.field)) is not None:
            words += [
                option.name,
                option.words[value] if value is True or value is False else str(value),
            ]
    return words
