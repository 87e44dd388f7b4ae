# SPDX-License-Identifier: BSD-3-Clause
"""The machine: who sets its clock, and what makes its CPUs late."""

from __future__ import annotations

import re
from collections.abc import Callable

from keepon_host.doctor import setters
from keepon_host.doctor.asked import Clock
from keepon_host.doctor.checks import (
    MACHINE,
    NOTE,
    OK,
    PROBLEM,
    UNKNOWN,
    Answer,
    Named,
    Unseen,
    as_root,
    unseen,
)
from keepon_host.doctor.tree import Process, Tree, cpu_list, listed
from keepon_host.errors import shell_word

CPU = "sys/devices/system/cpu"
DYNAMIC = ("intel_pstate", "amd-pstate", "amd-pstate-epp")
"""Drivers whose governor powersave is not the lowest frequency."""
TAI_S = 37
SET_TAI = (
    "python3 -c 'import ctypes, struct; raise SystemExit(ctypes.CDLL(None).adjtimex("
    'struct.pack("@i4li3l", 128, 0, 0, 0, 0, 0, {}, 0, 0) + bytes(200)) < 0)\''
)
"""adjtimex(2) with ADJ_TAI."""
FOLLOWING = {
    "phc2sys": "phc2sys -r -r sets the system's clock, too, while ptp4l follows another clock, and"
    " does not while the network follows this one",
    "ptp4l": "ptp4l sets the system's clock, too, while it follows another clock, and does not if"
    " it has become the grandmaster, as its priority1 or clockClass may make it",
}
"""What those of Setters.either do."""
HIDDEN = Answer(UNKNOWN, "only root can see which programs run", as_root(MACHINE))
PI_LINES = ("boot/firmware/cmdline.txt", "boot/cmdline.txt")
"""The kernel's command line on a Raspberry Pi."""
GRUB = "etc/default/grub"
OWN_UNIT = re.compile("timesyncd|chrony|ntp")
"""Units that are there for a program of setters.NTP. Another one, such as ssh.service, may only be
the unit it was started from by hand, and must not be stopped.
"""


def checks(
    tree: Tree, clock: Clock, has_phc: Callable[[str], bool], nic: str | None = None
) -> list[Named]:
    """`has_phc`: whether a card has a clock that stamps what it sends; `nic`: the one asked for."""
    return [
        ("clock writers", lambda: clock_writers(tree)),
        ("system clock", lambda: system_clock(tree, clock, has_phc, nic)),
        ("TAI offset", lambda: tai_offset(tree, clock)),
        ("CPU governor", lambda: governor(tree)),
        ("isolated CPUs", lambda: isolated(tree)),
    ]


def stop(processes: list[Process]) -> str:
    """The command that ends them, for good where systemd has started them."""
    return " && ".join(
        f"systemctl disable --now {shell_word(each.unit)}"
        if OWN_UNIT.search(each.unit)
        else f"kill {each.number}"
        for each in processes
    )


def clock_writers(tree: Tree) -> Answer:
    """Is there more than one that sets the system's clock?"""
    found = setters.running(tree)
    if found is None:
        return HIDDEN
    ours = found.certain + found.either
    names = " and ".join(each.name for each in ours)
    if len(found.certain) > 1:
        names = " and ".join(each.name for each in found.certain)
        by_ntp = [each for each in found.certain if each.name in setters.NTP]
        spared = by_ntp[1:] if len(by_ntp) == len(found.certain) else by_ntp
        return Answer(PROBLEM, f"{names} set the same clock", stop(spared or found.certain[1:]))
    if len(ours) > 1:
        return Answer(UNKNOWN, f"{names}: {FOLLOWING[found.either[0].name]}")
    does = "may set" if found.either else "sets"
    return Answer(OK, f"{names} alone {does} the system's clock" if names else "nobody sets it")


def system_clock(
    tree: Tree, clock: Clock, has_phc: Callable[[str], bool], nic: str | None = None
) -> Answer:
    """Is it synchronised? By default none is."""
    if isinstance(clock.unsynchronised, Unseen):
        return unseen(clock.unsynchronised)
    if not clock.unsynchronised:
        return Answer(OK, "it is synchronised, says who sets it")
    found = setters.running(tree)
    if found is None:
        return HIDDEN
    if found.certain:
        first = found.certain[0]
        unit = shell_word(first.unit)
        shown = f"journalctl -u {unit} -n 20" if first.unit else f"ps -fp {first.number}"
        return Answer(PROBLEM, f"it is not synchronised, though {first.name} runs", shown)
    if found.either:
        name = found.either[0].name
        return Answer(
            NOTE, f"it is not synchronised: {name} sets it only while another clock leads"
        )
    cards = [name for name in tree.interfaces() if tree.is_card(name)]
    cards.sort(key=lambda name: name != nic)
    fit = next(filter(has_phc, cards), None)
    if fit is not None:
        remedy = f"ptp4l -i {shell_word(fit)} -m & phc2sys -a -r -m"
    elif not cards:
        return Answer(NOTE, "it is not synchronised: nobody sets it, and no card is here")
    else:  # with stamps of software it sets the system's clock itself
        remedy = f"ptp4l -S -i {shell_word(cards[0])} -m"
    return Answer(NOTE, "it is not synchronised: nobody sets it", remedy)


def tai_offset(tree: Tree, clock: Clock) -> Answer:
    """Does CLOCK_TAI, in which txtimes are, mean what the clocks of the network mean?"""
    found = setters.running(tree)
    if found is None:
        return HIDDEN
    followers = [each for each in found.certain if each.name == "phc2sys"]
    said = {each: setters.ahead_s(tree, each) for each in tree.running("phc2sys") or []}
    kept = [(each, ahead_s) for each, ahead_s in said.items() if ahead_s is not None]
    if kept:
        each, ahead_s = max(kept, key=lambda one: abs(one[1] + clock.tai_s))
        option = f"phc2sys -O {setters.given(tree, each).values('-O')[-1]}"
        apart_s = ahead_s + clock.tai_s
        if not apart_s:
            return Answer(OK, f"it is {clock.tai_s} s, as {option} needs it")
        return Answer(
            PROBLEM,
            f"it is {clock.tai_s} s, and with {option} CLOCK_TAI is {apart_s:+d} s from the PHC:"
            " txtimes are off by that",
            SET_TAI.format(-ahead_s) if ahead_s <= 0 else "",
        )
    if clock.tai_s:
        return Answer(OK, f"it is {clock.tai_s} s")
    if followers:
        return Answer(
            PROBLEM,
            "it is 0 though phc2sys sets the clock: CLOCK_TAI is UTC, and not the PHC's time",
            SET_TAI.format(TAI_S),
        )
    return Answer(
        UNKNOWN,
        "it is 0: right with phc2sys -O 0, wrong if the network's clocks are TAI",
        SET_TAI.format(TAI_S),
    )


def governor(tree: Tree) -> Answer:
    """How fast the CPUs' clocks may be."""
    cpus = tree.cpus()
    found = {tree.text(f"{CPU}/cpu{number}/cpufreq/scaling_governor") for number in cpus} - {None}
    if not cpus:
        return Answer(UNKNOWN, "which CPUs there are is not to be seen")
    if not found:
        return Answer(OK, "the kernel does not change the CPUs' clock")
    if found == {"performance"}:
        return Answer(OK, "performance")
    remedy = f"for f in /{CPU}/cpu*/cpufreq/scaling_governor; do echo performance > $f; done"
    governors = ", ".join(sorted(each for each in found if each))
    drivers = {tree.text(f"{CPU}/cpu{number}/cpufreq/scaling_driver") for number in cpus}
    if "powersave" in found and not drivers & set(DYNAMIC):
        return Answer(PROBLEM, f"{governors}: CPUs stay at their lowest frequency", remedy)
    return Answer(NOTE, f"{governors}: CPUs take time to become fast", remedy)


def isolated(tree: Tree) -> Answer:
    """Is there a CPU for polling and senders alone?"""
    text, cpus = tree.text(f"{CPU}/isolated"), tree.cpus()
    if text is None or not cpus:
        return Answer(UNKNOWN, "the kernel does not say which CPUs are isolated")
    if text and text == tree.text(f"{CPU}/online"):
        return Answer(PROBLEM, f"all are isolated ({text}): none is left for other work")
    if text:
        return _shared(tree, text, cpus)
    last = _threads(tree, cpus[-1])
    others = [cpu for cpu in cpus if cpu not in last]
    if not others:
        return Answer(NOTE, "none, with one core: all others' work is done on it")
    for file in (*PI_LINES, GRUB):
        if "isolcpus=" in _without_comments(tree.text(file) or ""):
            return Answer(NOTE, f"none yet: the next boot isolates those that /{file} names")
    mine, theirs = listed(last), listed(others)
    options = (
        f"isolcpus=managed_irq,domain,{mine} nohz_full={mine} rcu_nocbs={mine} irqaffinity={theirs}"
    )
    found = f"none: others' work makes senders late; {options} from the next boot on would end it"
    return Answer(NOTE, found, _for_next_boot(tree, options))


def _threads(tree: Tree, cpu: int) -> list[int]:
    """CPUs of the same core, with this one."""
    return cpu_list(tree.text(f"{CPU}/cpu{cpu}/topology/thread_siblings_list") or str(cpu))


def _shared(tree: Tree, text: str, cpus: list[int]) -> Answer:
    """What isolated CPUs share with others: their core, and interrupts."""
    isolated = set(cpu_list(text)) & set(cpus)
    siblings = {cpu for one in isolated for cpu in _threads(tree, one)} - isolated
    if siblings:
        return Answer(
            NOTE,
            f"CPU {text}, which shares a core with CPU {listed(siblings)}, whose work slows it;"
            " until the next boot the command takes that offline",
            "; ".join(f"echo 0 > /{CPU}/cpu{cpu}/online" for cpu in sorted(siblings)),
        )
    to = {number: _goes_to(tree, number, isolated) for number in tree.names("proc/irq")}
    disturbing = sorted(int(number) for number, there in to.items() if there)
    if disturbing:
        many, others = len(disturbing) > 1, listed(set(cpus) - isolated)
        return Answer(
            NOTE,
            f"CPU {text}, but interrupt{'s' * many} {listed(disturbing)} {'go' if many else 'goes'}"
            f" to CPU {listed(set().union(*to.values()))}; the kernel's irqaffinity={others} keeps"
            " them off from the next boot on",
            f"for n in {' '.join(map(str, disturbing))}; do echo {others} >"
            " /proc/irq/$n/smp_affinity_list; done",
        )
    return Answer(OK, f"CPU {text}")


def _goes_to(tree: Tree, number: str, isolated: set[int]) -> set[int]:
    """Isolated CPUs that an interrupt goes to; none if it may go to no other CPU, for then the
    user, or the kernel for a queue of that CPU, has put it there.
    """
    allowed, effective = (
        set(cpu_list(tree.text(f"proc/irq/{number}/{file}_list") or ""))
        for file in ("smp_affinity", "effective_affinity")
    )
    return set() if allowed <= isolated else effective & isolated


def _without_comments(text: str) -> str:
    return re.sub("^ *#.*$", "", text, flags=re.MULTILINE)


def _for_next_boot(tree: Tree, options: str) -> str:
    """The command that writes these options where the boot loader reads them; empty where it is
    not known. It does not boot.
    """
    for file in PI_LINES:
        if tree.has(file):
            return f"sed -i '1s/$/ {options}/' /{file}"
    if re.search('^GRUB_CMDLINE_LINUX="', tree.text(GRUB) or "", re.MULTILINE):
        quoted = f's/^GRUB_CMDLINE_LINUX="/&{options} /'
        return f"sed -i '{quoted}' /{GRUB} && update-grub"
    return ""
