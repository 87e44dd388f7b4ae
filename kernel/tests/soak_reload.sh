# SPDX-License-Identifier: GPL-2.0-only
# All modules loaded, used and unloaded ROUNDS times, in every order, with frames on the wire. A warning in the log fails the run.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/soak.sh

ip netns add b
failures=0

# must COMMAND ...: counts what fails; a line per round would be noise
must() {
	_said=$("$@" 2>&1) && return
	failures=$((failures + 1))
	diag "round $round: $*: $_said"
}

reload() {
	round=$1
	must modprobe keepon_hwsim
	must modprobe keepon
	printf '%s\n' "nic sim0 rate_bps=100000000 ppb=20000" "nic sim1 rate_bps=100000000" "link sim0 sim1" >$control
	ip -batch - <<-Y
		link set sim1 netns b
		link set sim0 up
		link add link sim0 name rt0 type keepon receive all
		link set rt0 up
		addr add 10.0.0.1/24 dev rt0
	Y
	ip -n b -batch - <<-Y
		link set sim1 up
		addr add 10.0.0.2/24 dev sim1
	Y
	ping -q -c 30 -i 0.001 -w 1 10.0.0.2 >/dev/null 2>&1 &
	sleep "0.0$((round % 4))"
	is_zero "$(identity rt0)"
	case $((round % 4)) in
	0) must rmmod keepon ;;
	1)
		rmmod keepon_hwsim 2>/dev/null && must false
		must ip link set rt0 down
		must rmmod keepon_hwsim
		;;
	2) must sh -c "echo delete sim0 >$control" ;;
	3) must ip link del rt0 ;;
	esac
	for module in keepon keepon_hwsim keepon_native; do
		[ -d /sys/module/$module ] && must rmmod $module
	done
	wait
}

is_zero() {
	[ "$1" = 0 ] || must sh -c "echo 'not accounted for: $1'; false"
}

warm_up=$((ROUNDS / 5))
for number in $(seq $warm_up); do
	reload "$number"
done
memory /tmp/before
for number in $(seq $((ROUNDS - warm_up))); do
	reload "$number"
done
memory /tmp/after
is $failures 0 "$ROUNDS times loaded, used and unloaded"
no_leak /tmp/before /tmp/after $((ROUNDS - warm_up))
is "$(ls -d /sys/class/net/sim* /sys/class/net/rt* /sys/class/ptp/* /sys/module/keepon* 2>/dev/null)" "" "nothing is left"
done_testing
