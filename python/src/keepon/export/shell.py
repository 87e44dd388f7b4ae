# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of stations and bridges share: they look for all they need before they change
anything, and take away again what they set up if one command fails.

POSIX sh, so that a small board's busybox runs them.
"""

from __future__ import annotations

from collections.abc import Iterator

# Debian's packages of the programs
PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "ptp4l": "linuxptp",
    "phc2sys": "linuxptp",
}
CARRIER_WAIT_S = 15

_BEGIN = """set -eu
here=$(cd "$(dirname "$0")" && pwd)
stop() {
	echo "$0: $*" >&2
	exit 1
}
"""

_SWITCH_OFF = """
# switch_off DEVICE WHAT QUERY COMMAND ...: what a card says it has not needs no switching off.
switch_off() {
	device=$1 what=$2 query=$3
	shift 3
	said=$(ethtool "$query" "$device" 2>&1) || case $said in
	*"not supported"*) ;;
	*) stop "$device does not tell about $what: $said" ;;
	esac
	case $said in
	*"not supported"*)
		echo "$0: $device has no $what: nothing to switch off"
		return
		;;
	esac
	if echo "$said" | grep -Eq ':[[:space:]]*(on|enabled)'; then
		"$@" || stop "$device: $what cannot be switched off; the plan's times do not hold with it"
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

_UNDO = """
finished=
pids=
queued=
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
}
trap undo EXIT
trap 'exit 130' INT TERM
"""


def begin() -> str:
    """How every script begins."""
    return _BEGIN


def needs(programs: list[str], devices: list[str]) -> Iterator[str]:
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


def needs_queues(device: str, count: int, otherwise: str) -> str:
    """Transmit queues of a device; `otherwise` says what is not possible with fewer."""
    return (
        f"set -- /sys/class/net/{device}/queues/tx-*\n"
        f'[ $# -ge {count} ] || stop "{device} has $# transmit queues and the plan needs {count}:'
        f' {otherwise}"'
    )


def helpers(undo: list[str]) -> str:
    """Functions of the part that changes something, and what takes it all away if that fails."""
    return _SWITCH_OFF + _LINKED + _UNDO % "\n\t".join(undo or [":"])


def queues_set(device: str) -> str:
    """Behind the command that sets a device's queues: they are to be taken away again, and queues
    that were there before are not.
    """
    return f'queued="$queued {device}"'


def without_disturbers(device: str) -> Iterator[str]:
    """What may stop a wire at an instant that nobody planned."""
    yield "# A PAUSE frame of the other end would hold back frames whose time has come."
    yield (f'switch_off {device} "pause frames" -a ethtool -A {device} autoneg off rx off tx off')
    yield "# Energy-efficient Ethernet sleeps between frames and takes many us to wake up."
    yield f'switch_off {device} "EEE" --show-eee ethtool --set-eee {device} eee off'


def daemon(program: str, node: str, words: str) -> Iterator[str]:
    """A program that stays; that it does not stop at once is looked at."""
    place = f"/run/{program}-{node}"
    yield f"setsid {program} {words} > {place}.log 2>&1 &"
    yield 'pids="$pids $!"'
    yield f"echo $! > {place}.pid"
    yield "sleep 1"
    yield f'kill -0 $! 2> /dev/null || stop "{program} stopped: $(tail -n 1 {place}.log)"'
