# SPDX-License-Identifier: BSD-3-Clause
"""`keepon run --target vm`: a planned scenario on a real Linux kernel, in a virtual machine, with
the stock tools.
"""
