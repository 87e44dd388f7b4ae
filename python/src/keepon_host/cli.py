# SPDX-License-Identifier: BSD-3-Clause
"""The command `keepon`, as far as it is about this machine; its other commands are of package
keepon, to which it hands them on.

Exit codes: 0 done, or safe; 1 not; 2 wrong input; 3 the machine; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from keepon_host import alone, interrupts
from keepon_host.checkout import checkout
from keepon_host.errors import (
    EXIT_ENVIRONMENT,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    ConfigError,
    EnvironmentProblemError,
    KeeponError,
    one_line,
)

MESSAGE_MAX = 2_000
DESIGN = Path("/usr/lib/keepon")
"""The environment of Debian's package keepon."""
Chosen = argparse.Namespace
Plans = Callable[[Chosen], Any]
"""The steps of a station of a plan."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Begins as the help of other commands does."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")


class Parser(argparse.ArgumentParser):
    """One that says in a sentence what is wrong."""

    def __init__(self, verb: str, about: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=f"keepon {verb}", description=about, epilog=epilog, allow_abbrev=False,
            formatter_class=Help,
        )  # fmt: skip

    def error(self, message: str) -> NoReturn:
        _, _, missing = message.partition("arguments are required: ")
        if missing:
            message = f"argument {missing.partition(',')[0]}: is missing"
        raise ConfigError(f"{message}; see {self.prog} --help")

    def flag(self, name: str, about: str) -> None:
        self.add_argument(name, action="store_true", help=about)

    def given(self, chosen: Chosen) -> list[str]:
        """What was typed, as messages name it."""
        typed = [
            each
            for each in self._actions
            if getattr(chosen, each.dest, each.default) not in (each.default, [])
        ]
        return [
            f"option {each.option_strings[0]}"
            if each.option_strings
            else f"argument {each.metavar}"
            for each in typed
        ]


@dataclass(frozen=True)
class Verb:
    """A command of the machine.

    Attributes:
        run: what it does; exit code, or a text for stdout.
        left: how things are if it is interrupted; {nic} is its argument.
    """

    parser: Parser
    run: Callable[[Chosen], int | str]
    left: str = "nothing was written"


def _say(text: str) -> None:
    print(text, flush=True)  # it is waited for, maybe in a file


def _json(document: object) -> str:
    return json.dumps(document, indent=1, allow_nan=False)


def _check_only(parser: Parser, chosen: Chosen, option: str, others: Sequence[str]) -> None:
    """Raises ConfigError: beside the option one was typed that it has no use for."""
    for each in parser.given(chosen):
        if each != option and each not in others:
            raise ConfigError(f"{each}: has no use with {option}; leave one of the two out")


def _start(plans: Plans | None) -> Verb:
    from keepon_host.journal import boot_file
    from keepon_host.start import boot, command, direct, steps

    parser = Parser(
        "start",
        "Give a card a keepon link, as OPTIONs or a station of a plan say; the card itself goes on"
        "\nas it is. All of it is put back if a step fails, or if the card's link or your"
        "\nconnection is lost.",
        _link_help(),
    )
    parser.add_argument("nic", metavar="NIC", nargs="?", help="The card, such as eth0.")
    parser.add_argument(
        "options", metavar="OPTION", nargs="*", help="Options of the link and their values."
    )
    for name, metavar, about in (
        ("--plan", "FILE", "Plan, as keepon plan --out writes it."),
        ("--station", "NAME", "Of the plan."),
        ("--scenario", "FILE", "Scenario of the plan; default: NAME.toml of it beside the plan."),
        ("--steps", "FILE", "Steps of a station, as --dry-run --json prints them."),
        ("--boot", "NAME", "What /etc/keepon/NAME.toml says (systemd)."),
    ):
        parser.add_argument(name, metavar=metavar, help=about)
    parser.add_argument("--link", metavar="NAME", help="Its name (rt0).")
    parser.add_argument(
        "--driver", metavar="NAME", default="auto",
        help="keepon: Keepon's own; kernel: the one the card has; auto (default): Keepon's where"
        " it has one.",
    )  # fmt: skip
    parser.add_argument(
        "--ptp", metavar="ROLE", default="none",
        help="none (default); follow: ptp4l sets the link's clock; lead: it is the network's.",
    )  # fmt: skip
    parser.add_argument(
        "--rollback", metavar="SECONDS", type=float, default=command.ROLLBACK_S,
        help="For the card's link and your ssh connection to come back (30).",
    )  # fmt: skip
    parser.flag("--dry-run", "Show every command, and change nothing.")
    parser.flag("--json", "With --dry-run: the steps as JSON.")

    def found(chosen: Chosen, file: boot.MachineFile | None) -> steps.Setup:
        if chosen.plan is not None:
            assert plans is not None, "handed on"
            return cast(steps.Setup, plans(chosen))
        if chosen.steps is not None:
            return steps.read(Path(chosen.steps))
        if file is not None:
            return boot.setup(file)
        return direct.direct(chosen.nic, chosen.nic, chosen.link, 0, chosen.options, chosen.ptp)

    def run(chosen: Chosen) -> int | str:
        _check_start(parser, chosen)
        chosen.link = chosen.link or "rt0"
        file = None if chosen.boot is None else boot.load(boot_file(chosen.boot))
        if file is not None:
            chosen.nic, chosen.link, chosen.driver = file.iface, file.keepon_device, file.driver
        if file is not None and file.table == "plan":
            chosen.station = file.keys["station"]
            chosen.plan, chosen.scenario = file.beside("file"), file.beside("scenario")
        if plans is None and chosen.plan is not None:
            return hand_on("to start what a plan says")
        if file is not None:
            boot.wait_for(file.iface)
        setup = found(chosen, file)
        if file is not None:
            setup = direct.for_units(setup, chosen.boot)
        if chosen.json:
            return _json(steps.to_document(setup))
        return command.start(
            setup, chosen.driver, chosen.rollback, chosen.dry_run, _say, chosen.boot or ""
        )

    return Verb(parser, run, "{nic} is as it was")


def _check_start(parser: Parser, chosen: Chosen) -> None:
    """Raises ConfigError: what was typed contradicts itself."""
    from keepon_host.interface import check_name
    from keepon_host.start import driver

    if chosen.boot is not None:
        _check_only(parser, chosen, "option --boot", ())
        return
    if chosen.nic is None and chosen.steps is None:
        raise ConfigError("argument NIC: is missing; name the card, such as eth0")
    if chosen.json and not chosen.dry_run:
        raise ConfigError("option --json: is for --dry-run; leave it out, or add --dry-run")
    for option, name in (("argument NIC", chosen.nic), ("option --link", chosen.link)):
        if name is not None:
            check_name(option, name)
    always = ("option --driver", "option --rollback", "option --dry-run")
    if chosen.steps is not None:
        _check_only(parser, chosen, "option --steps", always)
        return
    if chosen.nic is not None and chosen.nic == chosen.link:
        raise ConfigError(
            f'option --link = "{one_line(chosen.link)}": must differ from the card, on which it is'
            " made; choose another name"
        )
    for option in () if chosen.plan else ("station", "scenario"):
        if getattr(chosen, option) is not None:
            raise ConfigError(f"option --{option}: is for --plan; add that, or leave it out")
    if chosen.plan is not None:
        planned = ("station", "scenario", "link", "json")
        allowed = ("argument NIC", *always, *(f"option --{each}" for each in planned))
        _check_only(parser, chosen, "option --plan", allowed)
    for option, value, words in (
        ("--driver", chosen.driver, driver.CHOICES), ("--ptp", chosen.ptp, ROLES),
    ):  # fmt: skip
        if value not in words:
            raise ConfigError(
                f'option {option} = "{one_line(value)}": must be {", ".join(words[:-1])} or'
                f" {words[-1]}"
            )


ROLES = ("none", "follow", "lead")


def _link_help() -> str:
    from keepon_host.link.options import HELP

    return HELP


def _stop(_plans: Plans | None) -> Verb:
    from keepon_host import journal
    from keepon_host.start import command

    parser = Parser("stop", "Put back what was there before keepon start, and say what was done.")
    parser.add_argument("nic", metavar="NIC", nargs="?", help="The card; not needed if only one.")
    parser.add_argument("--boot", metavar="NAME", help="What /etc/keepon/NAME.toml says (systemd).")

    def run(chosen: Chosen) -> str:
        if chosen.boot is None:
            return command.stop(chosen.nic)
        _check_only(parser, chosen, "option --boot", ())
        # What runs when a unit has ended in any way: there may be nothing to put back, and its
        # file may be another one by now, or none.
        journal.boot_file(chosen.boot)
        units = [each for each in journal.journals() if each.unit == chosen.boot]
        return "\n".join(command.stop(each.name or each.nic) for each in units)

    return Verb(parser, run, "not all may be as it was; say keepon stop again")


def _status(_plans: Plans | None) -> Verb:
    from keepon_host.start import status

    parser = Parser(
        "status", "Show each keepon link: its card, clock, frames, PTP, and what start set up."
    )
    parser.add_argument("nic", metavar="NIC", nargs="?", help="The card; default: all.")
    parser.flag("--json", "Print the result as JSON.")

    def run(chosen: Chosen) -> str:
        return _json(status.document(chosen.nic)) if chosen.json else status.text(chosen.nic)

    return Verb(parser, run)


def _bound(verb: str, about: str) -> Verb:
    from keepon_host import bind

    parser = Parser(verb, about)
    parser.add_argument("nic", metavar="NAME", help="Interface of the card, such as eth0.")
    parser.add_argument(
        "--rollback", metavar="SECONDS", type=float, default=bind.BACK_S,
        help="For the link and your ssh connection to come back (30).",
    )  # fmt: skip
    return Verb(
        parser, lambda chosen: getattr(bind, verb)(chosen.nic, chosen.rollback),
        "the card is as it was",
    )  # fmt: skip


def _hwcheck(_plans: Plans | None) -> Verb:
    from keepon_host import document as documents
    from keepon_host.hwcheck import command

    parser = Parser(
        "hwcheck",
        "Measure what a card does beside what its driver says; exit 1 if it is not shown to be"
        "\nsafe to use.",
    )
    parser.add_argument("nic", metavar="NAME", help="Interface of the card, such as eth0.")
    parser.add_argument("--peer", metavar="NAME", help="Interface at the other end of the cable.")
    parser.add_argument(
        "--backend", metavar="KIND", default="native",
        help="native (default): a lent ring; generic: any driver.",
    )  # fmt: skip
    parser.add_argument(
        "--slot-bytes", metavar="BYTES", type=int, default=command.SLOT_BYTES,
        help="Length of slots, 64 to 1522 (1230).",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", type=Path, help="Write the document there.")
    parser.flag("--json", "Print the result as JSON.")

    def run(chosen: Chosen) -> int:
        documents.check_replaces("--out", chosen.out, "hwcheck")
        found = command.check(chosen.nic, chosen.peer, chosen.backend, chosen.slot_bytes)
        if chosen.out is not None:
            documents.write(chosen.out, found)
        print(_json(found) if chosen.json else command.table(found))
        return EXIT_MET if found["safe"] else EXIT_MISSED

    return Verb(parser, run)


def _measure_host(_plans: Plans | None) -> Verb:
    from keepon_host import measure

    parser = Parser(
        "measure host",
        "How late programs of this machine hand frames over, and how late it stamps received ones:"
        "\npercentiles, and keys of a [[station]] of a scenario (TOML).",
    )
    parser.add_argument(
        "nic", metavar="CARD", nargs="?", help="Interface to send on; default: a veth pair."
    )
    parser.add_argument(
        "--peer", metavar="NAME", help="Interface at the other end of its cable, which receives."
    )
    parser.add_argument(
        "--seconds", metavar="SECONDS", type=float, default=10.0, help="How long to send (10)."
    )
    parser.add_argument(
        "--period-us", metavar="US", type=int, default=1000, help="From frame to frame (1000)."
    )
    parser.add_argument(
        "--fifo", metavar="PRIORITY", type=int, default=measure.FIFO,
        help="Of the sender in SCHED_FIFO, 1 to 99 (80); 0: a normal process.",
    )  # fmt: skip

    def run(chosen: Chosen) -> str:
        return measure.host(
            measure.Asked(chosen.nic, chosen.peer, chosen.seconds, chosen.period_us, chosen.fifo)
        )

    return Verb(parser, run)


def _doctor(_plans: Plans | None) -> Verb:
    from keepon_host.doctor import command, installation
    from keepon_host.doctor.checks import EXIT_CODES, worst

    parser = Parser(
        "doctor",
        "Say what this machine and its network cards have and lack for Keepon, each with the"
        "\ncommand that mends it; without IFACE one line for each card.",
        command.EXIT_HELP,
    )
    parser.add_argument(
        "nic", metavar="IFACE", nargs="?", help="A card, such as eth0, to be asked in full."
    )
    parser.flag("--measure", "Measure the card, by hwcheck; it is busy meanwhile.")
    parser.add_argument("--peer", metavar="NAME", help="Interface at the other end of the cable.")
    parser.flag("--json", "Print the result as JSON.")

    def run(chosen: Chosen) -> int:
        found = command.examine(chosen.nic, chosen.measure, chosen.peer)
        if chosen.nic is None:
            found = installation.examine() + found
        out = sys.stdout
        print(
            _json(command.document(found, chosen.nic))
            if chosen.json
            else command.table(found, command.width(out), command.coloured(out))
        )
        return EXIT_CODES[worst(found)]

    return Verb(parser, run)


def _link_verb(verb: str) -> Verb:
    from keepon_host.link import commands, fit, view

    about, arguments = LINK[verb]
    takes_options = "OPTION" in arguments
    parser = Parser(f"link {verb}", about, _link_help() if takes_options else None)
    for name, help_text in (
        ("LOWER", "Device below."), ("NAME", "Name of the link."),
        ("FILE", 'Gate list: lines "sgs NS GATES", or words of tc taprio.'),
    ):  # fmt: skip
        if name in arguments:
            nargs = "?" if verb == "show" else None
            parser.add_argument(name.lower(), metavar=name, nargs=nargs, help=help_text)
    if takes_options:
        parser.add_argument(
            "options", metavar="OPTION", nargs="*",
            help="Options and their values.",
        )  # fmt: skip
    if verb == "fit":
        parser.add_argument(
            "--rate", metavar="RATE", default="1G", help="Of the link, as 100M (1G)."
        )
        parser.add_argument("--slot-bytes", metavar="BYTES", type=int, help="Of slots, no others.")
    if verb == "watch":
        parser.add_argument(
            "--interval", metavar="SECONDS", type=float, default=1.0, help="Between readings (1)."
        )
        parser.add_argument("--count", metavar="N", type=int, help="Readings; default: until ^C.")
    parser.flag("--json", "Print the result as JSON.")

    def run(chosen: Chosen) -> str:
        if verb == "add":
            return commands.add(chosen.lower, chosen.name, chosen.options, chosen.json)
        if verb == "set":
            return commands.change(chosen.name, chosen.options, chosen.json)
        if verb == "show":
            return commands.show(chosen.name, chosen.json)
        if verb == "del":
            return commands.delete(chosen.name, chosen.json)
        if verb == "fit":
            return fit.run(Path(chosen.file), chosen.rate, chosen.slot_bytes, chosen.json)
        view.watch_link(chosen.name, chosen.interval, chosen.count, chosen.json)
        return ""

    return Verb(parser, run)


LINK = {
    "add": ("Put a keepon link NAME on the device LOWER.", ("LOWER", "NAME", "OPTION")),
    "set": ("Change options of a link, also while it is up.", ("NAME", "OPTION")),
    "show": ("Options of a link, as they can be given back; without a name, of all.", ("NAME",)),
    "del": ("Delete a link.", ("NAME",)),
    "watch": ("Show what a link does: frames by how they end, clock, slots.", ("NAME",)),
    "fit": ("Slots that carry out a gate list, and what is lost by them.", ("FILE",)),
}
VERBS: dict[str, Callable[[Plans | None], Verb]] = {
    "start": _start, "stop": _stop, "status": _status,
    "bind": lambda _: _bound(
        "bind",
        "Give a network card to Keepon's driver, until keepon unbind or a reboot; back at once if"
        "\nthe link is lost.",
    ),
    "unbind": lambda _: _bound("unbind", "Give a card back to the kernel's own driver."),
    "hwcheck": _hwcheck, "doctor": _doctor, "measure host": _measure_host,
    **{f"link {verb}": lambda _, verb=verb: _link_verb(verb) for verb in LINK},  # type: ignore[misc]
}  # fmt: skip
GROUPS = {name.partition(" ")[0] for name in VERBS if " " in name}


def verb_of(words: Sequence[str]) -> str | None:
    """Which verb this is; "link" for one that has none behind it, None for other commands."""
    if words[:1] == ["link"]:
        return " ".join(words[:2]) if words[1:] and words[1] in LINK else "link"
    two = " ".join(words[:2])
    return two if two in VERBS else words[0] if words and words[0] in VERBS else None


def _list_link(words: Sequence[str]) -> int:
    """What `keepon link` can do."""
    if words and words[0] != "--help":
        raise ConfigError(f'no such command "{one_line(words[0])}"; see keepon link --help')
    print("Usage: keepon link COMMAND ...\n\nLinks of kind keepon, without iproute2's plugin.\n")
    for verb, (about, _) in LINK.items():
        print(f"  {verb:6} {about}")
    return EXIT_MET if words else EXIT_INPUT


def hand_on(what: str) -> int:
    """Package keepon does it, which reads the command line itself.

    Raises:
        EnvironmentProblemError: it is not installed.
    """
    try:
        return int(importlib.import_module("keepon.__main__").main())
    except ModuleNotFoundError as error:
        program = DESIGN / "bin/keepon"
        if error.name == "keepon" and sys.prefix != str(DESIGN) and program.exists():
            os.execv(program, [str(program), *sys.argv[1:]])
        remedy = "make run" if checkout() else "apt-get install ./keepon_*.deb"
        raise EnvironmentProblemError(
            f"{what} is of package keepon, which is not installed here ({error.name} is missing);"
            f" run {remedy}"
        ) from error


def parsed(words: Sequence[str], plans: Plans | None = None) -> tuple[Verb, Chosen, str]:
    """A verb of VERBS, what was typed behind it, and how things are if it is interrupted.

    Args:
        plans: what reads plans, if package keepon calls.

    Raises:
        ConfigError: the words are wrong.
        SystemExit: help was printed.
    """
    name = verb_of(words)
    assert name in VERBS, "no command of another package"
    verb = VERBS[name](plans)
    chosen = verb.parser.parse_intermixed_args(list(words)[len(name.split()) :])
    return verb, chosen, verb.left.format(nic=getattr(chosen, "nic", None) or "the card")


def finish(done: int | str) -> int:
    """Print what a verb answers; exit code."""
    if isinstance(done, int):
        return done
    if done:
        print(done, flush=True)
    return EXIT_MET


def main(words: Sequence[str]) -> int:
    """A command about this machine; its exit code."""
    left = "nothing was written"
    try:
        with interrupts.ending_interrupts():
            if verb_of(words) == "link":
                return _list_link(words[1:])
            verb, chosen, left = parsed(words)
            return finish(verb.run(chosen))
    except KeeponError as error:
        alone.say(f"keepon: {one_line(error, MESSAGE_MAX)}")
        return error.exit_code
    except KeyboardInterrupt:
        alone.say(f"keepon: interrupted; {left}")
        return EXIT_INTERRUPTED
    except SystemExit as end:  # argparse has printed its help
        return int(end.code or 0)


def _help() -> int:
    """What is here where package keepon is not."""
    print("Usage: keepon COMMAND ...\n\nOf this machine; keepon COMMAND --help says more.\n")
    for name, verb in VERBS.items():
        about = str(verb(None).parser.description).replace("\n", " ")
        print(f"  {name:12} {re.split('[.,;:]', about)[0]}")
    print("\nCommands that design networks are of package keepon.")
    return EXIT_MET


def dispatch(words: Sequence[str]) -> int:
    """Any command, also of package keepon; its exit code."""
    if verb_of(words) is not None:
        return main(words)
    try:
        return hand_on(f'command "{one_line(words[0])}"' if words else "to design networks")
    except KeeponError as error:
        if not words or words[0] in ("--help", "-h", "help"):
            return _help()
        alone.say(f"keepon: {error}; here are: {', '.join(VERBS)}")
        return EXIT_ENVIRONMENT
