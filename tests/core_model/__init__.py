# SPDX-License-Identifier: BSD-3-Clause
"""Independent checks of the core: an exact model, what compares it with the core, and what
generates operations.
"""
