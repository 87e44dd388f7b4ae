# SPDX-License-Identifier: GPL-2.0-only
# Example 3 of the KeepON paper's artifact appendix with its switch: sender, tc, ptp4l and phc2sys
# commands as printed; the switch is this kernel's bridge, of whose ports the second has the
# published schedule ("sgs 40000 0x20", "sgs 40000 0x03", cycle 1/1000 s, base 0.0). The first one is
# a keepon link, which takes off what follows a message of PTP in its slot. $PORT, the second one:
# ordinary, keepon. $GATES: none, or flags of taprio. What left it is in /out/switch.wire.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6

# ---- the station, on sim0
wire
run "no slot_masks" ip link add link sim0 name eth0 type keepon receive all slot_bytes 1230 partition 32
ip link set eth0 up

# ---- the switch, in namespace b: its first port is on sim1, its second one on sim2
run "a first port" ip -n b link add link sim1 name sw0p1 type keepon receive all slot_bytes 1230 partition 100
ip -n b link set sw0p1 up
[ "$PORT" = ordinary ] && mode="ordinary queues=8" || mode=ring
echo "nic sim2 seed=3 phc=sim1 mode=$mode" >$control
echo "nic sim3 ppb=10000 seed=4 mode=ordinary" >$control
echo "link sim2 sim3" >$control
ip link set sim2 netns b
ip netns add far
ip link set sim3 netns far
ip -n far link set sim3 up
ip -n b link set sim2 up
port=sim2
if [ "$PORT" = keepon ]; then
	port=sw0p2
	run "a second port of slots" ip -n b link add link sim2 name $port type keepon receive all \
		slot_bytes 1230 partition 100 trim_down 1
	ip -n b link set $port up
fi
wait_until 2 is_running eth0
wait_until 2 in_b is_running sw0p1
wait_until 2 in_b is_running $port
# A frame with a priority tag keeps its priority and loses the tag, which leaves room for what it is
# padded with.
ip -n b link add sw0 type bridge mcast_snooping 0
ip -n b link add link sw0p1 name sw0p1.0 type vlan id 0 ingress-qos-map 5:5
for end in sw0p1.0 $port; do
	ip -n b link set $end master sw0 up
done
ip -n b link set sw0 up

# ---- clocks: the switch is the master
settings /tmp/switch.cfg "utc_offset 0
uds_address /tmp/switch
priority1 100"
settings /tmp/gptp.cfg "utc_offset 0
uds_address /tmp/station"
in_b ptp4l -f /tmp/switch.cfg -i sw0p1 -m >/out/switch.log 2>&1 &
ptp4l -i eth0 -f /tmp/gptp.cfg -m -P >/out/station.log 2>&1 &
run "the clocks meet" wait_until 30 grep -q "UNCALIBRATED to SLAVE" /out/station.log
phc2sys -s eth0 -O 0 -m >/out/phc2sys.txt 2>&1 &
[ "$PORT" = ordinary ] || in_b phc2sys -s sw0p1 -c $port -O 0 -m >/out/port.txt 2>&1 &

# ---- as printed
run "the mqprio of Example 3" tc qdisc add dev eth0 root handle 1: mqprio num_tc 2 \
	map 1 1 1 1 1 1 1 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
run "the etf of Example 3" tc qdisc replace dev eth0 parent 1:1 etf clockid CLOCK_TAI delta 150000
if [ "$GATES" != none ]; then
	clock="clockid CLOCK_TAI"
	[ "$GATES" = 0x0 ] || clock="flags $GATES"
	# shellcheck disable=SC2086 # words
	run "the switch's schedule" ip netns exec b tc qdisc replace dev $port parent root \
		handle 100: taprio num_tc 6 map 0 1 2 3 4 5 queues 1@0 1@1 1@2 1@3 1@4 1@5 \
		base-time 0 cycle-time 1000000 \
		sched-entry S 20 40000 sched-entry S 03 960000 $clock
fi
sleep 12
echo "capture sim2 on records=20000" >$control
# One late receive stamp moves the station's clock by more than these 200 us leave: such frames are
# refused as late, and the sender's exit code tells. The test counts them.
keepon-talk eth0 --stream example3 --cyclic 1000000 200000 100 8 0 5 0 \
	--count 400 --json /out/talk.json >/out/talk.txt 2>&1 || diag "$(cat /out/talk.txt)"
cat /sys/kernel/debug/keepon_hwsim/sim2/wire >/out/switch.wire
echo "capture sim2 off" >$control
is "$(identity eth0)" 0 "every frame is accounted for"
diag "$(ethtool -S eth0 | grep 'verdict_.*[1-9]')"
diag "$(in_b ethtool -S $port | grep 'verdict_.*[1-9]\|pending\|lock_seq\|head_seq')"
diag "$(tail -n 3 /out/station.log)"
diag "$(tail -n 3 /out/switch.log)"
done_testing
