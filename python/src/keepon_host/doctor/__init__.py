# SPDX-License-Identifier: BSD-3-Clause
"""`keepon doctor`: what a machine and its cards have and lack for Keepon; docs/doctor.md.

`tree` reads files of /sys and /proc, `asked` what only system calls tell; `machine`, `modules` and
`card` judge both, `cards` knows chips and drivers, `measured` runs hwcheck, `command` does the
whole. Nothing but the standard library.
"""
