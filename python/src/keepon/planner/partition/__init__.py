# SPDX-License-Identifier: BSD-3-Clause
"""One station's partition: which ring slot belongs to which class, and when every frame leaves,
with proofs both ways.

`problem.parse` reads an instance, `solve.decide` answers, `check.check` verifies answers without
knowing the solvers, `files` reads and writes whole files, `generate.generate` makes seeded
instances. Importing this package loads none.
"""
