# SPDX-License-Identifier: BSD-3-Clause
"""Exported gate lists as a YANG library reads them: names, types, identities, keys, `must`, encoded
as in RFC 7951.

The modules in `yang/` hold the names, types and conditions of the standards that gate lists need,
written for this test: the originals are in no package that could be installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import HABITAT, ROBOT_CELL, planned_example
from keepon.export import yang
from yangson import DataModel
from yangson.enumerations import ContentType, ValidationScope
from yangson.exceptions import YangsonException

FOLDER = Path(__file__).parent / "yang"
IMPLEMENTED = {
    "ietf-interfaces": ("2018-02-20", "urn:ietf:params:xml:ns:yang:"),
    "iana-if-type": ("2023-01-26", "urn:ietf:params:xml:ns:yang:"),
    "ieee802-dot1q-bridge": ("2023-10-22", "urn:ieee:std:802.1Q:yang:"),
    "ieee802-dot1q-sched": ("2023-10-22", "urn:ieee:std:802.1Q:yang:"),
    "ieee802-dot1q-sched-bridge": ("2023-10-22", "urn:ieee:std:802.1Q:yang:"),
}


@pytest.fixture(scope="module")
def model() -> DataModel:
    modules = [
        {
            "name": name,
            "revision": revision,
            "namespace": space + name,
            "conformance-type": "implement",
        }
        for name, (revision, space) in IMPLEMENTED.items()
    ]
    library = {"ietf-yang-library:modules-state": {"module-set-id": "tests", "module": modules}}
    return DataModel(json.dumps(library), (str(FOLDER),))


def valid(model: DataModel, document: dict[str, Any]) -> None:
    model.from_raw(document).validate(ValidationScope.all, ContentType.all)


@pytest.mark.slow
@pytest.mark.parametrize("path", [HABITAT, ROBOT_CELL], ids=["habitat", "robot-cell"])
def test_every_bridge_is_valid(model: DataModel, path: Path) -> None:
    planned = planned_example(path.stem)
    files = yang.export(planned).files
    assert len(files) == len(planned.scenario.bridge)
    for text in files.values():
        valid(model, json.loads(text))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("admin-base-time", "seconds"), 0),  # 64 bits are a string
        (("admin-base-time", "nanoseconds"), 10**9),
        (("admin-gate-states",), 256),
        (("admin-cycle-time", "numerator"), 2**31),
        (("supported-list-max",), 1),
        (("supported-interval-max",), 1),
        (
            ("admin-control-list", "gate-control-entry", 0, "operation-name"),
            "set-gate-states",
        ),  # of no module
        (("admin-control-list", "gate-control-entry", 1, "index"), 0),
        (("gate-open",), True),
    ],
)
def test_what_the_modules_do_not_allow_is_noticed(
    model: DataModel, keys: tuple[Any, ...], value: Any
) -> None:
    document = json.loads(yang.export(planned_example("habitat")).files["br1.json"])
    port = document["ietf-interfaces:interfaces"]["interface"][0][
        "ieee802-dot1q-bridge:bridge-port"
    ]
    holder = port["ieee802-dot1q-sched-bridge:gate-parameter-table"]
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    with pytest.raises(YangsonException):
        valid(model, document)
