# SPDX-License-Identifier: BSD-3-Clause
"""The published analysis of PTP errors as a whole: both equations and both figures of sections A.9
and A.10.
"""

from __future__ import annotations

from keepon.studies.ptperrors import eq4, eq6, fig28, fig29
from keepon.studies.ptperrors.settings import ORIGINS, Settings, check
from keepon.studies.study import Study, parts

STUDY = Study(
    "The published analysis of PTP errors: Eq. 4, Eq. 6, Figures 28 and 29",
    Settings,
    ORIGINS,
    parts(eq4.part, eq6.part, fig28.part, fig29.part),
    (check, fig29.check),
)
