# SPDX-License-Identifier: BSD-3-Clause
"""Links of kind keepon by rtnetlink, for machines without the iproute2 plugin. Standard library
only.

Same words as `kernel/plugin/link_keepon.c`, attributes of `kernel/include/uapi/keepon_link.h`.
Without typer and rich: `python3 -m keepon.link`.
"""
