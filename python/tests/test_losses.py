# SPDX-License-Identifier: BSD-3-Clause
"""What would be lost with a card's driver is seen, in a network namespace of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keepon
from helpers import apart

CHECK = """
from keepon.errors import KeeponError
from keepon.linux.losses import above, check_first_namespace, check_nothing_lost

def said(check):
    try:
        check("card")
    except KeeponError as error:
        print(error)

said(check_nothing_lost)
print(above("card"))
said(check_first_namespace)
"""
SCRIPT = """
ip link add card type veth peer name other
tc qdisc add dev card root handle 5: pfifo
exec "$@"
"""


def test_queues_what_is_built_on_it_and_the_namespace_are_seen() -> None:
    done = subprocess.run(
        [*apart(SCRIPT), sys.executable, "-S", "-c", CHECK],
        env={**os.environ, "PYTHONPATH": str(Path(keepon.__file__).parents[1])},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    queue, built, namespace = done.stdout.splitlines()
    assert queue == (
        "card has a queueing discipline of its own (pfifo), which would be lost; take it away with"
        " tc qdisc del dev card root"
    )
    assert built == "['other']"  # that of a pair is linked with it, as a tunnel is
    assert 'argument NAME = "card": is in a network namespace' in namespace
