# SPDX-License-Identifier: BSD-3-Clause
"""Partition of one station: the class that owns each ring slot, the slot of every frame, and proofs
both ways.

`problem.parse` reads an instance, `solve.decide` answers, `check.check` verifies answers without
the solvers, `files` reads and writes whole files. Importing this package loads none of these
modules.
"""
