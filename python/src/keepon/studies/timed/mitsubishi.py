# SPDX-License-Identifier: BSD-3-Clause
"""The studies of "TSN performance evaluation of embedded Linux" (Mitsubishi Electric), each by the
id of its table, and what its discussion asks for.
"""

from __future__ import annotations

from keepon.studies.study import Study, parts
from keepon.studies.timed import deviations, remedy, throughput, windows
from keepon.studies.timed.threeclasses import ORIGINS, Settings, check, check_slots

STUDIES = {
    "mitsubishi.table8": Study(
        "Table 8: TC0's deviation from its period, offload on and off",
        Settings,
        ORIGINS,
        parts(deviations.part("table8")),
        (check,),
    ),
    "mitsubishi.table9": Study(
        "Table 9: TC1's deviation from its period, offload on and off",
        Settings,
        ORIGINS,
        parts(deviations.part("table9")),
        (check,),
    ),
    "mitsubishi.table10": Study(
        "Table 10: TC0 and TC1's distance, offload on and off; the least window of TC0",
        Settings,
        ORIGINS,
        parts(deviations.part("table10"), windows.window),
        (check,),
    ),
    "mitsubishi.table11": Study(
        "Table 11: throughput of TC2, the ceiling of UDP, the collapse of TCP",
        Settings,
        ORIGINS,
        parts(throughput.part, windows.ceiling),
        (check,),
    ),
    "mitsubishi.remedy": Study(
        "rescheduling and keepon beside txtime-assist",
        Settings,
        ORIGINS,
        parts(remedy.part),
        (check_slots,),
    ),
}
