# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the start_*.sh tests share; found as /lib/keepon/start.sh in the guest, after test.sh. eth0 is a card with a cable to
# eth9 in namespace far, has addresses and routes, PAUSE frames, and carries the ssh connection of 10.0.0.2.
#
#   keepon VERB ...            python3 -m keepon_host
#   state                      all that keepon start may change, as ip, tc, ethtool, ps and ls tell it
#   same NAME                  it is as `state > /tmp/before` found it
#   starting WORDS ...         keepon start --steps /steps/$STEPS with them, in the background, without input; its number
#                              is $job, what it says in /tmp/said
#   refused CODE PATTERN NAME  it ends by itself so, nothing is changed, one line says why
#   ended CODE PATTERN NAME    $job ends with that exit code, its last line matches
#   worker                     number of the process that does the work of $job
#   wrapped                    ip, tc and ethtool can be made to do more: command number $AT of
#   hooked WORDS ...           starting them runs $BEFORE and $AFTER around itself
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python PYTHONDONTWRITEBYTECODE=1
control=/sys/kernel/debug/keepon_hwsim/control
WAIT=60

keepon() {
	"$PYTHON" -S -m keepon_host "$@"
}

card() {
	echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
	echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	modprobe keepon_hwsim
	ip netns add far
	echo "nic sim0 mode=$MODE rate_bps=$RATE ppb=20000 seed=1 queues=8 flow_control=1" > $control
	echo "nic sim1 mode=${FAR_MODE:-ordinary} rate_bps=$RATE ppb=-30000 seed=2" > $control
	echo "link sim0 sim1 propagation_ns=100" > $control
	ip link set sim0 name eth0
	ip link set sim1 netns far name eth9
	ip -n far addr add 10.0.0.2/24 dev eth9
	ip -n far link set eth9 up
}

addresses() {
	ip addr add 10.0.0.1/24 dev eth0
	ip addr add 10.1.0.1/32 dev eth0
	ip link set eth0 up
	wait_until 5 linked
	ip route add default via 10.0.0.2 dev eth0 metric 7
}

unlinked() {
	! linked
}

linked() {
	[ "$(cat /sys/class/net/eth0/carrier 2>/dev/null)" = 1 ]
}

echoes() {
	ip netns exec far ping -q -c 3 -i 0.01 -W 1 10.0.0.1 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

state() {
	printf '%s\n' addr link route rule | ip -d -j -batch - 2>&1 | tr '{' '\n' | sed '/"ifname":"lo"/d'
	tc -j qdisc show
	for what in "" -a --show-eee -k -c -T -g; do
		# shellcheck disable=SC2086 # may be nothing
		ethtool $what eth0 2>&1
	done
	cat /sys/class/net/eth0/queues/tx-*/byte_queue_limits/limit_min 2>/dev/null
	ps -o args | grep -E '^(ptp4l|phc2sys) |[k]eepon_host'
	ls -A /run/keepon 2>/dev/null | grep -v 'lock$'
}

# what the card has, whether a link is on it or not
own() {
	ip addr show dev eth0 | sed 's/ qdisc.*//'
	ip route show table all dev eth0
	ip rule
}

same() {
	state > /tmp/after
	if cmp -s /tmp/before /tmp/after; then
		ok "$1: all is as it was"
	else
		not_ok "$1: all is as it was"
		diff /tmp/before /tmp/after | sed 's/^/# /'
	fi
}

starting() {
	# exec: a signal for the number is one for the command
	sh -c 'exec "$@"' keepon "$PYTHON" -S -m keepon_host start --steps "/steps/$STEPS" "$@" \
		> /tmp/said 2>&1 < /dev/null &
	job=$!
}

ended() {
	wait "$job"
	is $? "$1" "$3: exit code"
	like "$(tail -1 /tmp/said)" "$2" "$3: sentence"
}

refused() {
	starting
	ended "$1" "$2" "$3"
	is "$(grep -c '^keepon: ' /tmp/said)" 1 "$3: one line"
	same "$3"
}

said() {
	grep -Eq "$1" /tmp/said
}

worker() {
	ps -o pid,args | sed -n 's/^ *\([0-9]*\) .*[k]eepon_host start .*/\1/p' | grep -vx "$job"
}

idle() {
	[ -z "$(ps -o args | grep '[k]eepon_host')" ]
}

hooked() {
	: > /tmp/calls
	export AT BEFORE AFTER
	PATH=/tmp/bin:$PATH
	starting "$@"
	PATH=${PATH#/tmp/bin:}
}

wrapped() {
	mkdir -p /tmp/bin
	for name in ip tc ethtool; do
		cat > /tmp/bin/$name <<-END
			#!/bin/sh
			if [ "\$KEEPON_STEP" ] && echo >> /tmp/calls && [ \$(wc -l < /tmp/calls) = "\$AT" ]; then
				eval "\$BEFORE"
				$(command -v $name) "\$@"
				code=\$?
				eval "\$AFTER"
				exit \$code
			fi
			exec $(command -v $name) "\$@"
		END
		chmod +x /tmp/bin/$name
	done
}
