# SPDX-License-Identifier: BSD-3-Clause
"""`python -m keepon`."""

from __future__ import annotations

from keepon.cli.start import main

if __name__ == "__main__":
    raise SystemExit(main())
