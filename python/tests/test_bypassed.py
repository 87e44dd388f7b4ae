# SPDX-License-Identifier: BSD-3-Clause
"""What a card has for its own frames and would not apply to those of a link on it."""

from __future__ import annotations

import pytest
from helpers import RUN, python_apart
from keepon.errors import EnvironmentProblemError
from keepon.linux import bypassed, interface

TWO = """
for each in card first; do
	ip link add $each type veth peer name $each-end
	ip link set $each up
done
"""


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("tc qdisc replace dev card root tbf rate 100kbit burst 2k latency 50ms",
         "a queueing discipline that holds frames back (tbf)"),
        ("tc qdisc replace dev card root handle 1: tbf rate 100kbit burst 2k latency 50ms",
         "a queueing discipline that holds frames back (tbf)"),
        ("ip xfrm policy add dir out src 10.0.0.1 dst 172.30.0.0/16 dev card action block",
         "IPsec of its own (ip xfrm policy with dev card)"),
        ("ip addrlabel add prefix 2001::/16 dev card label 7", "labels of addresses of its own"),
        ("ip addrlabel add prefix 2001::/16 dev first label 7", ""),
        ("ip rule add iif card to 77.0.0.0/8 prohibit", "a rule of routing (`from all to 77.0.0.0/8"
         " iif card prohibit`) that is not for rt0 alike"),
        ("ip rule add pref 10 iif card prohibit\nip rule add pref 20 to 77.0.0.0/8 lookup main\n"
         "ip rule add pref 30 iif rt0 prohibit", "a rule of routing (`from all iif card prohibit`)"
         " that is not for rt0 alike"),
        ("ip rule add not iif card prohibit\nip rule add not iif rt0 prohibit", "a rule of routing"
         " (`not from all iif rt0 prohibit`) that is not for rt0 alike"),
        ("ip rule add iif card prohibit\nip rule add iif rt0 prohibit", ""),
    ],
)  # fmt: skip
def test_what_would_not_apply_to_the_link_is_refused(more: str, what: str) -> None:
    script = """
from keepon.errors import KeeponError
from keepon.linux import bypassed

try:
    bypassed.check_nothing("card", "rt0")
except KeeponError as error:
    print(error)
"""
    said = python_apart(f"{TWO}{more}\n{RUN}", script).stdout.strip()
    assert said.startswith(f"card has {what}, which would not apply") if what else said == ""


def test_filters_of_what_is_sent_are_looked_for_at_each_discipline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the root's own handle: what tc calls root is where frames come in."""
    shown = {
        (
            "qdisc",
        ): "qdisc prio 1: root refcnt 2 bands 3\n qdisc\nqdisc ingress ffff: parent ffff:fff1 -\n"
    }
    shown["parent", "1:"] = "filter protocol ip pref 49152 u32 chain 0\n"
    asked = []

    def run(*words: str) -> str:
        asked.append(words)
        return shown.get(words[1:2], "") if words[1] == "qdisc" else shown.get(words[5:], "")

    monkeypatch.setattr(interface, "run", run)
    monkeypatch.setattr(bypassed, "run", run)
    monkeypatch.setattr(bypassed, "_bpf_programs", lambda nic: 0)
    with pytest.raises(EnvironmentProblemError, match=r"a filter of tc .*pref 49152 u32"):
        bypassed.check_nothing("eth0", "rt0")
    assert not any("ffff:" in words or "root" in words for words in asked)
    shown["qdisc",] = "qdisc fq 1: root refcnt 2 limit 10000p maxrate 1Mbit\n"
    with pytest.raises(EnvironmentProblemError, match=r"holds frames back \(fq\)"):
        bypassed.check_nothing("eth0", "rt0")
    shown["qdisc",] = "qdisc cake 1: root refcnt 2 bandwidth unlimited diffserv3\n"
    shown["parent", "1:"] = ""
    bypassed.check_nothing("eth0", "rt0")


TCX = """
import ctypes, socket, struct
from keepon.errors import KeeponError
from keepon.linux import bypassed

def bpf(command, *parts):
    attributes = ctypes.create_string_buffer(b"".join(parts) + bytes(128))
    call = bypassed.BPF_CALLS[__import__("platform").machine()]
    return ctypes.CDLL(None, use_errno=True).syscall(call, command, attributes, 128)

code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0))
name = ctypes.create_string_buffer(b"GPL")
where = ctypes.addressof(code), ctypes.addressof(name)
program = bpf(5, struct.pack("=IIQQ", 3, 2, *where))
assert program >= 0
print(bypassed._bpf_programs("card"))
link = bpf(28, struct.pack("=IIII", program, socket.if_nametoindex("card"), 47, 0))
assert link >= 0
print(bypassed._bpf_programs("card"), bypassed._bpf_programs("first"))
"""


def test_programs_that_tc_does_not_list_are_counted() -> None:
    """Attached as Cilium does."""
    assert python_apart(f"{TWO}{RUN}", TCX).stdout.split() == ["0", "1", "0"]
