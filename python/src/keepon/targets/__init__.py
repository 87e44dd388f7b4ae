# SPDX-License-Identifier: BSD-3-Clause
"""Where a planned scenario runs: the simulator, or a kernel in a virtual machine."""
