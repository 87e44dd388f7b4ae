# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the apply_*.sh tests share; found as /lib/keepon/apply.sh in the guest, after test.sh. eth0 is a card with a cable to
# eth9 in namespace far, has addresses and routes, PAUSE frames, and carries the ssh connection of 10.0.0.2.
#
#   started VERB ...           python3 -m keepon.linux.apply
#   forking                    from here on Python is not started for each command but forked (apply_forked.py), for
#   keepon VERB ...            the same as started, and what it says to stdout
#   state                      all that keepon apply may change, as ip, tc, ethtool, ps and ls tell it
#   same NAME                  it is as `state > /tmp/before` found it
#   applying WORDS ...         keepon apply /steps/$STEPS with them, in the background, its input nobody; its number is $job,
#                              what it says in /tmp/said
#   waited NUMBER              its exit code, when it has ended
#   renamed NAME OTHER         the card; 6.1 does that only while it is down
#   relabelled                 the second address of eth0, to which the kernel gives another label when eth0 is renamed
#   until_said PATTERN         waits for that in /tmp/said
#   watcher                    the number of the process that watches
#   unwatched                  waits until the process that watches has put everything back
#   wrapped                    ip, tc and ethtool can be made to do more: for
#   hooked WORDS ...           applying them; its command number $AT runs $BEFORE and $AFTER around itself
#   ended CODE PATTERN NAME    $job ends with that exit code, its last line matches
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python PYTHONDONTWRITEBYTECODE=1
control=/sys/kernel/debug/keepon_hwsim/control

started() {
	"$PYTHON" -S -m keepon.linux.apply "$@"
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

state() {
	printf '%s\n' addr link route rule | ip -d -j -batch - 2>&1 | tr '{' '\n' | sed '/"ifname":"lo"/d'
	tc -j qdisc show
	for what in "" -a --show-eee -k -c -T -g; do
		# shellcheck disable=SC2086 # may be nothing
		ethtool $what eth0 2>&1
	done
	cat /sys/class/net/eth0/queues/tx-*/byte_queue_limits/limit_min 2>/dev/null
	ps -o args | grep -E '^(ptp4l|phc2sys) |[k]eepon.linux.apply'
	grep -x keepon-watcher /proc/[0-9]*/comm 2>/dev/null
	ls -A /run/keepon 2>/dev/null | grep -v 'lock$'
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

applying() {
	rm -f /tmp/said
	asked "$AT" "$BEFORE" "$AFTER" "$SSH_CONNECTION" /tmp/said "apply /steps/$STEPS $*"
	job=$answer
}

keepon() {
	_told=$(mktemp -u /tmp/told.XXXXXX)
	asked "" "" "" "$SSH_CONNECTION" "$_told" "$*"
	waited "$answer"
	_code=$?
	cat "$_told"
	return $_code
}

# asked LINES ...: of the forking Python; its answer is $answer
asked() {
	printf '%s\n' "$@" >&3
	read -r answer <&4
}

forking() {
	mkfifo /tmp/ask /tmp/answer
	"$PYTHON" -S /lib/keepon/forked.py < /tmp/ask > /tmp/answer 2> /tmp/forked &
	exec 3> /tmp/ask 4< /tmp/answer
}

waited() {
	asked "await code $1"
	[ "$answer" ] || diag "process $1 does not end; $(tail -1 /tmp/forked)"
	return "${answer:-99}"
}

renamed() {
	ip link set "$1" name "$2" 2>/dev/null && return
	ip link set "$1" down
	ip link set "$1" name "$2"
	ip link set "$2" up
}

said() {
	grep -Eq "$1" /tmp/said
}

relabelled() {
	ip addr del 10.1.0.1/32 dev eth0
	ip addr add 10.1.0.1/32 dev eth0
}

until_said() {
	asked "await said $1"
	[ "$answer" ] || diag "$(tail -3 /tmp/said)"
}

ended() {
	waited "$job"
	is $? "$1" "$3: exit code"
	like "$(tail -1 /tmp/said)" "$2" "$3: sentence"
}

watcher() {
	grep -lx keepon-watcher /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3
	ps -o pid,args | sed -n 's/^ *\([0-9]*\) .*[k]eepon.linux.apply.watcher.*/\1/p'
}

unwatched() {
	asked "await unwatched"
	[ "$answer" ] || diag "somebody watches still"
}

hooked() {
	: > /tmp/calls
	applying "$@"
	AT='' BEFORE='' AFTER=''
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
