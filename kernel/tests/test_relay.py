# SPDX-License-Identifier: GPL-2.0-only
"""A guest's txtimes on the host's link: examples/txtime_tag.bpf.c in the guest, keepon-relay on the
host. The guest is a namespace here; virtio and veth carry the same frames.
"""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from pathlib import Path

import dpkt
import numpy as np
import pytest
from hwsim_wire import stream_deviations_ps
from keepon.targets.vm import observations, programs
from keepon_guests import FAMILIES, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
BYTE_PS = 8_000
MISSED, STAMP = 1, 3


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_a_guests_frames_leave_at_their_txtimes(family: str, tmp_path: Path) -> None:
    source, program = HERE.parent.parent / "examples" / "txtime_tag.bpf.c", tmp_path / "tag.o"
    subprocess.run(
        ["clang", "-O2", "-Wall", "-Werror", "-target", "bpf",
         "-I", "/usr/include/x86_64-linux-gnu", "-c", source, "-o", program],
        check=True,
    )  # fmt: skip
    kernel = get_kernel(family)
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_relay.sh",
            {
                **programs.guest_files(),
                "/lib/keepon/common.sh": HERE / "keepon_common.sh",
                "/lib/keepon/txtime_tag.bpf.o": program,
            },
            modules=modules, tools=[*programs.tools(), "tcpdump"], timeout_s=300,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    assert np.max(np.abs(stream_deviations_ps(result, "talk.json"))) <= BYTE_PS
    text = result.files["relay.text"].decode()
    assert text == "sent 220, missed 1, invalid 0, stamped 219, refused 0, malformed 0\n"
    kinds: Counter[int] = Counter()
    sent = {
        frame["txtime_ns"] for frame in observations.load_json(result.files, "talk.json")["frames"]
    }
    (tmp_path / "reports.pcap").write_bytes(result.files["reports.pcap"])
    with (tmp_path / "reports.pcap").open("rb") as file:
        for _, frame in dpkt.pcap.Reader(file):
            _, kind, _, txtime_ns, time_ns = struct.unpack_from("!HBBQQ", frame, 12)
            kinds[kind] += 1
            if kind == STAMP and txtime_ns in sent:
                sent.remove(txtime_ns)
                assert abs(time_ns - txtime_ns) <= 1000
    assert kinds == {MISSED: 1, STAMP: 219} and sent == set()
