# SPDX-License-Identifier: GPL-2.0-only
# taprio's max-sdu on a keepon link: longer frames are dropped and counted, others are not. $COUNTS:
# this kernel asks the device what it counted. Then `trim reserved`, where lists need slots of no
# class often enough: one that the wire would refuse when its time comes, and one it does refuse.
# Before that, the published map of priorities to classes.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire
run "a link" upper slot_bytes 1230
wait_until 2 is_running rt0

# passed NAME BYTES FRAMES [DEVICE]: so many of 20 frames of the second class leave
passed() {
	_left=$(counter sim0 tx_frames)
	_dropped=$(counter rt0 verdict_oversize)
	run "$1: sent" taprio_limits "${4:-rt0}" send "$2" 20
	sleep 0.1
	is $(($(counter sim0 tx_frames) - _left)) "$3" "$1: left"
	is $(($(counter rt0 verdict_oversize) - _dropped)) $((20 - $3)) "$1: too long"
}

# What would fit is looked for under RTNL, at whatever list: by so many looks at its entries for all
# classes together.
began_ns=$(now_ns)
refuse "900 entries, 16 classes, one of them without a slot" taprio_limits rt0 long
took_ms=$((($(now_ns) - began_ns) / 1000000))
like "$_output $(dmesg)" "no window of traffic class 15 holds a whole slot of 10000 ns" \
	"it says why"
[ "$took_ms" -lt 500 ] && ok "soon" || not_ok "after $took_ms ms"
diag "$took_ms ms"

run "a limit of 300 bytes" taprio_limits rt0 set 300
passed "at the limit" 314 20
passed "a byte more" 315 0
run "a VLAN" ip link add link rt0 name v5 type vlan id 5
ip link set v5 up
passed "with a tag, at the limit" 314 20 v5
passed "with a tag, a byte more" 315 0 v5
ip link del v5
run "another limit" taprio_limits rt0 set 500
passed "at the other" 514 20
passed "beyond the other" 515 0
run "no limit" taprio_limits rt0 set 0
dmesg -c >/dev/null
refuse "an entry for preemption" taprio_limits rt0 hold
like "$_output $(dmesg)" "sched-entry 1: only S with an interval is carried out, not H or R" "it says why"
passed "what a slot carries" $(($(cat /sys/class/net/rt0/mtu) + 14)) 20
counted=$(taprio_limits rt0 counters)
wanted=none
[ ! "$COUNTS" ] || wanted="window_drops=60 tx_overruns=0"
is "$counted" "$wanted" "what the device counted"
is "$(identity rt0)" 0 "every frame is accounted for"

tc qdisc del dev rt0 root
run "gates in software" tc qdisc replace dev rt0 parent root handle 1: taprio num_tc 2 \
	map 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time 0 \
	sched-entry S 3 1000000 clockid CLOCK_TAI flags 0x0
is "$(taprio_limits rt0 counters)" none "the device has nothing to say of them"
tc qdisc del dev rt0 root
run "the published classes" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 3 \
	map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 1@2 base-time 0 \
	sched-entry S 01 300000 sched-entry S 02 300000 sched-entry S 04 400000 flags 0x2
queues=""
for priority in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	run "priority $priority" taprio_limits rt0 send 100 1 $priority
	queues=$queues$(tc -s qdisc show dev rt0 |
		awk '/^qdisc / { queue = 0; if (sub(/.* parent 100:/, "")) queue = $1 } /^ Sent / { sent[queue] = $4 }
			END { printf "%d,%d,%d ", sent[1], sent[2], sent[3] }')
done
is "$queues" "0,0,1 0,0,2 0,1,2 1,1,2 1,1,3 1,1,4 1,1,5 1,1,6 1,1,7 1,1,8 1,1,9 1,1,10 1,1,11 1,1,12 1,1,13 1,1,14 " \
	"each priority's frame was in its class's queue"

# gates WORDS ...: instead of what there is
gates() {
	tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 2 \
		map 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 queues 1@0 1@1 "$@" flags 0x2
}
# again SLOTS: a link whose own table closes one slot of so many
again() {
	ip link del rt0
	run "one of $1 slots is trimmed" upper slot_bytes 1230 partition "$1" class 0-15 slots "1-$(($1 - 1))" \
		trim reserved trim_down 16 trim_up 16
	wait_until 2 is_running rt0
	phc=/dev/ptp$(phc rt0)
}
# whole MS: that much ahead, a whole number of 200 us
whole() {
	echo $((($(gate_load now "$phc") + $1 * 1000000) / 200000 * 200000))
}
again 4
run "two of four are closed" gates base-time 0 cycle-time-extension 1000000 \
	sched-entry S 0 10000 sched-entry S 1 20000 sched-entry S 0 10000
dmesg -c >/dev/null
refuse "one that closes a slot of 22, a long time behind its beginning" gates \
	base-time $(($(whole 200) + 25000)) \
	sched-entry S 0 170000000 sched-entry S 1 210000 sched-entry S 0 9790000
like "$_output $(dmesg)" "slots of no class are up to 2[0-9] apart in this list, and 4 when the" "it says why"
sleep 0.3
run "another list" gates base-time 0 sched-entry S 3 30000 sched-entry S 0 10000
passed "of both classes" 100 20

again 40
run "one of four is closed to all, and all to the second class" gates \
	base-time 0 sched-entry S 1 30000 sched-entry S 0 10000
sleep 0.1
run "one of 22 to come" gates base-time "$(whole 2000)" sched-entry S 3 210000 sched-entry S 0 10000
ip link set rt0 down
ip link set rt0 up
wait_until 2 is_running rt0
sleep 2.5
wait_until 2 is_running rt0
passed "when its time has come" 100 20
is "$(identity rt0)" 0 "every frame is accounted for"

# A step of the clock while frames with txtimes are under way: those a NIC has fetched leave in slots that are not theirs.
# It fetches 64 slots of 10 us ahead, and there is a frame in each 200 us.
echo "nic ahead prefetch=64 seed=3" >$control
echo "nic behind seed=4" >$control
echo "link ahead behind" >$control
ip link set ahead up
ip link set behind up
run "another link" ip link add link ahead name rt1 type keepon receive all slot_bytes 1230
ip link set rt1 up
wait_until 2 is_running rt1
run "gates that are always open" tc qdisc replace dev rt1 parent root handle 100: taprio num_tc 2 \
	map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time 0 sched-entry S 3 1000000 flags 0x2
keepon-talk rt1 --period 200us --advance 10ms --count 1000 --priority 1 >/tmp/said 2>&1 &
talker=$!
sleep 0.05
for _ in 1 2 3 4 5; do
	phc_ctl rt1 adj 0.0005 >/dev/null 2>&1
	sleep 0.01
done
wait "$talker"
stale=$(counter rt1 verdict_sent_stale)
[ "$stale" -gt 0 ] && ok "some did: $stale" || not_ok "some did: $(tail -n 3 /tmp/said)"
wanted=none
[ ! "$COUNTS" ] || wanted="window_drops=0 tx_overruns=$stale"
is "$(taprio_limits rt1 counters)" "$wanted" "the device counted as many"
is "$(identity rt1)" 0 "every frame is accounted for"
done_testing
