# SPDX-License-Identifier: BSD-3-Clause
"""Cyclic queuing and forwarding of a bridge by Linux without offload, whose gate action gives no
frame another priority: a BPF program does, at the port where the frame comes in.
"""

from __future__ import annotations

from collections import defaultdict

from keepon.export.exported import Planned
from keepon.export.policing import ports_into, variable
from keepon.model.scenario import Bridge

_SOURCE = """\
// SPDX-License-Identifier: BSD-3-Clause
/*
 * Cyclic queuing and forwarding, bridge {bridge} of scenario {scenario}: the cycle in which a
 * frame of a stream comes gives it the priority of that cycle's buffer, by which taprio queues it
 * at the port where it leaves. CLOCK_TAI is network time. For Linux 6.1 and newer.
 *
 * VLAN is the id that frames have, 0 if none; DST_* are the addresses that they go to.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define CYCLE_NS {cycle_ns}ULL
#define BUFFERS {buffers}

static __u64 (*const now_ns)(void) = (void *)BPF_FUNC_ktime_get_tai_ns;

/* Destination of a frame that has the VLAN, else 0. */
static __u64 destination(struct __sk_buff *skb)
{{
	const __u8 *byte = (const __u8 *)(long)skb->data;
	__u64 found = 0;
	int i;

	if (byte + 6 > (const __u8 *)(long)skb->data_end || (skb->vlan_tci & 0xfff) != VLAN)
		return 0;
	for (i = 0; i < 6; i++)
		found = found << 8 | byte[i];
	return found;
}}

/* What comes from one node begins a cycle at base_ns; other filters see the frame after this. */
static int queue(struct __sk_buff *skb, __u64 base_ns)
{{
	__u64 buffer = (now_ns() - base_ns) / CYCLE_NS % BUFFERS;

	skb->priority = {priority};
	return TC_ACT_UNSPEC;
}}
"""
_PORT = """
__attribute__((section("{port}"), used)) int from_{port}(struct __sk_buff *skb)
{{
	__u64 to = destination(skb);

	if ({streams})
		return queue(skb, {base_ns});
	return TC_ACT_UNSPEC;
}}
"""


def _ports(planned: Planned, bridge: Bridge) -> dict[tuple[str, int], list[str]]:
    """Ports where streams come in, with the base time of their gates; and these streams."""
    into, found = ports_into(planned, bridge), defaultdict(list)
    document = planned.plan["bridges"][bridge.name]
    for entry in document["stream_filters"] if "cqf" in document else []:
        found[into[entry["stream"]], entry["base_ns"]].append(entry["stream"])
    return dict(found)


def source_name(bridge: Bridge) -> str:
    return f"{bridge.name}-cqf.bpf.c"


def source(planned: Planned, bridge: Bridge) -> str | None:
    """The program, a function for each port where streams come in; None: the bridge has no cycles.

    Source: tc-bpf(8), bpf-helpers(7).
    """
    ports = _ports(planned, bridge)
    if not ports:
        return None
    document = planned.plan["bridges"][bridge.name]
    *first, last = (entry["priority"] for entry in document["stream_filters"][0]["entries"])
    begin = _SOURCE.format(
        bridge=bridge.name, scenario=planned.scenario.name, **document["cqf"],
        priority="".join(f"buffer == {n} ? {own} : " for n, own in enumerate(first)) + str(last),
    )  # fmt: skip
    return begin + "".join(
        _PORT.format(
            port=port, base_ns=base_ns, streams=" || ".join(f"to == {variable(n)}" for n in names)
        )
        for (port, base_ns), names in ports.items()
    )


def needs(planned: Planned, bridge: Bridge) -> list[str]:
    """Lines of a bridge's script that compile the program, before it changes anything."""
    names = [variable(name) for own in _ports(planned, bridge).values() for name in own]
    if not names:
        return []
    addresses = (f'\t\t-D {name}="0x$(echo "${name}" | tr -d :)" \\' for name in names)
    return [
        'if [ "${OFFLOAD:-}" != skip_sw ]; then',
        '\tcommand -v clang > /dev/null || stop "clang is not installed: apt-get install clang"',
        '\tclang -O2 -target bpf -I "/usr/include/$(uname -m)-linux-gnu" -D "VLAN=${VLAN:-0}" \\',
        *addresses,
        f'\t\t-c "$here/{source_name(bridge)}" -o /run/{bridge.name}-cqf.bpf.o',
        "fi",
    ]


def lines(planned: Planned, bridge: Bridge) -> list[str]:
    """Lines of a bridge's script that attach the program, in front of the filters."""
    attached = [
        f"\ttc filter add dev {port} ingress protocol all pref 1 bpf direct-action \\\n"
        f"\t\tobject-file /run/{bridge.name}-cqf.bpf.o section {port}"
        for port, _ in _ports(planned, bridge)
    ]
    comment = "# Linux's gate changes no priority but with offload."
    return [comment, 'if [ "${OFFLOAD:-}" != skip_sw ]; then', *attached, "fi"] if attached else []
