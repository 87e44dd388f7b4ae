# SPDX-License-Identifier: BSD-3-Clause
"""`keepon hwcheck`: what a lent ring does, measured, beside what its driver says; docs/hwcheck.md.

`records` reads what keepon_hwcheck.ko has noted, `peer` what came in at the other end of the cable,
`wire` is the wire as both show it, `judge` and `index` compare with the driver's limits, `command`
does the whole. Nothing but the standard library.
"""
