#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The options of a link for Python: the rows of core/include/keepon/config_fields.h and
kernel/include/keepon_options.h as the C compiler understands them. `make fields` writes them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIELDS = ROOT / "python/src/keepon_host/link/fields.py"
PROGRAM = """
#include <stdio.h>
#include "keepon/config.h"
#include "keepon/dual.h"
#include "keepon_options.h"
#include "uapi/keepon_link.h"
#define OPTION(field, type, name, attribute, unit, min, max, usual, sentence) \\
    printf("    (\\"%s\\", \\"%s\\", %d, %d, \\"%s\\", %llu, %llu, %llu, \\"%s\\"),\\n", \\
           #field, #name, IFLA_KEEPON_##attribute, (int)sizeof(type), unit, \\
           (unsigned long long)(min), (unsigned long long)(max), (unsigned long long)(usual), \\
           sentence);
#define LIMIT(member, type, name, attribute) \\
    printf("    (\\"%s\\", %d, %d),\\n", #name, IFLA_KEEPON_##attribute, (int)sizeof(type));
int main(void)
{
    puts("OPTIONS = (");
    KPN_CONFIG_FIELDS(OPTION) KEEPON_OPTIONS(OPTION)
    puts(")\\nLIMITS = (");
    KEEPON_LIMITS(LIMIT)
    puts(")");
}
"""
HEAD = '''\
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of core/include/keepon/config_fields.h and kernel/include/keepon_options.h: `make fields`
writes them.

OPTIONS: field, name, attribute, bytes, unit, min, max, default, sentence. LIMITS: name, attribute,
bytes.
"""

# fmt: off
'''


def made() -> str:
    """What python/src/keepon_host/link/fields.py should say."""
    includes = [
        f"-I{ROOT / name}" for name in ("core/include", "core/platform/user", "kernel/include")
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "fields")
        subprocess.run(
            [os.environ.get("CC", "cc"), *includes, "-x", "c", "-o", program, "-"],
            input=PROGRAM, text=True, check=True,
        )  # fmt: skip
        return HEAD + subprocess.run([program], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    FIELDS.write_text(made())
