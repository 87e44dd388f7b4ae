# SPDX-License-Identifier: BSD-3-Clause
"""`keepon measure link`: two machines that a command reaches become a result folder as that of run,
in which what was due and did not come is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from helpers import RUN, apart
from keepon.cli import session
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.model import documents
from keepon.model.result import Result
from keepon.targets.host import between
from keepon.targets.host.observations import CARD, OWN, OWN_RECEIVED, SOFTWARE_RECEIVED
from keepon_host.testbed.remote import End

# A machine as the command reaches it: `python3 FILE HOST WORDS`. Its frames take 3 us, its clocks
# differ by 500 ns, and of 50 ms frame 40 is lost.
MACHINE = """
import json, sys
host, program, *words = sys.argv[1:]
count = int(words[words.index("--count") + 1]) if "--count" in words else 0
at = [10**18 + seq * 10**6 for seq in range(count)]
if program == "ip":
    up = ["UP"] if host == "down" else ["UP", "LOWER_UP"]
    kind = {"info_kind": "keepon"} if host == "link" else {}
    print(json.dumps([{"flags": up, "address": "02:00:00:00:00:01", "linkinfo": kind}]))
elif program == "ethtool":
    print("hardware-transmit")
elif program == "uname":
    print("6.1.0")
elif "--version" in words:
    sys.exit("no such program" if host == "bare" else 0)
elif program == "keepon-talk":
    assert words[0] == "eth0" and words[words.index("--dst") + 1] == "02:00:00:00:00:01"
    assert words[words.index("--priority") + 1] == "7" and "70" in words and "--hw-stamps" in words
    assert words[words.index("--base-time") + 1] == "0" and words[-1] != "--no-txtime"
    print(json.dumps({
        "stamp_source": "hardware", "stream_hash": 7, "first_txtime_ns": at[0], "counters": {},
        "frames": [{
            "seq": seq, "txtime_ns": ns, "submitted_ns": ns - 90_000, "tx_stamp_ns": ns + 20,
            "sw_stamp_ns": ns - 80_000, "error": None, "errno": None,
        } for seq, ns in enumerate(at)],
    }))
elif program == "keepon-listen":
    assert words[words.index("--duration") + 1].startswith("20"), "as long as a connection takes"
    print("keepon-listen: listening on eth0", file=sys.stderr)
    print(json.dumps({
        "stamp_source": "hardware" if host == "link" else "software",
        "frames": [{
            "seq": seq, "stream": "probe", "rx_stamp_ns": ns + 3_500, "sw_stamp_ns": ns + 3_500,
        } for seq, ns in enumerate(at) if seq != 240],
    }))
"""


@pytest.fixture
def by(tmp_path: Path) -> str:
    (tmp_path / "machine.py").write_text(MACHINE)
    return f"{sys.executable} {tmp_path}/machine.py {{}}"


def measured(by: str, hosts: str, within_ns: int | None, folder: Path) -> Result:
    sender, receiver = (End.read(each, f"{each}:eth0", by) for each in hosts.split())
    target = between.between(sender, receiver, within_ns, 7, 70)
    stream = {"period_ns": 1_000_000, "frame_bytes": 100, "deadline_ns": 3_450}
    scenario = between.scenario(0.05, stream, True, within_ns is not None)
    outcome = session.run_scenario(
        scenario, session.planned(scenario), folder, 1, 100, None, target
    )
    return outcome.result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hosts", "within_ns", "delay_ns", "stamps", "deadline"),
    [
        ("card card", None, None, (CARD, SOFTWARE_RECEIVED), "nothing checked"),
        ("card card", 100, 3_500, (CARD, SOFTWARE_RECEIVED), "met"),
        ("card card", 10, 3_500, (CARD, SOFTWARE_RECEIVED), "nothing checked"),
        ("link link", 10, 3_500, (OWN, OWN_RECEIVED), "nothing checked"),
    ],
)
def test_two_machines_are_measured(
    hosts: str, within_ns: int | None, delay_ns: int | None, stamps: tuple[str, str],
    deadline: str, by: str, tmp_path: Path,
) -> None:  # fmt: skip
    result = measured(by, hosts, within_ns, tmp_path / "out")
    (run,) = result["runs"]
    stream = run["streams"]["probe"]
    assert (stream["due"], stream["missing"], run["outcome"]) == (50, 1, "missed")
    assert stream["lost"] == {"the wire or a bridge": 1}
    assert stream["delay_ns"]["max"] == delay_ns
    said = stream["stamps"]
    assert (said["talker"], said["listeners"]["receiver"]) == stamps
    assert said["uncertainty_ns"] == within_ns
    assert {name: each["outcome"] for name, each in stream["bound_check"].items()} == {
        "deadline_ns": deadline
    }
    host = run["host"]
    assert host["clocks"] == ("free" if within_ns is None else "assumed")
    assert (host["clock_offsets_ns"], host["kernel"]) == ({}, "6.1.0")
    assert ("assumed to agree within" in " ".join(result["by_construction"])) == bool(within_ns)
    assert (tmp_path / "out" / documents.CAPTURE_FILE).stat().st_size > 0


@pytest.mark.parametrize(
    ("host", "sentence"),
    [("down", "eth0 of down has no link; set it up there"), ("bare", "no such program")],
)
def test_a_machine_that_lacks_something_is_refused(host: str, sentence: str, by: str) -> None:
    end = End.read("argument A", f"{host}:eth0", by)
    with pytest.raises(EnvironmentProblemError, match=sentence):
        between.between(end, end, None, 0, 0)


@pytest.mark.parametrize(
    ("text", "by", "sentence"),
    [
        ("a;b:eth0", "ssh {}", r'argument A = "a;b:eth0": its host must be of letters'),
        ("-oProxyCommand=x:eth0", "ssh {}", "its host must be of letters"),
        ("a:eth 0", "ssh {}", 'argument A: interface = "eth 0": must be a device name'),
        ("a:eth0", "ssh", r'option --by = "ssh": must have \{\} for the host'),
    ],
)
def test_what_is_no_word_for_a_shell_is_refused(text: str, by: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        End.read("argument A", text, by)


@pytest.mark.slow
def test_a_cable_between_two_namespaces_is_measured(tmp_path: Path) -> None:
    """As a person types it, with `ip netns exec` in place of ssh."""
    tools = Path(session.__file__).parents[4] / "out/build/python/tools"
    script = (
        "mount -t tmpfs none /run\nip netns add a\nip netns add b\n"
        "ip -n a link add name v type veth peer name v netns b\n"
        "ip -n a link set dev v up\nip -n b link set dev v up\n"
    )
    words = ["measure", "link", "a:v", "b:v", "--by", "ip netns exec {}", "--no-txtime"]
    words += [
        "--fifo",
        "0",
        "--seconds",
        "0.3",
        "--clocks-within-ns",
        "100",
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [*apart(script + RUN), sys.executable, "-m", "keepon", *words],
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}, capture_output=True,
        text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr  # neither bound nor deadline
    assert "nothing checked: 300 frames due" in done.stdout and "between arrivals" in done.stdout
    result = json.loads((tmp_path / "out" / documents.RESULT_FILE).read_text())
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(result)
    assert 0 < result["runs"][0]["streams"]["probe"]["delay_ns"]["p50"] < 1_000_000_000
