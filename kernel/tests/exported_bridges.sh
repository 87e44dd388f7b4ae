# SPDX-License-Identifier: GPL-2.0-only
# Bridges as `keepon export commands` has them: /export/NAME.sh of each line of /lib/keepon/bridges
# runs as it is, in a namespace with ports of its names. A line: NAME RATE:PORT ...
#
# hwsim's NICs have no gates, so the kernel takes a list with GATES="clockid CLOCK_TAI" only; what it
# asks of entries is the same. qdiscs stand in /out/NAME.qdiscs, what the scripts said in NAME.said.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
modprobe keepon_hwsim

bridge() {
	ip netns exec "$name" env "$@" sh "/export/$name.sh" >>"/out/$name.said" 2>&1
}

# settings: what each port obeys and does beside gates
settings() {
	for _entry in $ports; do
		_port=${_entry#*:}
		ip netns exec "$name" ethtool -a "$_port" | sed -n "s/^RX:[[:space:]]*/$_port PAUSE /p"
		ip netns exec "$name" ethtool --show-eee "$_port" | sed -n "s/.*EEE status: \([a-z]*\).*/$_port EEE \1/p"
	done
}

number=0
while read -r name ports; do
	number=$((number + 1))
	clock=
	ip netns add "$name"
	ip netns add "$name-peers"
	for entry in $ports; do
		port=${entry#*:}
		near=a$number$port # NICs have short names
		far=b$number$port
		for nic in "$near $clock flow_control=1 eee_wake_ns=16500" "$far"; do
			echo "nic $nic mode=ordinary queues=8 rate_bps=${entry%:*}" >$control
		done
		clock="phc=a${number}swp0" # ports of a switch have one clock
		echo "link $near $far" >$control
		ip link set "$near" netns "$name" name "$port"
		ip link set "$far" netns "$name-peers"
		ip -n "$name-peers" link set "$far" up
	done
	tc -n "$name" qdisc add dev swp0 root handle 7: pfifo # somebody's own
	for entry in $ports; do # and what has classes, which taprio cannot simply take the place of
		[ "${entry#*:}" = swp0 ] || tc -n "$name" qdisc add dev "${entry#*:}" root handle 8: mqprio \
			num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 4@0 4@4 hw 0
	done
	if bridge; then
		echo taken >>"/out/$name.result"
	else
		echo refused >>"/out/$name.result"
	fi
	tc -n "$name" qdisc show >"/out/$name.before"
	settings >"/out/$name.first"
	if bridge GATES="clockid CLOCK_TAI"; then
		echo taken >>"/out/$name.result"
	else
		echo refused >>"/out/$name.result"
	fi
	tc -n "$name" qdisc show >"/out/$name.qdiscs"
	ip netns exec "$name" grep . /sys/class/net/swp*/queues/tx-1/traffic_class >"/out/$name.classes"
	settings >"/out/$name.then"
	for pid in /run/*.pid; do
		[ ! -e "$pid" ] || kill "$(cat "$pid")"
		rm -f "$pid"
	done
	ip netns del "$name"
done </lib/keepon/bridges

# a card with one queue: a sentence, and nothing has changed
ip netns add single
echo "nic one mode=launchtime queues=1" >$control
ip link set one netns single name eth0
seen() {
	ip -n single -d addr show
	tc -n single qdisc show
	ls /run
}
before=$(seen)
refuse "a card with one queue is refused" ip netns exec single sh /export/rt-simulator.sh
like "$(ip netns exec single sh /export/rt-simulator.sh 2>&1)" "eth0 has 1 transmit queues and the plan needs 2" "the reason is told"
is "$(seen)" "$before" "nothing was changed"
refuse "Linux takes no mqprio there, were it of one queue" tc -n single qdisc add dev eth0 root \
	mqprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 hw 0

# what somebody else has set up is left: a VLAN device, queues
ip netns add owned
echo "nic own mode=launchtime queues=8" >$control
echo "nic own-peer" >$control
echo "link own own-peer" >$control
ip link set own netns owned name eth0
ip netns add owned-peer
ip link set own-peer netns owned-peer
ip -n owned-peer link set own-peer up
ip -n owned link add link eth0 name eth0.0 type vlan id 0
like "$(ip netns exec owned sh /export/rt-simulator.sh 2>&1)" "eth0.0 is there already" "a device is refused"
is "$(ip -n owned -o link show | grep -c 'eth0\.0')" 1 "it is left"
ip -n owned link del eth0.0
tc -n owned qdisc add dev eth0 root handle 7: pfifo
refuse "queues are refused" ip netns exec owned sh /export/rt-simulator.sh
is "$(tc -n owned qdisc show dev eth0 | grep -c 'pfifo 7:')" 1 "they are left"

# without ptp4l's configuration beside it
modprobe keepon
ip netns add torn
ip netns add torn-peer
echo "nic torn queues=1 flow_control=1 eee_wake_ns=16500" >$control
echo "nic torn-peer" >$control
echo "link torn torn-peer" >$control
ip link set torn netns torn name eth0
ip link set torn-peer netns torn-peer
ip -n torn-peer link set torn-peer up
mkdir /tmp/alone
cp /export/controller.sh /tmp/alone
obeyed() {
	ip netns exec torn ethtool -a eth0
	ip netns exec torn ethtool --show-eee eth0
}
before=$(obeyed)
ip netns exec torn sh /tmp/alone/controller.sh >/tmp/said 2>&1
is $? 1 "a script whose command fails fails"
like "$(cat /tmp/said)" "ptp4l stopped: .*controller-ptp4l.cfg" "the reason is told"
like "$(cat /tmp/said)" "what it set up is taken away again" "that it is taken away is told"
is "$(ip -n torn -o link show | grep -c rt0)" 0 "it is taken away"
like "$before" "RX:[[:space:]]*on" "PAUSE was on"
is "$(obeyed)" "$before" "what was switched off is on again"
done_testing
