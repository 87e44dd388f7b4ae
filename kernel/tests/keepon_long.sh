# SPDX-License-Identifier: GPL-2.0-only
# Frames of MTU 1500 over slots of $SLOT_BYTES at 100 Mb/s, to a card that knows of none, and a stream in a slot of its own
# every millisecond beside them. /out: what left when, what TCP made of it. Then gate lists with too few slots in a row.
# test_long_frames.py judges. Needs iperf3, keepon-talk.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000 "$NIC"
ip -n b addr add 10.0.0.2/24 dev sim1
upper slot_bytes "$SLOT_BYTES" partition "$PARTITION" class 1 slots 0 class 0 slots rest
wait_until 3 is_running rt0
run "mqprio" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
# every repeated segment shall be one that the device lost
run "pfifo" tc qdisc replace dev rt0 parent 100:1 pfifo limit 10000
run "at the other end, too" in_b tc qdisc replace dev sim1 root pfifo limit 10000
is "$(cat /sys/class/net/rt0/mtu) $(counter rt0 frame_slots_max)" "1500 $TAGGED_SLOTS" "MTU 1500 in $TAGGED_SLOTS slots"

for bytes in 56 "$((SLOT_BYTES - 30))" "$SLOT_BYTES" 1000 1400 1472; do
	like "$(ping -q -c 20 -i 0.01 -s "$bytes" 10.0.0.2)" " 20 packets received" "20 of $bytes bytes are answered"
done
like "$(in_b ping -q -c 20 -i 0.01 -s 1472 10.0.0.1)" " 20 packets received" "and of the other end"
run "a VLAN" ip link add link rt0 name v5 type vlan id 5
ip addr add 10.0.5.1/24 dev v5
ip link set v5 up
ip -n b link add link sim1 name v5 type vlan id 5
ip -n b addr add 10.0.5.2/24 dev v5
ip -n b link set v5 up
like "$(ping -q -c 20 -i 0.01 -s 1472 10.0.5.2)" " 20 packets received" "tagged ones, too"
is "$(counter rt0 verdict_oversize)" 0 "none is too long"

in_b iperf3 -s >/tmp/server.txt 2>&1 &
server=$!
sleep 0.2
echo "capture sim0 on records=400000" >$control
for way in there back; do
	reverse=""
	[ $way = there ] || reverse=-R
	# shellcheck disable=SC2086 # a word or none
	iperf3 -c 10.0.0.2 -t 2 $reverse -J >/out/iperf-$way.json 2>/tmp/iperf.txt &
	client=$!
	sleep 0.3
	keepon-talk rt0 --period 1ms --offset 640 --advance 10ms --count 1500 --size 80 --priority 1 --hw-stamps --json "/out/talk-$way.json" \
		>"/out/talk-$way.txt" 2>&1
	is $? 0 "$way: the stream"
	wait $client
	is $? 0 "$way: the transfer"
done
kill $server
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
echo "capture sim0 off" >$control
ethtool -S rt0 >/out/rt0.stats
is "$(identity rt0)" 0 "every frame is accounted for"

# gates WORDS ...: instead of what there is
gates() {
	tc qdisc replace dev rt0 parent root handle 200: taprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 \
		base-time 0 "$@" flags 0x2
}
tc qdisc del dev rt0 root
slot_ns=$(((SLOT_BYTES + 20) * 80))
few=$(((FRAME_SLOTS - 1) * slot_ns))
dmesg -c >/dev/null
refuse "a list without room for the MTU" gates sched-entry S 1 $few sched-entry S 2 $slot_ns
like "$_output $(dmesg)" "mtu 1500 needs [0-9]* slots in a row, and best effort has $((FRAME_SLOTS - 1)) in this list; .* or set mtu [0-9]*" \
	"it says what is missing"
mtu=$(echo "$_output $(dmesg)" | sed -n 's/.* or set mtu \([0-9]*\).*/\1/p')
run "another MTU" ip link set rt0 mtu "$mtu"
run "the same list" gates sched-entry S 1 $few sched-entry S 2 $slot_ns
refuse "a byte more" ip link set rt0 mtu $((mtu + 1))
like "$(ping -q -c 20 -i 0.01 -s $((mtu - 28)) 10.0.0.2)" " 20 packets received" "the longest frames are answered"
is "$(counter rt0 verdict_oversize)" 0 "none is too long"
run "a list that has" gates sched-entry S 1 $((FRAME_SLOTS * slot_ns)) sched-entry S 2 $slot_ns
sleep 0.2
run "the MTU as it was" ip link set rt0 mtu 1500
like "$(ping -q -c 20 -i 0.01 -s 1472 10.0.0.2)" " 20 packets received" "and its frames"

# all that left has come: the card counts placeholders as what they are
ip link set rt0 down
sleep 0.1
ethtool -S sim0 >/out/sim0.stats
in_b ethtool -S sim1 >/out/sim1.stats
done_testing
