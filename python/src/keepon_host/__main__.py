# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host`: the command `keepon`."""

import sys

from keepon_host.entry import begin

if __name__ == "__main__":
    sys.exit(begin())
