# SPDX-License-Identifier: BSD-3-Clause
"""`keepon doctor` of a made-up card: every check in each state it can have; names that a shell or a
terminal would take for something else; and what is known of chips against what the tree knows.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doctor_trees import GOOD, SYNCHRONISED, UNSEEN, Machine, good_machine
from keepon.errors import ConfigError, EnvironmentProblemError, shell_word
from keepon_host import bind
from keepon_host.doctor import cards, command, measured
from keepon_host.doctor.asked import Card, Channels, Clock, Eee, Moderation, Pause, Stamping, ask
from keepon_host.doctor.checks import Check, Unseen
from keepon_host.doctor.tree import NET
from keepon_papers import survey

ROOT = Path(__file__).parents[3]
ETH0 = f"{NET}/eth0"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return good_machine(tmp_path)


def examined(machine: Machine, card: Card = GOOD, name: str = "eth0") -> dict[str, Check]:
    checks = command.examine(
        name, tree=machine.tree, asking=lambda _: card, clocks=lambda: SYNCHRONISED
    )
    return {check.name: check for check in checks if check.about == name}


def test_a_card_that_lacks_nothing_but_a_measurement(machine: Machine) -> None:
    states = {name: check.state for name, check in examined(machine).items()}
    unmeasured = {"pace", "bad FCS", "driver's limits"}
    assert {name for name, state in states.items() if state == "unknown"} == unmeasured
    assert {state for name, state in states.items() if name not in unmeasured} == {"ok"}


def no_phc(filters: int = 0) -> Stamping:
    return Stamping(-1, 0, filters)


def its(**values: Any) -> Card:
    return replace(GOOD, **values)


def moderated(*values: int) -> Card:
    return its(driver="igb", moderation=Moderation(*values))


def same(_: Machine) -> None:
    """The machine as it is."""


def down(machine: Machine) -> None:
    machine.write(f"{ETH0}/flags", "0x1002")


def ntp_and_ptp(machine: Machine) -> None:
    machine.process(7, "ptp4l", words=("-i", "eth0"))
    machine.process(8, "chronyd")


def without_a_bus(machine: Machine) -> None:
    """An interface that is no card: its folder has no link to a device."""
    for name in ("driver", "vendor", "device"):
        (machine.root / ETH0 / "device" / name).unlink()
    (machine.root / ETH0 / "device").rmdir()


def i219(machine: Machine) -> None:
    machine.write(f"{ETH0}/device/device", "0x15b8")


def virtio(used: int, most: int) -> Card:
    return its(driver="virtio_net", channels=Channels(used, most))


def one_cpu(machine: Machine) -> None:
    machine.write("sys/devices/system/cpu/online", "0")


Change = Callable[[Machine], object]
CASES: list[tuple[str, Card, Change, str, str, str]] = [
    ("driver", its(driver="igb"), same, "note", "keepon_intel in place of igb (I210, seen on",
     "keepon start eth0"),
    ("driver", its(driver=""), same, "note", "in place of igb", "keepon start eth0"),
    ("driver", its(driver=UNSEEN), same, "note", "in place of igb", "keepon start eth0"),
    ("driver", its(driver="e1000e"), i219, "note", "generic (e1000e): the PHY of I217 to I219",
     "keepon start eth0"),
    ("driver", its(driver="r8169"), i219, "note", "generic (r8169): Keepon has no driver",
     "keepon start eth0"),
    ("driver", its(driver="veth"), i219, "problem", "no (veth): a virtual card", ""),
    ("driver", virtio(1, 4), i219, "note", "no (virtio_net): the link is on its host's card", ""),
    ("driver", its(driver="cfg80211"), without_a_bus, "problem", "no Ethernet card of a bus", ""),
    ("driver", its(driver=UNSEEN), without_a_bus, "unknown", "is not to be seen", ""),
    ("driver", its(driver="keepon"), same, "ok", "it is a Keepon link", ""),
    ("link", GOOD, down, "problem", "it is down", "ip link set dev eth0 up"),
    ("link", GOOD, lambda m: m.write(f"{ETH0}/carrier", "0"), "problem", "connect the cable", ""),
    ("link", GOOD, lambda m: m.write(f"{ETH0}/duplex", "half"), "problem", "half duplex",
     "ethtool -s eth0 duplex full autoneg on"),
    ("link", GOOD, lambda m: m.write(f"{ETH0}/speed", "-1"), "unknown", "how fast", ""),
    ("link", GOOD, lambda m: m.write(f"{ETH0}/speed", "fast"), "unknown", "not understood", ""),
    ("link", virtio(1, 4), lambda m: m.write(f"{ETH0}/speed", "-1"), "note", "it for 10 Mb/s",
     "ethtool -s eth0 speed 1000 duplex full"),
    ("queues", virtio(4, 8), same, "ok", "4 of 8 queues, 4 vCPUs", ""),
    ("queues", virtio(4, 4), one_cpu, "problem", "4 of 4 queues, 1 vCPU: a queue takes a vCPU of",
     "ethtool -L eth0 combined 1"),
    ("queues", virtio(1, 8), same, "note", "1 of 8 queues, 4 vCPUs: fewer classes",
     "ethtool -L eth0 combined 4"),
    ("queues", virtio(1, 1), same, "note", "1 of 1 queue, 4 vCPUs: for more classes the host must"
     " give it queues='4'", ""),
    ("queues", its(driver="virtio_net"), same, "note", "does not say how many", ""),
    ("queues", its(driver="virtio_net", channels=UNSEEN), same, "unknown", "did not say", ""),
    ("PHC", its(stamping=UNSEEN), same, "unknown", "did not say", ""),
    ("PHC", its(stamping=None), same, "note", "none; a Keepon link on it", ""),
    ("PHC", its(stamping=no_phc()), same, "note", "none; a Keepon link on it", ""),
    ("PHC", its(stamping=Stamping(2, 1, 3)), same, "note", "/dev/ptp2, without stamps", ""),
    ("PHC's time", its(phc_ns=UNSEEN), same, "unknown", "did not say", "sudo keepon doctor eth0"),
    ("PHC's time", its(phc_ns=None), same, "ok", "no PHC", ""),
    ("PHC's time", its(phc_ns=-1_000_001), same, "note", "-0.001 s from CLOCK_TAI",
     "ptp4l -i eth0 -m & phc2sys"),
    ("PHC's time", its(phc_ns=-37 * 10**9), lambda m: m.process(7, "ptp4l"), "problem",
     "-37.000 s from CLOCK_TAI", "ptp4l -i eth0"),
    ("PHC's time", its(phc_ns=-37 * 10**9), ntp_and_ptp, "problem", "chronyd sets that", ""),
    ("RX filters", its(stamping=UNSEEN), same, "unknown", "did not say", ""),
    ("RX filters", its(stamping=no_phc(1)), same, "note", "none is stamped by hardware", ""),
    ("RX filters", its(stamping=Stamping(0, 3, 1 << 12)), same, "ok", "frames of PTP", ""),
    ("RX filters", its(stamping=Stamping(0, 3, 1 << 3)), same, "note", "neither", ""),
    ("bad frames", its(features=UNSEEN), same, "unknown", "did not say", ""),
    ("bad frames", its(driver="igb"), same, "ok", "(rx-all), and does not", ""),
    ("bad frames", its(driver="igb", features={}), same, "note", "no rx-all", ""),
    ("bad frames", its(driver="igb", features={"rx-all": True}), same, "problem",
     "placeholders as frames", "ethtool -K eth0 rx-all off"),
    ("EEE", its(eee=UNSEEN), same, "unknown", "did not say", ""),
    ("EEE", its(eee=None), same, "ok", "no Energy Efficient", ""),
    ("EEE", its(eee=None, driver="igb"), same, "unknown", "off at the other end", ""),
    ("EEE", its(eee=None, driver="veth"), i219, "ok", "no Energy Efficient", ""),
    ("EEE", its(eee=Eee(True, False)), same, "problem", "Ethernet is on:",
     "ethtool --set-eee eth0 eee off"),
    ("EEE", its(eee=Eee(True, True)), same, "problem", "on and in use", "ethtool --set-eee"),
    ("pause frames", its(pause=UNSEEN), same, "unknown", "did not say", ""),
    ("pause frames", its(pause=None), same, "ok", "no pause frames", ""),
    ("pause frames", its(pause=Pause(True, True, False)), same, "problem", "frames are obeyed:",
     "ethtool -A eth0 autoneg off rx off tx off"),
    ("pause frames", its(pause=Pause(True, True, True)), same, "problem", "sent and obeyed",
     "ethtool -A eth0"),
    ("moderation", its(moderation=UNSEEN), same, "unknown", "did not say", ""),
    ("moderation", its(moderation=None), same, "ok", "what a Keepon link needs", ""),
    ("moderation", its(moderation=None, driver="igb"), same, "unknown", "does not say", ""),
    ("moderation", its(moderation=None, driver="veth"), i219, "ok", "no interrupts", ""),
    ("moderation", its(driver="igb"), same, "ok", "not held back", ""),
    ("moderation", moderated(3, 0, False, 0, 0, False), same, "note", "(rx-usecs 3, tx-usecs 0):",
     "ethtool -C eth0 rx-usecs 0"),
    ("moderation", moderated(50, 64, True, 50, 0, False), same, "note", "tx-usecs 50, adaptive):",
     "ethtool -C eth0 adaptive-rx off rx-usecs 0 tx-usecs 0"),
    # an interrupt for each frame, whatever the time is
    ("moderation", moderated(50, 1, False, 0, 0, False), same, "ok", "not held back", ""),
    ("qdiscs", its(qdiscs=UNSEEN), same, "unknown", "did not say", ""),
    ("qdiscs", its(qdiscs=["mq", "etf", "etf"]), same, "problem", "etf holds back",
     "tc qdisc replace dev eth0 root pfifo_fast"),
    ("qdiscs", its(qdiscs=["mq", "fq"]), same, "ok", "mq, fq", ""),
    ("qdiscs", its(driver="keepon", qdiscs=["taprio"]), same, "ok", "on a Keepon link", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "card", "change", "state", "found", "remedy"), CASES)
def test_each_state_of_a_check_of_a_card(
    machine: Machine, name: str, card: Card, change: Change, state: str, found: str, remedy: str
) -> None:
    change(machine)
    check = examined(machine, card)[name]
    assert (check.state, found in check.found) == (state, True), check.found
    assert remedy in check.remedy
    assert bool(remedy) == bool(check.remedy)


def finding(name: str, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "holds": holds, "said": "leaves", "measured": "something"}


def test_what_was_measured_is_answered_by_its_findings() -> None:
    """Documents of hwcheck; the guest's test has a measured one."""
    document = {
        "findings": [finding("pace", True), finding("bad FCS", False), finding("tick", None)],
        "safe": False, "verdict": "eth0: not safe to use",
    }  # fmt: skip
    checks = {check.name: check for check in measured.judged("eth0", document, "again")}
    assert [check.state for check in checks.values()] == ["ok", "problem", "problem"]
    assert [check.remedy for check in checks.values()] == ["", "again", "again"]
    document["findings"] = [finding("pace", None)]
    checks = {check.name: check for check in measured.judged("eth0", document, "again")}
    assert [check.state for check in checks.values()] == ["unknown"] * 3


def test_what_cannot_be_measured_says_why(machine: Machine) -> None:
    """There is no such ring on the machine that runs this."""
    checks = command.examine(
        "eth0", True, tree=machine.tree, asking=lambda _: GOOD, clocks=lambda: SYNCHRONISED
    )
    reasons = {check.found for check in checks if check.name in (*measured.NAMES, measured.LIMITS)}
    assert len(reasons) == 1
    assert re.match(
        "not measured: (only root may check|modprobe keepon_hwcheck first)", reasons.pop()
    )


def test_what_has_no_ring_is_not_to_be_measured(machine: Machine) -> None:
    asked = {"pace", "bad FCS", "driver's limits"}
    assert asked <= set(examined(machine, its(driver="igb")))
    i219(machine)
    virtual = its(driver="virtio_net")
    assert not asked & set(examined(machine, virtual))
    with pytest.raises(ConfigError, match="option --measure: Keepon could not send through eth0"):
        command.examine("eth0", True, tree=machine.tree, asking=lambda _: virtual)


def test_the_clock_is_set_by_a_card_that_has_one(machine: Machine) -> None:
    def remedy(cards: dict[str, Card], asked_for: str | None = None) -> str:
        checks = command.examine(
            asked_for,
            tree=machine.tree,
            asking=cards.__getitem__,
            clocks=lambda: Clock(37, unsynchronised=True),
        )
        return next(check.remedy for check in checks if check.name == "system clock")

    machine.card("eth7")
    none = its(stamping=None, phc_ns=None)
    assert remedy({"eth0": none, "eth7": GOOD}) == "ptp4l -i eth7 -m & phc2sys -a -r -m"
    assert remedy({"eth0": none, "eth7": none}) == "ptp4l -S -i eth0 -m"
    both = {"eth0": GOOD, "eth7": GOOD}
    for asked_for in ("eth0", "eth7"):
        assert remedy(both, asked_for) == f"ptp4l -i {asked_for} -m & phc2sys -a -r -m"
    machine.remove(f"{ETH0}/type")
    machine.remove(f"{NET}/eth7/type")
    assert remedy({}) == ""
    for name in ("eth0", "eth7"):
        machine.write(f"{NET}/{name}/type", "1")
    receives = its(stamping=Stamping(0, 0b01, 0b11))
    assert remedy({"eth0": receives, "eth7": none}) == "ptp4l -S -i eth0 -m"


def test_the_command_that_measures_names_a_far_end_that_is_there(machine: Machine) -> None:
    alone = examined(machine)["bad FCS"]
    assert alone.remedy == "modprobe -a keepon_hwcheck && keepon hwcheck eth0"
    assert "--peer" in alone.found
    machine.card("eth7")
    assert examined(machine)["bad FCS"].remedy.endswith("hwcheck eth0 --peer eth7")
    generic = examined(machine, its(driver="igb"))["pace"].remedy
    assert generic.startswith("modprobe -a keepon_generic keepon_hwcheck && ")
    assert generic.endswith(" --backend generic")


def test_a_card_that_goes_while_it_is_asked(machine: Machine) -> None:
    def goes(_: str) -> Card:
        machine.remove(f"{ETH0}/type")
        return GOOD

    with pytest.raises(EnvironmentProblemError, match="eth0 has gone while"):
        command.examine("eth0", tree=machine.tree, asking=goes, clocks=lambda: SYNCHRONISED)
    machine.write(f"{ETH0}/type", "1")
    checks = command.examine(None, tree=machine.tree, asking=goes, clocks=lambda: SYNCHRONISED)
    assert {check.about for check in checks} == {"machine"}


ODD = ["a;reboot", "$(reboot)", "a'b\"c", "`id`", "\x1b[31m", "\udcff\udcfe", "über"]


@pytest.mark.parametrize("name", ODD)
def test_any_name_is_one_word_of_a_command_and_harmless_on_a_terminal(
    machine: Machine, name: str
) -> None:
    machine.card(name)
    card = its(driver="igb", qdiscs=["tbf"], eee=Eee(True, True), pause=Pause(True, True, True))
    checks = examined(machine, card, name)
    for check in checks.values():
        assert check.remedy.isascii()
        assert check.remedy.isprintable()
    remedy = checks["EEE"].remedy.replace("ethtool", "printf '%s\\n'")
    done = subprocess.run(["sh", "-c", remedy], capture_output=True, check=True)
    assert done.stdout.decode(errors="surrogateescape") == f"--set-eee\n{name}\neee\noff\n"
    shown = command.table(list(checks.values()), 80, colours=False)
    shown.encode()
    assert all(line.isprintable() for line in shown.splitlines())


@pytest.mark.parametrize("name", ["nobody", "\udcff\udcfe", "x" * 16])
def test_what_is_asked_of_nobody_is_unseen(name: str) -> None:
    """Of the real kernel, as when a card has just gone."""
    card = ask(name)
    answers = [card.driver, card.stamping, card.pause, card.eee, card.features, card.qdiscs]
    answers.append(card.moderation)
    assert all(isinstance(answer, Unseen) for answer in answers)
    assert card.phc_ns is None


def test_an_ordinary_name_is_left_alone() -> None:
    assert shell_word("enp3s0f1") == "enp3s0f1"


# -- what is known of chips


def documented() -> dict[str, tuple[str, str]]:
    """Chip -> our driver, and what docs/nics.md says it was seen on."""
    text = (ROOT / "docs" / "nics.md").read_text()
    text = text.partition("\n## Drivers\n")[2].partition("\n### ")[0]
    found = {}
    for row in re.findall(r"^\| (.*) \|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in row.split(" | ")]
        if len(cells) == 4 and re.fullmatch(r"[0-9a-f]{4}(, [0-9a-f]{4})*", cells[1]):
            for number in cells[1].split(", "):
                found[f"8086:{number}"] = ("keepon_intel", cells[3])
        elif len(cells) == 4 and cells[1].startswith("`brcm,"):
            found[cells[1].strip("`")] = ("keepon_genet", cells[3])
        elif len(cells) == 4 and cells[1].startswith("`"):
            for name in cells[1].split(", "):
                found[name.strip("`")] = ("keepon_gem", cells[3])
    return found


def test_known_chips_are_those_of_the_documentation() -> None:
    table = documented()
    assert {name: known.module for name, known in cards.CHIPS.items()} == {
        name: module for name, (module, _) in table.items()
    }
    for name, (_, seen) in table.items():
        why = cards.CHIPS[name].why
        assert ("nothing yet" in why) == (seen == "nothing yet"), name
        assert ("sends at once" in why) == ("sends at once" in seen), name
        assert ("model" in why) == seen.startswith("model"), name


def test_known_chips_are_those_of_the_drivers() -> None:
    intel = (ROOT / "kernel" / "nics" / "intel" / "main.c").read_text()
    genet = (ROOT / "kernel" / "nics" / "genet" / "main.c").read_text()
    theirs = {f"8086:{number}" for number in re.findall(r"\bCHIP\(0x([0-9a-f]{4}),", intel)}
    theirs |= set(re.findall(r'^#define COMPATIBLE "(.*)"$', genet, re.MULTILINE))
    gem = (ROOT / "kernel" / "nics" / "gem" / "main.c").read_text()
    names = gem.partition("compatible[]")[2].partition(";")[0]
    theirs |= set(re.findall(r'"([a-z0-9]+,[a-z0-9-]+)"', names))
    assert theirs == set(cards.CHIPS)


def test_known_chips_are_those_that_bind_and_survey_know() -> None:
    for name, known in cards.CHIPS.items():
        vendor, _, device = name.partition(":")
        key = ("pci", f"0x{vendor}") if device else ("platform", name)
        assert bind.DRIVERS[key] == known.module
        assert known.module in cards.LENDING
    modules = {known.module for known in cards.CHIPS.values()}
    assert modules == set(bind.DRIVERS.values())
    assert modules == {text.split()[0].rstrip(",") for text in survey.BACKENDS.values()}


def test_those_left_out_are_said_to_be() -> None:
    """What docs/nics.md has in its table of controllers that are not in is generic here."""
    text = (ROOT / "docs" / "nics.md").read_text()
    for driver, chips in (("e1000e", "I217, I218, I219"), ("igc", "I225, I226")):
        assert f"| {chips} |" in text
        known = cards.DRIVERS[driver]
        assert known.backend == cards.GENERIC
        assert chips.split(", ")[0] in known.why
        assert chips.split(", ")[-1] in known.why
