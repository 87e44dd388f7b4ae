# SPDX-License-Identifier: BSD-3-Clause
"""Who sets the system's clock: programs as public set-ups start them, and what `keepon doctor` says
of them together.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from doctor_trees import Machine, good_machine
from keepon_host.doctor import machine as of_machine
from keepon_host.doctor import setters
from keepon_host.doctor.asked import Clock
from keepon_host.doctor.tree import Tree

CHRONYD = "chronyd -F 1"
PHC2SYS = "phc2sys -a -r"
NTPSHM = "[global]\nclock_servo ntpshm\n"
SOFTWARE = "[global]\n# stamps\n time_stamping\tsoftware\n{}\n[eth0]\ntime_stamping hardware\n"
SERVER_PORT = "[GLOBAL]\n[unicast_master_table]\ntable_id 1\n[eth0]\nmasterOnly 1\n"
SERVER_BUT = "[global]\nserverOnly 1\n[eth0]\n[eth1]\nserverOnly 0\n"
SERVER, CLIENT = "[global]\nserverOnly 1\n", "[global]\nslaveOnly 1\n"

ALONE = [
    ("chronyd", CHRONYD, "phc2sys -s eth0 -E ntpshm -M 0 -O 0 -m"),
    ("chronyd", CHRONYD, "phc2sys -s eth0 -E refclock_sock -w"),
    ("chronyd", CHRONYD, "phc2sys -s eth0 --clock_servo=ntpshm -w"),
    ("chronyd", CHRONYD, "phc2sys -s eth0 --clock_servo refclock_sock -w"),
    ("chronyd", CHRONYD, "phc2sys -f /etc/shm.conf -s eth0 -c CLOCK_REALTIME -w"),
    ("chronyd", CHRONYD, "phc2sys -f shm.conf -s eth0 -w"),
    ("chronyd", CHRONYD, "phc2sys -s eth0 --free_running 1 -w"),
    # all that timemaster starts
    ("chronyd", "chronyd -n -f /var/run/timemaster/chrony.conf",
     "ptp4l -l 5 -f /var/run/timemaster/ptp4l.0.conf -H -i eth0",
     "phc2sys -l 5 -a -r -R 1.00 -z /run/ptp4l.0.socket -t [0:eth0] -n 0 -E ntpshm -M 0"),
    ("phc2sys", "chronyd -x", PHC2SYS),
    ("phc2sys", "chronyd -nQ", PHC2SYS),
    # the PHC follows
    ("chronyd", CHRONYD, "phc2sys -s CLOCK_REALTIME -c eth0 -O 37"),
    ("chronyd", CHRONYD, "phc2sys -s eth0 -c eth1 -c eth2"),
    ("chronyd", CHRONYD, "phc2sys -a -r -C CLOCK_AUX0"),
    ("phc2sys", "phc2sys -s eth0 -c eth1 -c CLOCK_REALTIME"),
    # stamps of software are of the system's clock
    ("ptp4l", "ptp4l -S -i eth0 -m"),
    ("ptp4l", "ptp4l -f /etc/soft.conf"),
    ("chronyd", CHRONYD, "ptp4l -i eth0 -m"),
    ("chronyd", CHRONYD, "ptp4l -H -f /etc/soft.conf"),
    ("chronyd", CHRONYD, "ptp4l -S -i eth0 --masterOnly=1"),
    ("chronyd", CHRONYD, "ptp4l -f /etc/soft-free.conf -i eth0"),
    # a port is as its section says, and else as all
    ("chronyd", CHRONYD, "ptp4l -S -f /etc/server-port.conf"),
    ("chronyd", CHRONYD, "ptp4l -S -f /etc/server-port.conf -i eth0"),
    # a clock of such a class follows no other
    ("chronyd", CHRONYD, "ptp4l -S -i eth0 --clockClass 0x6"),
    ("chronyd", CHRONYD, "ptp4l -S -i eth0 --clockClass=127 --priority1=200"),
    ("ptp4l", "ptp4l -S -s -i eth0 --clockClass=6"),
    # a grandmaster whose clock chronyd sets by GPS
    ("chronyd", CHRONYD, "ptp4l -f /etc/server.conf -i eth0", "phc2sys -a -r -r"),
    ("phc2sys", "phc2sys -a -r --of-a-version-to-come 7 -Z"),
]  # fmt: skip
"""Who sets it, and what runs."""

TOGETHER = [
    ("ptp4l and chronyd", "11", "ptp4l -S -i eth0 -m", CHRONYD),
    ("ntp-daemon and phc2sys", "10", "ntp-daemon -c /etc/ntpd-rs/ntp.toml", PHC2SYS),
    ("chronyd and ntpd", "11", CHRONYD, "ntpd -g"),
    ("phc2sys and phc2sys", "11", PHC2SYS, "phc2sys -s eth1"),
    ("chronyd and phc2sys", "10", CHRONYD, "ptp4l -s -i eth0", "phc2sys -a -rr"),
    ("chronyd and phc2sys", "10", CHRONYD, "ptp4l -f /etc/client.conf -i eth0", "phc2sys -a -rr"),
    # one of two ports may follow
    ("chronyd and ptp4l", "10", CHRONYD, "ptp4l -S -f /etc/server-port.conf -i eth1"),
    ("chronyd and ptp4l", "10", CHRONYD, "ptp4l -S -f /etc/server-but.conf"),
    ("chronyd and ptp4l", "10", CHRONYD, "ptp4l -S -i eth0 --priority1=128 --clockClass=248"),
]
"""Who both set it, whom the command ends, and what runs."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = good_machine(tmp_path)
    for name, text in (
        ("shm", NTPSHM),
        ("soft", SOFTWARE.format("")),
        ("soft-free", SOFTWARE.format("free_running 1")),
        ("server", SERVER),
        ("client", CLIENT),
        ("server-port", SERVER_PORT),
        ("server-but", SERVER_BUT),
    ):
        made.write(f"etc/{name}.conf", text)
    return made


def start(machine: Machine, lines: tuple[str, ...]) -> None:
    for number, line in enumerate(lines, 10):
        name, *words = line.split()
        machine.process(number, name, words=tuple(words))
        (machine.root / f"proc/{number}/cwd").symlink_to(machine.root / "etc")


def test_a_program_that_has_ended_sets_no_clock(machine: Machine) -> None:
    start(machine, (PHC2SYS, CHRONYD))
    machine.write("proc/11/stat", "11 (chronyd) Z 1 0 0 0")
    answer = of_machine.clock_writers(machine.tree)
    assert answer.found == "phc2sys alone sets the system's clock"


@pytest.mark.parametrize("case", ALONE, ids=lambda case: " & ".join(case[1:]))
def test_the_one_program_that_sets_the_clock_is_left_alone(
    machine: Machine, case: tuple[str, ...]
) -> None:
    who, *lines = case
    start(machine, tuple(lines))
    answer = of_machine.clock_writers(machine.tree)
    assert answer.found == f"{who} alone sets the system's clock"
    assert (answer.state, answer.remedy) == ("ok", "")


@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: " & ".join(case[2:]))
def test_two_that_set_the_clock_are_a_problem(machine: Machine, case: tuple[str, ...]) -> None:
    who, ended, *lines = case
    start(machine, tuple(lines))
    answer = of_machine.clock_writers(machine.tree)
    assert answer.found == f"{who} set the same clock"
    assert (answer.state, answer.remedy) == ("problem", f"kill {ended}")


def test_who_follows_whom_may_be_for_ptp4l_to_say(machine: Machine) -> None:
    start(machine, (CHRONYD, "ptp4l -i eth0", "phc2sys -a -r -r"))
    answer = of_machine.clock_writers(machine.tree)
    assert (answer.state, answer.remedy) == ("unknown", "")
    assert answer.found.startswith("chronyd and phc2sys: phc2sys -r -r sets the system's clock")


@pytest.mark.parametrize("option", ["--priority1=1", "--clockClass=128"])
def test_a_ptp4l_that_is_to_lead_may_become_the_grandmaster(machine: Machine, option: str) -> None:
    """Real ptp4l of class 128 follows a better clock, of class 127 none."""
    start(machine, (CHRONYD, f"ptp4l -S -i eth0 {option}"))
    answer = of_machine.clock_writers(machine.tree)
    assert (answer.state, answer.remedy) == ("unknown", "")
    assert "does not if it has become the grandmaster" in answer.found


@pytest.mark.parametrize("line", ["phc2sys -a -rr", "ptp4l -S -i eth0 --priority1=1"])
def test_a_program_that_sets_it_at_times_is_not_said_to_set_it(machine: Machine, line: str) -> None:
    start(machine, (line,))
    name = line.split()[0]
    answer = of_machine.clock_writers(machine.tree)
    assert (answer.state, answer.found) == ("ok", f"{name} alone may set the system's clock")
    answer = of_machine.system_clock(machine.tree, Clock(0, True), lambda _: True)
    assert (answer.state, answer.remedy) == ("note", "")
    assert answer.found.endswith(f"{name} sets it only while another clock leads")


def test_nobody_sets_it(machine: Machine) -> None:
    start(machine, ("chronyd -x", "phc2sys -a"))
    assert of_machine.clock_writers(machine.tree).found == "nobody sets it"


def test_processes_of_one_program_are_one(tmp_path: Path) -> None:
    """Of the real kernel: with a filter of system calls, Debian's default, chronyd is two."""
    program = tmp_path / "chronyd"
    shutil.copy("/bin/sh", program)
    line = f"{program} -c 'sleep 60; :'; :"
    with subprocess.Popen([program, "-c", line], start_new_session=True) as started:
        try:

            def ours() -> list[int]:
                all_named = [each for each in Tree().processes() or [] if each.name == "chronyd"]
                return [n.number for n in all_named if os.getsid(n.number) == started.pid]

            deadline = time.monotonic() + 30
            while len(ours()) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            both = ours()
            seen = [each.number for each in Tree().running(*setters.NTP) or []]
            assert [number for number in seen if number in both] == [started.pid]
        finally:
            os.killpg(started.pid, signal.SIGKILL)
