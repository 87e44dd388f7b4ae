# SPDX-License-Identifier: BSD-3-Clause
"""The published analysis of PTP errors (KeepON paper sections A.9 and A.10): exact bounds and the
published simulator.

`exchange` simulates exchanges over many seeds, `settings` holds what may be set, `cases` the stamp
errors that equations are tried with; one module per equation and figure puts ours beside the
published, `analysis` is all of them. Exact arithmetic on Eq. 3 to 6 is in
`keepon_papers.stampbounds`; real frames, servos and drivers are the simulator's affair.
"""
