# SPDX-License-Identifier: BSD-3-Clause
"""The published analysis of PTP errors (KeepON paper sections A.9 and A.10): exact bounds and the published simulator.

`bounds` is exact arithmetic on Eq. 3 to 6, `exchange` simulates exchanges over many seeds, `settings` holds what may be
set, `studies` puts ours beside the published figures. Real frames, servos and drivers are the C++ simulator's affair.
"""
