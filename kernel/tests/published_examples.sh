# SPDX-License-Identifier: GPL-2.0-only
# The examples of the KeepON paper's artifact appendix, the switch of Example 3 left out: tc and
# sender commands as printed there, module parameters as options of `ip link`. $WIRE: hwsim, whose
# record of what left is in /out/NAME.wire, or pi, the Ethernet of an emulated Raspberry Pi 4, whose
# model has it. test_published_examples*.py measure it; streams are known by the name.
# $PACING: "mode paper batch 8 depth 8", or Keepon's own mode, which posts further ahead than a
# batch. $EXAMPLES=1: the first example alone.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
is_up() {
	ip link show "$1" | grep -q 'state UP'
}
case $WIRE in
hwsim)
	lower=sim0
	modprobe keepon_hwsim && modprobe keepon || exit 1
	control=/sys/kernel/debug/keepon_hwsim/control
	echo "nic sim0 ppb=0" >$control && echo "nic sim1 ppb=0 mode=ordinary" >$control &&
		echo "link sim0 sim1" >$control || exit 1
	ip netns add far
	ip link set sim1 netns far
	ip -n far link set sim1 up
	ip link set sim0 up
	record() {
		echo "capture sim0 on records=20000" >$control
	}
	keep_record() {
		cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/$name.wire"
		echo "capture sim0 off" >$control
	}
	;;
pi)
	lower=lower0
	device=fd580000.ethernet
	modprobe keepon_genet prefetch=4 && modprobe keepon || exit 1
	echo keepon_genet >"/sys/bus/platform/devices/$device/driver_override"
	echo $device >/sys/bus/platform/drivers_probe
	ip link set dev eth0 name $lower
	ip link set $lower up
	wait_until 5 is_up $lower || exit 1
	record() {
		:
	}
	keep_record() {
		:
	}
	;;
esac

# slot_masks=A,B,... pkt_size=1230 of a ring of 32 slots
eth0() {
	ip link add link $lower name eth0 type keepon receive all $PACING slot_bytes 1230 ring "$RING" \
		partition 32 "$@" &&
		ip link set eth0 up && wait_until 2 is_up eth0
	phc2sys -s eth0 -O 0 -m >/out/phc2sys.txt 2>&1 &
	servo=$!
	sleep 3
}
gone() {
	kill "$servo"
	wait "$servo"
	ip link del eth0
}
# cyclic ARGUMENTS ...: the published sender's, 400 frames
cyclic() {
	record
	keepon-talk eth0 --stream "$name" --cyclic "$@" --count 400 --json "/out/$name.json" \
		>"/out/$name.txt" 2>&1
	keep_record
	is "$(ethtool -S eth0 | awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 }
		/ pending:/ { p = $2 } END { print s - v - p }')" 0 "$name: every frame is accounted for"
}

# ---- Example 1: all slots to tc-0
eth0 class 0 slots all
run "the mqprio of Example 1" tc qdisc add dev eth0 root handle 1: mqprio num_tc 2 \
	map 1 1 1 1 1 1 1 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
run "the etf of Example 1" tc qdisc replace dev eth0 parent 1:1 etf clockid CLOCK_TAI delta 150000
name=example1
cyclic 100000 200000 100
gone

[ "$EXAMPLES" = 1 ] && done_testing && exit

# ---- Example 2: slot_masks=0x01,0x20002, the rest to tc-2; in relaxed mode, as its printed periods need, and strict
for late in relaxed strict; do
	eth0 class 0 slots 0 late $late class 1 slots 1,17 late $late class 2 slots rest late reschedule
	run "the mqprio of Example 2, $late" tc qdisc add dev eth0 root handle 1: mqprio num_tc 3 \
		map 2 2 2 2 2 2 2 0 0 0 0 1 1 1 1 queues 1@0 1@1 1@2 hw 0
	run "the etf of tc-0, $late" tc qdisc replace dev eth0 parent 1:1 etf clockid CLOCK_TAI delta 150000
	run "the etf of tc-1, $late" tc qdisc replace dev eth0 parent 1:2 etf clockid CLOCK_TAI delta 150000
	name=example2-tc2-$late
	cyclic 100000 200000 100 0
	name=example2-tc0-$late
	cyclic 100000 200000 100 8
	name=example2-tc1-$late
	cyclic 100000 200000 100 12
	ethtool -S eth0 >/out/example2-$late.stats
	gone
done

# ---- Example 3, without the switch: no slot_masks, frames with a priority tag
eth0
run "the mqprio of Example 3" tc qdisc add dev eth0 root handle 1: mqprio num_tc 2 \
	map 1 1 1 1 1 1 1 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
run "the etf of Example 3" tc qdisc replace dev eth0 parent 1:1 etf clockid CLOCK_TAI delta 150000
name=example3
cyclic 1000000 200000 100 8 0 5 0
gone
done_testing
