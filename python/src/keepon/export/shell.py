# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of stations and bridges share: they look for all they need before they change
anything, and take away again what they set up if one command fails.

POSIX sh, so that a small board's busybox runs them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from keepon_host.doctor import schedulers
from keepon_host.start import steps
from keepon_host.start.steps import CARRIER_WAIT_S, PACKAGES, Need, Step

_HAS_CLOCK = "phc_ctl -qQ {} get"
"""It asks the kernel; ethtool's words for the answer differ by version and kernel."""

_BEGIN = """set -eu
here=$(cd "$(dirname "$0")" && pwd)
stop() {
	echo "$0: $*" >&2
	exit 1
}
"""

_SWITCH_OFF = """
# switch_off DEVICE WHAT QUERY COMMAND ...: a driver switches nothing off that it does not know.
switch_off() {
	device=$1 what=$2 query=$3
	shift 3
	said=$(ethtool "$query" "$device" 2>&1) || case $said in
	*"not supported"*) ;;
	*) stop "$device does not tell about $what: $said" ;;
	esac
	case $said in
	*"not supported"*)
		echo "$0: the driver of $device knows no $what: see to it that the other end does none"
		return
		;;
	esac
	if echo "$said" | grep -Eq ':[[:space:]]*(on|enabled)'; then
		"$@" || stop "$device: $what cannot be switched off; the plan's times do not hold with it"
		case $query in
		-a)
			was=$(echo "$said" | sed -n 's/^Autonegotiate:/autoneg/p; s/^RX:/rx/p; s/^TX:/tx/p')
			# shellcheck disable=SC2086 # words
			set -- -A "$device" $was
			;;
		*) set -- --set-eee "$device" eee on ;;
		esac
		again="$again$*;"
	fi
}
"""

_LINKED = f"""
# linked DEVICE MBITS: up, with a link of the planned rate.
linked() {{
	ip link set dev "$1" up
	left={CARRIER_WAIT_S}
	until [ "$(cat "/sys/class/net/$1/carrier")" = 1 ]; do
		[ "$left" -gt 0 ] || stop "$1 has no link: plug its cable in, or set the other end up"
		left=$((left - 1))
		sleep 1
	done
	speed=$(cat "/sys/class/net/$1/speed")
	[ "$speed" = "$2" ] || stop "$1 runs at $speed Mb/s, not the $2 of the plan: set its speed"
}}
"""

_OWN_ROOT = """
# own_root DEVICE: what stands at its root is Linux's default, or of an earlier run.
own_root() {
	root=$(tc qdisc show dev "$1" | sed -n 's/^qdisc \\([^ ]* [^ ]*\\) root.*/\\1/p')
	case $root in
	"" | *" 0:" | "mqprio 100:" | "taprio 100:") ;;
	*)
		stop "$1 has queueing discipline $root at its root, which Keepon did not set:" \\
			"take it away with tc qdisc del dev $1 root"
		;;
	esac
}
"""

_ENDED = """
# ended PLACE: what an earlier run started; its log tells it from another program of its number.
ended() {
	pid=$(cat "$1.pid" 2> /dev/null) || return 0
	while [ "$(readlink "/proc/$pid/fd/1")" = "$1.log" ]; do
		echo "$0: ${1##*/} runs already, as process $pid: it is started again"
		kill "$pid" 2> /dev/null || :
		sleep 1
	done
}
"""

_UNDO = """
finished=
pids=
queued=
again=
undo() {
	[ -z "$finished" ] || return 0
	set +e
	echo "$0: failed; what it set up is taken away again" >&2
	# shellcheck disable=SC2086 # several numbers
	[ -z "$pids" ] || kill $pids 2> /dev/null
	for device in $queued; do
		tc qdisc del dev "$device" root 2> /dev/null
	done
	%s
	echo "$again" | tr ';' '\\n' | while read -r words; do
		# shellcheck disable=SC2086 # words
		[ -z "$words" ] || ethtool $words
	done
}
trap undo EXIT
trap 'exit 130' INT TERM
"""


def begin() -> str:
    """How every script begins."""
    return _BEGIN


def begins(programs: Iterable[str], devices: Iterable[str]) -> Iterator[str]:
    """Root, programs and devices."""
    yield '[ "$(id -u)" = 0 ] || stop "needs root: run it with sudo"'
    for program in programs:
        yield (
            f'command -v {program} > /dev/null || stop "{program} is not installed: apt-get install'
            f' {PACKAGES[program]}"'
        )
    for device in devices:
        yield (
            f'[ -e /sys/class/net/{device} ] || stop "there is no device {device}: rename the one'
            ' that is meant, or export again"'
        )


def _need(need: Need) -> Iterator[str]:
    match need:
        case steps.Free(device, remedy):
            yield (
                f'[ ! -e /sys/class/net/{device} ] || stop "{device} is there already: {remedy}"'
            )
        case steps.LinkType():
            yield (
                'ip link help keepon 2>&1 | grep -q slot_bytes || stop "ip knows no links of type'
                " keepon: install keepon-tools, or build its plugin with kernel/plugin/build"
                ' (docs/kernel.md)"'
            )
        case steps.Queues(device, count):
            yield f"set -- /sys/class/net/{device}/queues/tx-*"
            yield (
                f'[ $# -ge {count} ] || stop "{device} has $# transmit queues and the plan needs'
                f' {count}: {need.remedy}"'
            )
        case steps.Clock(device, otherwise):
            yield (
                f'{_HAS_CLOCK.format(device)} || stop "{device} has no PTP hardware clock,'
                f' {otherwise}"'
            )
        case steps.Scheduler(kind) if kind not in schedulers.ALWAYS:
            yield _scheduler(kind)


def _scheduler(kind: str) -> str:
    """As keepon_host.doctor.schedulers; without the kernel's configuration."""
    lists = "$modules/modules.dep $modules/modules.builtin"
    return (
        f"modules=/lib/modules/$(uname -r); [ -d /sys/module/sch_{kind} ]"
        ' || [ ! -f "$modules/modules.dep" ] || [ ! -f "$modules/modules.builtin" ]'
        f" || grep -Eq '(^|/)sch_{kind}\\.ko' {lists}"
        f' || stop "this kernel ($(uname -r)) has no queueing discipline {kind} (sch_{kind}):'
        ' install one that has it; keepon doctor names the package"'
    )


def needs(found: Iterable[Need], devices: Iterable[str], queued: Iterable[str]) -> Iterator[str]:
    """All that is looked at before anything is changed; `devices` must be there, and the roots of
    `queued` must be free for queues.
    """
    rest = list(found)
    programs = [need.name for need in rest if isinstance(need, steps.Program)]
    clocks = any(isinstance(need, steps.Clock) for need in rest)
    if clocks or {"ptp4l", "phc2sys"} & set(programs):
        programs.append("phc_ctl")
    yield from begins(programs, devices)
    for need in rest:
        yield from _need(need)
    roots = [f"own_root {device}" for device in queued]
    yield from [_OWN_ROOT.strip(), *roots] if roots else []


def helpers(made: Iterable[str]) -> str:
    """Functions of the part that changes something, and what takes it all away if that fails:
    queues, programs, and the devices `made`, the last one first.
    """
    undo = [f"ip link del {device} 2> /dev/null" for device in reversed(list(made))]
    return _SWITCH_OFF + _LINKED + _ENDED + _UNDO % "\n\t".join(undo or [":"])


def made(found: Iterable[Step]) -> Iterator[str]:
    """Devices that steps make."""
    for step in found:
        if isinstance(step, steps.AddKeepon | steps.AddVlan):
            yield step.device


def set_root(device: str, words: str) -> Iterator[str]:
    """The command that sets a device's root. That of an earlier run goes first: one with classes
    takes them away as it goes, those of its successor, too. This one is taken away again if a later
    command fails.
    """
    yield f"tc qdisc del dev {device} root 2> /dev/null || : # Linux's default stays"
    yield words
    yield f'queued="$queued {device}"'


def _daemon(program: str, node: str, words: str) -> Iterator[str]:
    """A program that stays; that it does not stop at once is looked at."""
    place = f"/run/{program}-{node}"
    yield f"ended {place}"
    yield f"setsid {program} {words} > {place}.log 2>&1 &"
    yield 'pids="$pids $!"'
    yield f"echo $! > {place}.pid"
    yield "sleep 1"
    yield f'kill -0 $! 2> /dev/null || stop "{program} stopped: $(tail -n 1 {place}.log)"'


def command(step: Step) -> str:
    return shlex.join(steps.words(step))


def lines(step: Step) -> Iterator[str]:
    """A step as lines of the script."""
    match step:
        case steps.Told(text):
            yield f"# {text}"
        case steps.PauseOff(device):
            yield f'switch_off {device} "pause frames" -a {command(step)}'
        case steps.EeeOff(device):
            yield f'switch_off {device} "EEE" --show-eee {command(step)}'
        case steps.Linked(device, rate_mbps):
            yield f"linked {device} {rate_mbps}"
        case steps.RootQueues(device):
            yield from set_root(device, command(step))
        case steps.QueueBytes(count_bytes=count_bytes):
            yield f"[ ! -e {step.file} ] || echo {count_bytes} > {step.file}"
        case steps.ChooseStamps(device):
            yield "stamps=-H"
            yield f"{_HAS_CLOCK.format(device)} || stamps=-S"
        case steps.Ptp4l(node, config, stamps):
            chosen = "$stamps" if stamps == "auto" else stamps
            yield from _daemon("ptp4l", node, f'{chosen} -m -f "$here/{config}"')
        case steps.Phc2sys(node, _, stamps):
            started = _daemon("phc2sys", node, " ".join(step.words))
            if stamps == "auto":
                yield 'if [ "$stamps" = -H ]; then'
                yield from ("\t" + line for line in started)
                yield "fi"
            else:
                yield from started
        case _:
            yield command(step)
