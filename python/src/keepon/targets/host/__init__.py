# SPDX-License-Identifier: BSD-3-Clause
"""`keepon run --target host`: a planned scenario on interfaces of this machine (docs/host.md)."""
