# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the independent checker of plans; nothing here may import from the solvers."""
