# SPDX-License-Identifier: BSD-3-Clause
"""`keepon doctor` of made-up machines: every check about the machine, in each state it can have."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import keepon
import pytest
from doctor_trees import (
    CONFIG,
    GOOD,
    MODULES,
    RELEASE,
    SECURE_BOOT,
    SIGNED,
    SYNCHRONISED,
    UNSEEN,
    Machine,
    good_machine,
)
from jsonschema import Draft202012Validator
from keepon.errors import ConfigError
from keepon.model import document_schemas
from keepon_host import kernels
from keepon_host.doctor import command, modules
from keepon_host.doctor.asked import Clock
from keepon_host.doctor.checks import EXIT_CODES, Check, worst

ROOT = Path(__file__).parents[3]
CPU = "sys/devices/system/cpu"
OPTIONS = "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2"
GRUB = 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX="quiet"\n'
UNSET = Clock(37, unsynchronised=True)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return good_machine(tmp_path)


def examined(machine: Machine, clock: Clock = SYNCHRONISED) -> dict[str, Check]:
    checks = command.examine(None, tree=machine.tree, asking=lambda _: GOOD, clocks=lambda: clock)
    return {check.name: check for check in checks}


def test_a_machine_that_lacks_nothing(machine: Machine) -> None:
    checks = examined(machine)
    assert {name: check.state for name, check in checks.items()} == dict.fromkeys(checks, "ok")
    assert EXIT_CODES[worst(list(checks.values()))] == 0


def loaded(machine: Machine, *names: str) -> None:
    """Only these modules are."""
    for name in MODULES:
        if name not in names:
            machine.remove(f"sys/module/{name}/refcnt")
            (machine.root / f"sys/module/{name}").rmdir()


def not_installed(machine: Machine) -> None:
    loaded(machine)
    machine.write(f"lib/modules/{RELEASE}/modules.dep")
    machine.install(("keepon",), release="6.1.0-55-amd64")


def installed(machine: Machine) -> None:
    loaded(machine)


def no_list(machine: Machine) -> None:
    loaded(machine)
    machine.remove(f"lib/modules/{RELEASE}/modules.dep")


def config(machine: Machine, *without: str) -> None:
    lines = [line for line in CONFIG.splitlines() if not line.startswith(without)]
    machine.write(f"boot/config-{RELEASE}", "\n".join(lines))


def no_config(machine: Machine, *modules: str) -> None:
    machine.remove(f"boot/config-{RELEASE}")
    machine.install((*MODULES, *modules))


def uefi(machine: Machine, on: int) -> None:
    machine.write(SECURE_BOOT, bytes([6, 0, 0, 0, on]))


def signed(machine: Machine, content: bytes = SIGNED, suffix: str = "") -> None:
    uefi(machine, 1)
    machine.install(MODULES, suffix=suffix)
    for name in MODULES:
        machine.write(f"lib/modules/{RELEASE}/updates/{name}.ko{suffix}", content)


def headers(machine: Machine) -> None:
    machine.write(f"lib/modules/{RELEASE}/build/Makefile")


def without_mii(machine: Machine) -> None:
    """A kernel as Debian's for clouds."""
    not_installed(machine)
    machine.write(f"boot/config-{RELEASE}", CONFIG.replace("CONFIG_MII=m\n", ""))


def governors(machine: Machine, governor: str, driver: str) -> None:
    for number in range(4):
        machine.write(f"{CPU}/cpu{number}/cpufreq/scaling_governor", governor)
        machine.write(f"{CPU}/cpu{number}/cpufreq/scaling_driver", driver)


def by_dkms(machine: Machine) -> None:
    machine.write("var/lib/dkms/keepon/9.9.9/source/dkms.conf")


def by_dkms_that_failed(machine: Machine) -> None:
    by_dkms(machine)
    headers(machine)
    machine.write("var/lib/dkms/keepon/9.9.9/build/make.log")


def by_make_install(machine: Machine) -> None:
    headers(machine)
    machine.write("usr/local/src/keepon-9.9.9/dkms.conf")


def no_tool(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    machine.remove("usr/sbin/ethtool")


def timesyncd(machine: Machine, unit: str = "systemd-timesyncd.service") -> None:
    machine.process(300, "systemd-timesyncd", unit)


def phc2sys(machine: Machine, *words: str) -> None:
    machine.process(400, "phc2sys", words=words or ("-a", "-r"))


def threads(machine: Machine, even: str = "0,2", odd: str = "1,3") -> None:
    for number in range(4):
        place = f"{CPU}/cpu{number}/topology/thread_siblings_list"
        machine.write(place, odd if number % 2 else even)


def interrupt(machine: Machine, number: int, allowed: str, effective: str) -> None:
    machine.write(f"proc/irq/{number}/smp_affinity_list", allowed)
    machine.write(f"proc/irq/{number}/effective_affinity_list", effective)


def hidden(machine: Machine) -> None:
    machine.remove("proc/1/comm")


Change = Callable[[Machine], object]


def guest(machine: Machine, clock: str = "", source: str = "kvm-clock") -> None:
    machine.write("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm")
    machine.write("proc/stat", "cpu  60 0 20 100 0 0 0 20 0 0\ncpu0 60 0 20 100 0 0 0 20 0 0")
    machine.write("sys/class/dmi/id/sys_vendor", "QEMU")
    machine.write("sys/devices/system/clocksource/clocksource0/current_clocksource", source)
    machine.write("sys/class/ptp/ptp0/clock_name", "vmclock")
    machine.write("sys/class/ptp/ptp1/clock_name", clock)


CASES: list[tuple[str, Change, str, str, str]] = [
    ("guest", guest, "note", "each of its 4 vCPUs a core that nothing else runs on (other work has"
     " had 10.0% of", ""),
    ("clock source", guest, "ok", "kvm-clock", ""),
    ("clock source", lambda m: guest(m, source="hpet"), "problem", "it is hpet, which is slow", ""),
    ("host's clock", guest, "note", "none: ptp_kvm is not loaded", "modprobe ptp_kvm"),
    ("host's clock", lambda m: guest(m, "KVM virtual PTP"), "ok", "/dev/ptp1 is the host's REAL",
     ""),
    ("host's clock", lambda m: guest(m, "Virtio PTP type 1/variant 0"), "ok",
     "refclock PHC /dev/ptp1 poll 0 tai", ""),
    ("keepon", not_installed, "problem", "but for 6.1.0-55-amd64", "for m in native keepon "),
    ("keepon", installed, "ok", "the first link loads it", ""),
    ("keepon", no_list, "unknown", "no list of modules", f"depmod {RELEASE}"),
    ("keepon_native", not_installed, "problem", "not there for the running", "for m in native"),
    ("keepon_generic", installed, "note", "not loaded", "modprobe keepon_generic"),
    ("keepon_generic", no_list, "unknown", "no list of modules", "depmod"),
    ("keepon_genet", not_installed, "note", "only some cards", "for m in native genet;"),
    ("keepon_gem", not_installed, "note", "only some cards", "for m in native gem;"),
    ("keepon_genet", without_mii, "note", "no driver of a card can be built",
     "apt-get install linux-image-$(dpkg"),
    ("kernel options", lambda m: config(m, "CONFIG_HIGH_RES"), "problem", "lacks HIGH_RES_TIMERS",
     "apt-get install linux-image-$(dpkg"),
    ("kernel options", no_config, "unknown", "configuration of kernel 6.1", ""),
    ("kernel options", lambda m: no_config(m, "configs"), "unknown", "is not here", "modprobe c"),
    ("kernel extras", lambda m: config(m, "CONFIG_PREEMPT"), "note", "PREEMPT_RT (short",
     "apt-get install linux-image-rt-"),
    ("kernel extras", lambda m: m.write(f"lib/modules/{RELEASE}/modules.builtin"), "note",
     "without NET_SCH_MQPRIO (classes of their own), NET_SCH_ETF (qdisc etf), NET_SCH_TAPRIO (",
     "linux-image-"),
    ("kernel options", lambda m: (no_config(m), m.write("proc/config.gz", b"\x1f\x8b")), "unknown",
     "/proc/config.gz cannot be read (it is damaged)", ""),
    ("kernel extras", no_config, "unknown", "configuration of kernel 6.1", ""),
    ("Secure Boot", lambda m: uefi(m, 0), "ok", "it is off", ""),
    ("Secure Boot", lambda m: uefi(m, 1), "problem", "6 of Keepon's modules have no signature",
     "mokutil --import"),
    ("Secure Boot", signed, "ok", "are signed", ""),
    ("Secure Boot", lambda m: signed(m, gzip.compress(SIGNED), ".gz"), "ok", "are signed", ""),
    ("Secure Boot", lambda m: signed(m, gzip.compress(b"ELF"), ".gz"), "problem", "6 of", "sign-"),
    ("Secure Boot", lambda m: signed(m, b"(\xb5", ".zst"), "unknown", "packed so that", ""),
    ("Secure Boot", lambda m: signed(m, b"no gzip", ".gz"), "unknown", "damaged", ""),
    ("Secure Boot", lambda m: signed(m, lzma.compress(b"ELF"), ".xz"), "problem", "6 of", "xz -d"),
    ("Secure Boot", lambda m: m.write("sys/firmware/efi/x"), "unknown", "not mounted",
     "mount -t efivarfs"),
    ("Secure Boot", lambda m: m.write("sys/kernel/security/lockdown", "none [integrity]"),
     "problem", "locked down", "sign-file"),
    ("Secure Boot", lambda m: m.write("sys/module/module/parameters/sig_enforce", "Y"),
     "problem", "enforces", "sign-file"),
    ("clock writers", timesyncd, "ok", "systemd-timesyncd alone sets the system's clock", ""),
    ("clock writers", lambda m: (timesyncd(m), phc2sys(m)), "problem",
     "systemd-timesyncd and phc2sys set the same clock", "disable --now systemd-timesyncd.service"),
    ("clock writers", lambda m: (timesyncd(m, ""), phc2sys(m)), "problem", "same clock",
     "kill 300"),
    ("clock writers", lambda m: (timesyncd(m), m.process(5, "chronyd", "chrony.service")),
     "problem", "same clock", "systemctl disable --now chrony.service"),
    ("clock writers", lambda m: (timesyncd(m), phc2sys(m, "-s", "CLOCK_REALTIME", "-c", "eth0")),
     "ok", "systemd-timesyncd alone", ""),
    # started by hand from a login: its unit is the login's
    ("clock writers", lambda m: (timesyncd(m, "ssh.service"), phc2sys(m)), "problem", "same clock",
     "kill 300"),
    ("clock writers", lambda m: (timesyncd(m), phc2sys(m, "-a")), "ok", "timesyncd alone", ""),
    ("clock writers", lambda m: phc2sys(m, "-a", "-r"), "ok", "phc2sys alone sets", ""),
    ("clock writers", lambda m: (timesyncd(m), phc2sys(m, "-c", "eth1", "-s", "eth0")), "ok",
     "timesyncd alone", ""),
    ("clock writers", hidden, "unknown", "only root", "sudo keepon doctor"),
    ("TAI offset", hidden, "unknown", "only root", "sudo keepon doctor"),
    ("CPU governor", lambda m: governors(m, "powersave", "acpi-cpufreq"), "problem",
     "powersave: CPUs stay", "echo performance"),
    ("CPU governor", lambda m: governors(m, "powersave", "intel_pstate"), "note", "take time",
     "echo performance"),
    ("CPU governor", lambda m: governors(m, "ondemand", "cpufreq-dt"), "note", "ondemand",
     "echo performance"),
    ("CPU governor", lambda m: m.remove(f"{CPU}/online"), "unknown", "which CPUs", ""),
    ("CPU governor", lambda m: m.write(f"{CPU}/online", "0-x"), "unknown", "not understood", ""),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"), m.write("etc/default/grub", GRUB)),
     "note", "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2 from",
     "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2 /' /etc/default/grub"),
    ("isolated CPUs", lambda m: m.write(f"{CPU}/isolated"), "note", "from the next boot", ""),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"),
                                 m.write("etc/default/grub", GRUB.replace("quiet", "isolcpus=3"))),
     "note", "none yet: the next boot isolates those that /etc/default/grub names", ""),
    # two threads to a core: 1 and 3, 0 and 2
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"), threads(m),
                                 m.write("etc/default/grub", GRUB)),
     "note", "domain,1,3 nohz_full=1,3 rcu_nocbs=1,3 irqaffinity=0,2 from", "irqaffinity=0,2 /'"),
    ("isolated CPUs", threads, "note", "CPU 3, which shares a core with CPU 1",
     "echo 0 > /sys/devices/system/cpu/cpu1/online"),
    ("isolated CPUs", lambda m: (threads(m), m.write(f"{CPU}/isolated", "1,3")), "ok", "1,3", ""),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"), m.write(f"{CPU}/online", "0-1"),
                                 threads(m, "0-1", "0-1")),
     "note", "none, with one core", ""),
    ("isolated CPUs", lambda m: [interrupt(m, n, "0-3", "3") for n in (31, 30)], "note",
     "interrupts 30-31 go to CPU 3; the kernel's irqaffinity=0-2",
     "for n in 30 31; do echo 0-2 > /proc/irq/$n/smp_affinity_list; done"),
    ("isolated CPUs", lambda m: interrupt(m, 30, "0-3", "3"), "note", "interrupt 30 goes to", "30"),
    ("isolated CPUs", lambda m: interrupt(m, 30, "0-3", "2"), "ok", "CPU 3", ""),
    # put there by the user, or by the kernel for a queue of that CPU
    ("isolated CPUs", lambda m: interrupt(m, 30, "3", "3"), "ok", "CPU 3", ""),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"),
                                 m.write("etc/default/grub", f"# isolcpus=1\n{GRUB}")),
     "note", "from the next boot", "update-grub"),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"), m.write("boot/firmware/cmdline.txt")),
     "note", "none", "/boot/firmware/cmdline.txt"),
    ("isolated CPUs", lambda m: m.write(f"{CPU}/isolated", "0-3"), "problem", "all are", ""),
    ("isolated CPUs", lambda m: (m.write(f"{CPU}/isolated"), m.write(f"{CPU}/online", "0")),
     "note", "with one core", ""),
    ("isolated CPUs", lambda m: m.remove(f"{CPU}/isolated"), "unknown", "does not say", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "state", "found", "remedy"), CASES)
def test_each_state_of_a_check(
    machine: Machine, name: str, change: Change, state: str, found: str, remedy: str
) -> None:
    change(machine)
    check = examined(machine)[name]
    assert check.state == state
    assert found in check.found
    assert remedy in check.remedy
    assert bool(remedy) == bool(check.remedy)


def test_for_a_kernel_that_is_not_known_nothing_is_built(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_installed(machine)
    monkeypatch.setattr(kernels, "LAST", "6.0")
    monkeypatch.setattr(kernels, "FIRST", "5.10")
    checks = examined(machine)
    assert (checks["keepon"].state, checks["keepon_gem"].state) == ("problem", "note")
    for name in ("keepon", "keepon_gem"):
        assert "this version of Keepon knows kernels 5.10 to 6.0" in checks[name].found
        assert checks[name].remedy == ""
    assert "but for 6.1.0-55-amd64" in checks["keepon"].found


ORIGINS: list[tuple[Change, bool, str]] = [
    (headers, True, f"(set -e; cd {ROOT}; b=$PWD"),
    (lambda _: None, True, f"apt-get install linux-headers-{RELEASE} && (set -e; cd {ROOT}"),
    (headers, False, "apt-get install ./keepon-dkms_*.deb"),
    (lambda _: None, False, f"apt-get install ./keepon-dkms_*.deb linux-headers-{RELEASE}"),
    (by_dkms, True,
     f"apt-get install linux-headers-{RELEASE} && dkms autoinstall -k {RELEASE}"),
    (by_dkms_that_failed, False, f"dkms autoinstall -k {RELEASE}"),
    (by_make_install, True, f"dkms install /usr/local/src/keepon-9.9.9 -k {RELEASE}"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "checkout", "remedy"), ORIGINS)
def test_modules_come_from_where_this_machine_has_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, change: Change, checkout: bool, remedy: str
) -> None:
    """Of dkms, of `make install`, of a checkout, of the packages' files."""
    not_installed(machine)
    change(machine)
    if not checkout:
        monkeypatch.setattr(modules, "checkout", lambda: None)
    checks = examined(machine)
    given = checks["keepon"].remedy
    assert given == remedy if checkout is False or "dkms" in remedy else given.startswith(remedy)
    failed = change is by_dkms_that_failed
    assert ("/var/lib/dkms/keepon/9.9.9/build/make.log" in checks["keepon"].found) == failed


def below(machine: Machine, remedy: str) -> str:
    """A command with the machine's files in place of this one's, and without a boot loader."""
    for folder in ("sys", "etc", "boot"):
        remedy = re.sub(rf"(?<=[ ])/{folder}/", f"{machine.root}/{folder}/", remedy)
    return remedy.replace("update-grub", "true")


MENDED: list[tuple[str, Change, str, str]] = [
    ("isolated CPUs", lambda m: m.write("etc/default/grub", GRUB), "etc/default/grub",
     GRUB.replace('"quiet"', f'"{OPTIONS} quiet"')),
    ("isolated CPUs", lambda m: m.write("boot/firmware/cmdline.txt", "console=tty1 rootwait"),
     "boot/firmware/cmdline.txt",
     f"console=tty1 rootwait {OPTIONS}\n"),
    ("CPU governor", lambda m: governors(m, "powersave", "acpi-cpufreq"),
     f"{CPU}/cpu3/cpufreq/scaling_governor", "performance\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "file", "content"), MENDED)
def test_commands_that_write_files_write_what_is_right(
    machine: Machine, name: str, change: Change, file: str, content: str
) -> None:
    """Run by sh on the made-up machine: afterwards there is nothing left to do."""
    machine.write(f"{CPU}/isolated")
    change(machine)
    before = examined(machine)[name]
    subprocess.run(["sh", "-ec", below(machine, before.remedy)], check=True)
    assert (machine.root / file).read_text().rstrip("\n") == content.rstrip("\n")
    after = examined(machine)[name]
    assert after.remedy == ""
    assert after.state == "ok" or "none yet" in after.found


def test_every_command_is_a_command_of_sh(machine: Machine) -> None:
    """Read by sh, and not run; what each does, the guests' and the packages' tests show."""
    machine.write(f"{CPU}/isolated")
    machine.write("etc/default/grub", GRUB)
    for change in (not_installed, timesyncd, phc2sys, by_dkms, lambda m: uefi(m, 1)):
        change(machine)
        governors(machine, "ondemand", "cpufreq-dt")
        remedies = {check.remedy for check in examined(machine, UNSET).values()} - {""}
        assert len(remedies) > 3
        for remedy in remedies:
            subprocess.run(["sh", "-n", "-c", remedy], check=True)


REALTIME = ("-s", "CLOCK_REALTIME", "-c", "eth0")
CLOCKS: list[tuple[str, Clock, tuple[str, ...] | None, str, str, str]] = [
    ("system clock", UNSET, None, "note", "nobody sets it", "ptp4l -i eth0"),
    ("system clock", UNSET, ("-a", "-r"), "problem", "though phc2sys runs", "ps -fp 400"),
    ("system clock", UNSET, ("-a",), "note", "nobody sets it", "ptp4l -i eth0"),
    ("system clock", Clock(0, UNSEEN), None, "unknown", "did not say", ""),
    ("TAI offset", Clock(0, False), ("-a", "-r"), "problem", "0 though phc2sys", "37, 0, 0)"),
    ("TAI offset", Clock(0, False), ("-O", "0"), "ok", "as phc2sys -O 0 needs", ""),
    ("TAI offset", Clock(0, False), ("-O0",), "ok", "as phc2sys -O 0 needs", ""),
    ("TAI offset", Clock(37, False), ("-O", "0"), "problem", "off by that", "0, 0, 0)"),
    ("TAI offset", Clock(37, False), ("-O", "-37"), "ok", "37 s, as phc2sys -O -37 needs", ""),
    ("TAI offset", Clock(37, False), ("-O", "-36"), "problem", "is +1 s from the PHC", "36, 0, 0)"),
    ("TAI offset", Clock(0, False), ("-O", "37"), "problem", "is +37 s from the PHC", ""),
    # the PHC follows the system's clock
    ("TAI offset", Clock(0, False), (*REALTIME, "-O", "0"), "ok", "as phc2sys -O 0 needs", ""),
    ("TAI offset", Clock(37, False), (*REALTIME, "-O", "0"), "problem", "is +37 s", "0, 0, 0)"),
    ("TAI offset", Clock(37, False), (*REALTIME, "-O37"), "ok", "as phc2sys -O 37 needs", ""),
    ("TAI offset", Clock(0, False), (*REALTIME, "-O", "37"), "problem", "is -37 s", "37, 0, 0)"),
    # neither has to do with CLOCK_TAI
    ("TAI offset", Clock(37, False), ("-s", "eth0", "-c", "eth1", "-O", "0"), "ok", "37 s", ""),
    ("TAI offset", Clock(37, False), ("-O", "0", "-E", "ntpshm"), "ok", "37 s", ""),
    ("TAI offset", Clock(0, False), None, "unknown", "right with phc2sys -O 0", "37, 0, 0)"),
]


@pytest.mark.parametrize(("name", "clock", "follower", "state", "found", "remedy"), CLOCKS)
def test_each_state_of_the_clocks(
    machine: Machine,
    name: str,
    clock: Clock,
    follower: tuple[str, ...] | None,
    state: str,
    found: str,
    remedy: str,
) -> None:
    if follower is not None:
        phc2sys(machine, *follower)
    check = examined(machine, clock)[name]
    assert (check.state, found in check.found) == (state, True)
    assert remedy in check.remedy


def test_the_command_for_tai_is_a_request_of_adjtimex(machine: Machine) -> None:
    """What it would hand to the kernel, read as the kernel reads it: ADJ_TAI, and 37 s."""
    remedy = examined(machine, Clock(0, False))["TAI offset"].remedy
    before, after = "raise SystemExit(ctypes.CDLL(None).adjtimex(", ") < 0)"
    _, code, end = remedy.split("'")
    assert (before in code, code.endswith(after), end) == (True, True, "")
    code = code.replace(before, "print((").removesuffix(after) + ").hex())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    request = bytes.fromhex(done.stdout.strip())
    fields = struct.unpack_from("@i4li3l", request)
    assert fields[0] == 0x80
    assert fields[6] == 37
    assert len(request) >= 208


def test_tools_that_are_missing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    no_tool(machine, monkeypatch)
    check = examined(machine)["tools"]
    assert (check.state, check.remedy) == ("note", "apt-get install ethtool")


def test_a_folder_of_path_that_cannot_be_looked_into(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here for a name that is too long: root may look into all others."""
    monkeypatch.setenv("PATH", f"/{'x' * 300}:/usr/bin")
    assert examined(machine)["tools"].state == "ok"
    no_tool(machine, monkeypatch)
    monkeypatch.setenv("PATH", f"/{'x' * 300}:/usr/bin")
    assert examined(machine)["tools"].state == "note"


def test_a_configuration_that_the_kernel_itself_has(machine: Machine) -> None:
    no_config(machine)
    machine.write("proc/config.gz", gzip.compress(CONFIG.encode()))
    assert examined(machine)["kernel options"].state == "ok"


def test_what_only_root_may_read_is_unknown(
    machine: Machine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By another user, if this is root: the command, on a file nobody else may read."""
    file = machine.root / "boot" / f"config-{RELEASE}"
    file.chmod(0)
    code = (
        "import os, sys\n"
        f"os.geteuid() or os.setresuid({65534}, {65534}, {65534})\n"
        "from pathlib import Path\n"
        "from keepon_host.doctor.tree import Tree\n"
        "from keepon_host.doctor.checks import go_through\n"
        "from keepon_host.doctor import modules\n"
        "checks = modules.checks(Tree(Path(sys.argv[1])))\n"
        "print([c.state + ' ' + c.found for c in go_through('m', checks) if 'opt' in c.name][0])\n"
    )
    for folder in (machine.root, *machine.root.parents):
        if folder.stat().st_uid == os.getuid() and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code, str(machine.root)],
        env={"PYTHONPATH": str(Path(keepon.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("unknown only root can see that"), done.stderr


def test_names_and_options_that_are_wrong(machine: Machine) -> None:
    def refused(name: str | None, measuring: bool = False, peer: str | None = None) -> str:
        with pytest.raises(ConfigError) as error:
            command.examine(name, measuring, peer, tree=machine.tree, asking=lambda _: GOOD)
        return str(error.value)

    assert refused("eth9") == 'argument IFACE = "eth9": is no interface here; there are eth0'
    assert "option --peer" in refused("eth0", True, "../eth0")
    assert "needs the argument IFACE" in refused(None, True)
    assert "is for --measure" in refused("eth0", False, "eth0")
    assert 'option --peer = "eth0": is the card itself' in refused("eth0", True, "eth0")


def test_text_fits_columns_and_commands_stay_whole(machine: Machine) -> None:
    not_installed(machine)
    machine.write(f"{CPU}/isolated")
    checks = list(examined(machine, UNSET).values())
    for columns in (40, 60, 80, 100):
        lines = command.table(checks, columns, colours=False).splitlines()
        shown = [line.partition("$ ")[2] for line in lines if line.lstrip().startswith("$ ")]
        remedies = [remedy for remedy, _ in groupby(check.remedy for check in checks)]
        assert shown == [remedy for remedy in remedies if remedy]
        others = [line for line in lines if not line.lstrip().startswith("$ ")]
        assert max(map(len, others)) <= columns
        text = " ".join(" ".join(others).split())
        assert all(" ".join(check.found.split()) in text for check in checks)
        assert all(line.isascii() for line in lines)
    assert "\x1b[31;1mproblem\x1b[0m" in command.table(checks, 80, colours=True)


def _on_terminal(arguments: list[str], **environment: str) -> str:
    """What the command prints on a terminal of 80 columns."""
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(arguments, stdout=follower, env=environment) as started:
        os.close(follower)
        shown = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            shown += more
        started.wait()
    os.close(leader)
    return shown.decode()


@pytest.mark.slow
def test_colours_and_columns_of_the_real_command() -> None:
    arguments = [sys.executable, "-S", "-m", "keepon_host", "doctor"]
    environment = {"PYTHONPATH": str(Path(keepon.__file__).parents[1]), "TERM": "xterm"}
    assert "\x1b[" in _on_terminal(arguments, **environment)
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in _on_terminal(arguments, **environment | plain)
    for columns in ("50", "90"):
        done = subprocess.run(
            arguments, env=environment | {"COLUMNS": columns}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert "\x1b[" not in done.stdout
        sentences = [line for line in done.stdout.splitlines() if " $ " not in line]
        assert int(columns) - 30 < max(map(len, sentences)) <= int(columns)


@pytest.mark.slow
def test_this_machine_gives_a_valid_document() -> None:
    """With nothing but the standard library, for the machine and for each interface it has."""
    schema = json.loads((document_schemas.FOLDER / "doctor.schema.json").read_text())
    names = sorted(path.name for path in Path("/sys/class/net").iterdir() if path.is_dir())
    for arguments in ([], *([name] for name in names)):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "keepon_host", "doctor", "--json", *arguments],
            env={"PYTHONPATH": str(Path(keepon.__file__).parents[1]), "PATH": os.environ["PATH"]},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        document = json.loads(done.stdout)
        Draft202012Validator(schema).validate(document)
        states = [check["state"] for check in document["checks"]]
        assert document["worst"] == max(states, key=list(EXIT_CODES).index)
        assert done.returncode == EXIT_CODES[document["worst"]]
        assert document["interface"] == (arguments[0] if arguments else None)
        assert done.stderr == ""


def test_exit_codes_go_by_the_worst() -> None:
    check = Check("machine", "x", "ok", "", "")
    order = ["ok", "note", "unknown", "problem"]
    codes = []
    for state in order:
        codes.append(EXIT_CODES[worst([check, replace(check, state=state), check])])
    assert codes == [0, 0, 4, 1]
    assert worst([replace(check, state=state) for state in order]) == "problem"
