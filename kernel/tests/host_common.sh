# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What host_*.sh tests share: two cards of hwsim, each with a crystal of its own, on a wire.
#
#   cards                sim0, up, with addresses and a route; in namespace lab sim1, down
#   agent JOB FOLDER     what `keepon run --target host` does on the machine
#                        (started: the same, in place of the shell; its process is in /tmp/agent)
#   state FILE           all that a run must leave as it was, without counters and what is random
#   unchanged NAME       the state is that of /tmp/before
#   failed CODE PATTERN NAME JOB   a run that has to fail so, and to put everything back
#   during PATTERN COMMAND ...  in the background: COMMAND, once what `ps` shows matches
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python:/usr/bin
control=/sys/kernel/debug/keepon_hwsim/control

nics() {
	echo "nic sim0 rate_bps=1000000000 ppb=20000 seed=1 mode=ring queues=8" >$control || exit 1
	echo "nic sim1 rate_bps=1000000000 ppb=-30000 seed=2 mode=launchtime queues=8" >$control || exit 1
	echo "link sim0 sim1 propagation_ns=50" >$control || exit 1
}

cards() {
	modprobe keepon_hwsim || exit 1
	nics
	ip netns add lab
	ip link set sim1 netns lab
	# A device that was never up has no queueing discipline at all.
	ip -n lab link set sim1 up
	ip -n lab link set sim1 down
	ip link set sim0 addrgenmode none
	echo 2 >/proc/sys/net/ipv4/conf/sim0/rp_filter
	echo 77 >/proc/sys/net/ipv4/neigh/sim0/gc_stale_time
	ip link set sim0 up
	ip addr add 192.0.2.1/24 dev sim0
	ip addr add 2001:db8::1/64 dev sim0 nodad
	ip route add 198.51.100.0/24 via 192.0.2.2
	sleep 2
}

agent() {
	"$PYTHON" -S -m keepon_host.testbed "$@"
}

started() {
	exec "$PYTHON" -S -m keepon_host.testbed "$@"
}

state() {
	for place in "" "-n lab"; do
		# shellcheck disable=SC2086
		{
			ip $place -d -j link show
			ip $place -j address show
			ip $place -j route show table all
			ip $place -6 -j route show table main
			tc $place -j qdisc show
		}
	done >"$1"
	ip netns list | sed 's/ .*//' | sort >>"$1"
	# What holds an interface is a file that stays, as one that is locked cannot be removed safely.
	ls /sys/kernel/tracing/instances /run /run/keepon /tmp 2>/dev/null | grep -i 'keepon\|json\|ask' | grep -v '^keepon$\|lock$\|:$' >>"$1"
	grep . /proc/sys/net/ipv[46]/*/sim0/* >>"$1" 2>/dev/null
	ip netns exec lab ethtool -T sim1 >>"$1"
}

unchanged() {
	sleep 2
	state /tmp/after
	run "$1: everything was put back" cmp /tmp/before /tmp/after || diff /tmp/before /tmp/after
	is "$(ps | grep -c '[k]eepon-talk\|[k]eepon-listen\|[p]hc2sys\|[i]p .*monitor')" 0 "$1: no program was left"
}

failed() {
	rm -rf /tmp/run
	mkdir /tmp/run
	started "$4" /tmp/run >/tmp/said 2>&1 &
	echo $! >/tmp/agent
	wait $!
	is $? "$1" "$3: exit code"
	like "$(cat /tmp/said)" "$2" "$3: sentence"
	is "$(wc -l </tmp/said)" 1 "$3: one line"
	unchanged "$3"
}

during() {
	_pattern=$1
	shift
	(
		awaited 60 sh -c "ps | grep -q '$_pattern'" && sleep 1
		"$@"
	) &
}
