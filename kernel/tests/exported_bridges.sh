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
	if ip netns exec "$name" env "$@" sh "/export/$name.sh" >>"/out/$name.said" 2>&1; then
		echo taken
	else
		echo refused
	fi >>"/out/$name.result"
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
	for entry in $ports; do # the user's own, with classes and without
		port=${entry#*:}
		if [ "$port" = swp0 ]; then
			tc -n "$name" qdisc add dev "$port" root handle 7: pfifo
		else
			tc -n "$name" qdisc add dev "$port" root handle 8: mqprio \
				num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 4@0 4@4 hw 0
		fi
	done
	tc -n "$name" qdisc show >"/out/$name.own"
	bridge
	tc -n "$name" qdisc show >"/out/$name.left"
	for entry in $ports; do
		tc -n "$name" qdisc del dev "${entry#*:}" root
	done
	bridge
	tc -n "$name" qdisc show >"/out/$name.before"
	settings >"/out/$name.first"
	bridge GATES="clockid CLOCK_TAI"
	bridge GATES="clockid CLOCK_TAI"
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
like "$(ip netns exec single sh /export/rt-simulator.sh 2>&1)" "eth0 has 1 transmit queues and the plan needs 2" "the reason is printed"
is "$(seen)" "$before" "nothing was changed"
refuse "Linux takes no mqprio there, were it of one queue" tc -n single qdisc add dev eth0 root \
	mqprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 hw 0

# what another program has set up is left: a VLAN device, queues
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
for root in "handle 7: pfifo" fq_codel; do
	# shellcheck disable=SC2086 # words
	tc -n owned qdisc add dev eth0 root $root
	before=$(tc -n owned qdisc show dev eth0)
	like "$(ip netns exec owned sh /export/rt-simulator.sh 2>&1)" \
		"eth0 has queueing discipline ${root##* } [78].*take it away with tc qdisc del dev eth0 root" "$root is refused"
	is "$(tc -n owned qdisc show dev eth0)" "$before" "it is left"
	tc -n owned qdisc del dev eth0 root
done

# what an earlier run has set up is set up again: queues, and one of each daemon
queues() {
	tc -n owned qdisc show dev eth0 | sed 's/etf [0-9a-f]*:/etf/' # Linux chooses the number
}
run "the script runs" ip netns exec owned sh /export/rt-simulator.sh
ip -n owned link del eth0.0
first=$(queues)
run "it runs again" ip netns exec owned sh /export/rt-simulator.sh
like "$first" "mqprio 100: root" "queues are set"
like "$first" "etf parent 100:1" "and etf in front of streams'"
is "$(queues)" "$first" "they are the same"
tc -n owned qdisc del dev eth0 root
kill "$(cat /run/phc2sys-rt-simulator.pid)"
sleep 1000 &
stranger=$!
echo $stranger >/run/ptp4l-recorder.pid # as Linux may give a number again
for turn in first second; do
	run "the $turn run" ip netns exec owned sh /export/recorder.sh
	for program in ptp4l phc2sys; do
		is "$(pidof $program)" "$(cat /run/$program-recorder.pid)" "one $program after the $turn run"
	done
done
run "another program is left alone" kill $stranger
kill "$(cat /run/ptp4l-recorder.pid)" "$(cat /run/phc2sys-recorder.pid)"

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
like "$(cat /tmp/said)" "ptp4l stopped: .*controller-ptp4l.cfg" "the reason is printed"
like "$(cat /tmp/said)" "what it set up is taken away again" "that it is taken away is printed"
is "$(ip -n torn -o link show | grep -c rt0)" 0 "it is taken away"
like "$before" "RX:[[:space:]]*on" "PAUSE was on"
is "$(obeyed)" "$before" "what was switched off is on again"
done_testing
