# SPDX-License-Identifier: BSD-3-Clause
"""A network card: who drives it, what that can do, and what would hold its frames up."""

from __future__ import annotations

from keepon_host.doctor import asked, guest, setters
from keepon_host.doctor.cards import GENERIC, LENDING, NO, known
from keepon_host.doctor.checks import (
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
from keepon_host.doctor.tree import NET, Tree
from keepon_host.errors import shell_word

FILTER_NONE, FILTER_ALL = 1 << 0, 1 << 1
FILTERS_PTP_V2 = sum(1 << number for number in range(6, 15))
"""HWTSTAMP_FILTER_PTP_V2_L4_EVENT to HWTSTAMP_FILTER_PTP_V2_DELAY_REQ."""
SENDS_STAMPED = 1 << 1
APART_NS_MAX = 1_000_000
"""Clocks farther apart are not set by anybody; how well they are set, ptp4l says."""
DELAYING = ("cake", "cbs", "etf", "hfsc", "htb", "netem", "taprio", "tbf", "plug")
"""Queueing disciplines that hold frames back until a time or for a rate."""
LINK_KIND = "keepon"


def checks(tree: Tree, name: str, card: asked.Card) -> list[Named]:
    virtio = card.driver == guest.VIRTIO
    queues = [("queues", lambda: guest.queues(tree, name, card.channels))]
    return [
        ("driver", lambda: driver(tree, name, card)),
        ("link", lambda: link(tree, name, virtio)),
        ("PHC", lambda: phc(card)),
        ("PHC's time", lambda: phc_time(tree, name, card)),
        ("RX filters", lambda: filters(card)),
        ("bad frames", lambda: bad_frames(name, card)),
        ("EEE", lambda: eee(tree, name, card)),
        ("pause frames", lambda: pause(name, card)),
        ("moderation", lambda: moderation(tree, name, card)),
        ("qdiscs", lambda: qdiscs(name, card)),
        *(queues if virtio else ()),
    ]


def lends(card: asked.Card) -> bool:
    """Does the driver that it has now lend its ring?"""
    return card.driver in LENDING


def driver_name(tree: Tree, name: str, card: asked.Card) -> str:
    """As ethtool says, else as the bus has it; empty: none, or it is not to be seen."""
    of_bus = tree.link(f"{NET}/{name}/device/driver")
    return card.driver or of_bus if isinstance(card.driver, str) else of_bus


def has_no_ring(tree: Tree, name: str, card: asked.Card) -> bool:
    """Is it known to be nothing that Keepon could send through?"""
    its = driver_name(tree, name, card)
    if isinstance(card.driver, Unseen) and not its:
        return False
    return known(tree.chip(name), its, tree.is_card(name)).backend == NO


def driver(tree: Tree, name: str, card: asked.Card) -> Answer:
    """Has Keepon a backend for it: yes, generic or no, and why?"""
    its = driver_name(tree, name, card)
    if isinstance(card.driver, Unseen) and not its:
        return Answer(UNKNOWN, f"which driver it has is not to be seen: {card.driver.why}")
    if its == LINK_KIND:
        return Answer(OK, "it is a Keepon link; ask for the card below it")
    found = known(tree.chip(name), its, tree.is_card(name))
    shown = its or "no driver"
    if its in LENDING:
        return Answer(OK, f"yes: {shown} lends its ring")
    if found.backend == NO:
        state = NOTE if its == guest.VIRTIO else PROBLEM
        return Answer(state, f"no ({shown}): {found.why}")
    if found.backend == GENERIC:
        return Answer(NOTE, f"generic ({shown}): {found.why}", f"keepon start {shell_word(name)}")
    return Answer(
        NOTE,
        f"yes: {found.module} in place of {shown} ({found.why})",
        f"keepon start {shell_word(name)}",
    )


def link(tree: Tree, name: str, virtio: bool) -> Answer:
    """Is there a wire?"""
    folder = f"{NET}/{name}"
    flags = int(tree.text(f"{folder}/flags") or "0", 16)
    if not flags & 1:  # IFF_UP; its carrier cannot be read
        return Answer(PROBLEM, "it is down", f"ip link set dev {shell_word(name)} up")
    if tree.text(f"{folder}/carrier") != "1":
        return Answer(PROBLEM, "it has no carrier: connect the cable")
    try:
        speed = tree.text(f"{folder}/speed") or "-1"
    except OSError:  # its driver does not say
        speed = "-1"
    if int(speed) <= 0 and virtio:
        return Answer(
            NOTE,
            "its host does not say how fast it is, and taprio takes it for 10 Mb/s",
            f"ethtool -s {shell_word(name)} speed 1000 duplex full",
        )
    if int(speed) <= 0:
        return Answer(UNKNOWN, "its driver does not say how fast it is")
    if tree.text(f"{folder}/duplex") == "half":
        return Answer(
            PROBLEM,
            f"{speed} Mb/s, half duplex: others make frames late",
            f"ethtool -s {shell_word(name)} duplex full autoneg on",
        )
    return Answer(OK, f"{speed} Mb/s")


def phc(card: asked.Card) -> Answer:
    """Has it a PTP hardware clock, and stamps?"""
    its = card.stamping
    if isinstance(its, Unseen):
        return unseen(its)
    if its is None or its.phc < 0:
        return Answer(NOTE, "none; a Keepon link on it has one")
    if not its.sends & SENDS_STAMPED:
        return Answer(NOTE, f"/dev/ptp{its.phc}, without stamps of what is sent")
    return Answer(OK, f"/dev/ptp{its.phc}, with stamps of what is sent")


def phc_time(tree: Tree, name: str, card: asked.Card) -> Answer:
    """Is the PHC synchronised with the system's clock? By default none is."""
    ahead_ns = card.phc_ns
    if isinstance(ahead_ns, Unseen):
        return Answer(UNKNOWN, ahead_ns.why, as_root(name))
    if ahead_ns is None:
        return Answer(OK, "there is no PHC to set")
    if abs(ahead_ns) <= APART_NS_MAX:
        return Answer(OK, "it is CLOCK_TAI within a millisecond")
    remedy = f"ptp4l -i {shell_word(name)} -m & phc2sys -a -r -m"
    found = f"it is not synchronised: {ahead_ns / 1e9:+.3f} s from CLOCK_TAI"
    by_ntp = [each.name for each in tree.running(*setters.NTP) or [] if setters.sets(tree, each)]
    if by_ntp:  # a phc2sys -a -r would be the second one that sets the system's clock
        found += f"; {by_ntp[0]} sets that, so let it take the PHC's time, or the PHC follow it"
        remedy = ""
    return Answer(PROBLEM if tree.setting_clocks() else NOTE, found, remedy)


def filters(card: asked.Card) -> Answer:
    """Which received frames are stamped?"""
    its = card.stamping
    if isinstance(its, Unseen):
        return unseen(its)
    if its is None or not its.filters & ~FILTER_NONE:
        return Answer(NOTE, "none is stamped by hardware; a Keepon link on it stamps all")
    if its.filters & FILTER_ALL:
        return Answer(OK, "all frames can be stamped")
    if its.filters & FILTERS_PTP_V2:
        return Answer(OK, "frames of PTP can be stamped")
    return Answer(NOTE, f"neither all frames nor those of PTPv2 (mask {its.filters:#x})")


def bad_frames(name: str, card: asked.Card) -> Answer:
    """Can it receive frames with a bad FCS, as `clock dual` counts them?"""
    if isinstance(card.features, Unseen):
        return unseen(card.features)
    if lends(card):
        return Answer(OK, "its driver says to the link what its receive ring can")
    if card.features is None or "rx-all" not in card.features:
        return Answer(NOTE, "it cannot receive frames with a bad FCS (no rx-all)")
    if card.features["rx-all"]:
        return Answer(
            PROBLEM,
            "it receives frames with a bad FCS: the system gets placeholders as frames",
            f"ethtool -K {shell_word(name)} rx-all off",
        )
    return Answer(OK, "it can receive frames with a bad FCS (rx-all), and does not")


def eee(tree: Tree, name: str, card: asked.Card) -> Answer:
    """Does the link sleep?"""
    if isinstance(card.eee, Unseen):
        return unseen(card.eee)
    if card.eee is None and (lends(card) or has_no_ring(tree, name, card)):
        return Answer(OK, "it has no Energy Efficient Ethernet")
    if card.eee is None:  # its PHY may negotiate it all the same
        return Answer(
            UNKNOWN,
            "its driver does not say whether Energy Efficient Ethernet is on; it is off if it is"
            " off at the other end of the cable",
        )
    if card.eee.enabled:
        both = "on and in use" if card.eee.active else "on"
        return Answer(
            PROBLEM,
            f"Energy Efficient Ethernet is {both}: a link that slept wakes late",
            f"ethtool --set-eee {shell_word(name)} eee off",
        )
    return Answer(OK, "Energy Efficient Ethernet is off")


def pause(name: str, card: asked.Card) -> Answer:
    """May the other end stop the wire?"""
    its = card.pause
    if isinstance(its, Unseen):
        return unseen(its)
    if its is None:
        return Answer(OK, "its driver has no pause frames")
    ends = [word for word, on in (("sent", its.sends), ("obeyed", its.receives)) if on]
    if ends:
        return Answer(
            PROBLEM,
            f"pause frames are {' and '.join(ends)}: the wire can be stopped",
            f"ethtool -A {shell_word(name)} autoneg off rx off tx off",
        )
    return Answer(OK, "pause frames are off")


def moderation(tree: Tree, name: str, card: asked.Card) -> Answer:
    """Does the card hold interrupts back?"""
    its = card.moderation
    if isinstance(its, Unseen):
        return unseen(its)
    if lends(card):
        return Answer(OK, "its driver does what a Keepon link needs")
    if its is None and has_no_ring(tree, name, card):
        return Answer(OK, "it has no interrupts to hold back")
    if its is None:
        return Answer(UNKNOWN, "its driver does not say whether it holds interrupts back")
    off = {
        "adaptive-rx off": its.rx_adaptive,
        "adaptive-tx off": its.tx_adaptive,
        "rx-usecs 0": its.rx_us > 0 and its.rx_frames != 1,
        "tx-usecs 0": its.tx_us > 0 and its.tx_frames != 1,
    }
    words = " ".join(word for word, on in off.items() if on)
    if not words:
        return Answer(OK, "interrupts are not held back")
    return Answer(
        NOTE,
        f"interrupts are held back (rx-usecs {its.rx_us}, tx-usecs {its.tx_us}"
        f"{', adaptive' if its.rx_adaptive or its.tx_adaptive else ''}): programs see frames and"
        " stamps later",
        f"ethtool -C {shell_word(name)} {words}",
    )


def qdiscs(name: str, card: asked.Card) -> Answer:
    """Does a queueing discipline hold back what passes the card itself?"""
    if isinstance(card.qdiscs, Unseen):
        return unseen(card.qdiscs)
    shown = ", ".join(dict.fromkeys(card.qdiscs)) or "none"
    if card.driver == LINK_KIND:
        return Answer(OK, f"{shown} (on a Keepon link)")
    holding = [kind for kind in dict.fromkeys(card.qdiscs) if kind in DELAYING]
    if holding:
        return Answer(
            PROBLEM,
            f"{' and '.join(holding)} holds back what passes the card itself, PTP too",
            # `del` refuses a root that the kernel made itself (mq of default_qdisc).
            f"tc qdisc replace dev {shell_word(name)} root pfifo_fast",
        )
    return Answer(OK, shown)
