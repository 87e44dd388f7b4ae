# SPDX-License-Identifier: GPL-2.0-only
# A guest (here: a namespace) behind a tap (a veth) and a bridge on a card with a link: its frames' PCP is given them as priority at
# the tap, and they leave in their class's windows. /out/*-CASE: `bare` without the filters. test_guest_classes.py judges them.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
run "a link" ip link add link sim0 name rt0 type keepon slot_bytes 1230 priorities on
ip link set rt0 up
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)
gates="0 0 0 0x1,400000 0x2,300000 0x4,200000 0x8,300000" # base time, cycle, extension; entries
before=$(gate_load now "$phc")
words=$(echo "${gates#0 0 0 }" | sed 's/\(0x[0-9a-f]*\),\([0-9]*\)/sched-entry S \1 \2/g')
# shellcheck disable=SC2086 # words
run "gates" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 4 \
	map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 base-time 0 $words flags 0x2
echo "$before $(gate_load now "$phc") $gates" >/tmp/asked

ip link add br0 type bridge
ip link set sim0 master br0
ip link set br0 up
ip netns add guest
ip link add tap0 master br0 type veth peer name eth0 netns guest
ip link set tap0 up
ip -n guest link set eth0 up
ip -n guest link add link eth0 name eth0.5 type vlan id 5 egress-qos-map 0:0 1:1 2:2 3:3
ip -n guest link set eth0.5 up

# judged CASE SEED
judged() {
	cp /tmp/asked "/out/asked-$1"
	echo "capture sim0 on records=100000" >$control
	ip netns exec guest gate_load run "$phc" eth0.5 1000 "$2" 4 >"/out/load-$1"
	sleep 0.1
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/wire-$1"
	echo "capture sim0 off" >$control
}
judged bare 7
tc qdisc add dev tap0 clsact
for pcp in 1 2 3; do
	run "PCP $pcp" tc filter add dev tap0 ingress protocol 802.1Q flower vlan_prio $pcp action skbedit priority $pcp
done
judged classes 8
tc -s filter show dev tap0 ingress >/out/filters
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)$(counter rt0 slips)$(counter rt0 doubts)" 000 "the wire stayed full"
done_testing
