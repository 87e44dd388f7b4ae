# SPDX-License-Identifier: BSD-3-Clause
"""`keepon run --target vm`: a planned scenario on a real Linux kernel, in a virtual machine, with
the stock tools.
"""

from keepon.targets.vm.target import check_supported, run_all

__all__ = ["check_supported", "run_all"]
