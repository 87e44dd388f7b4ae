# SPDX-License-Identifier: GPL-2.0-only
# $COUNT frames of random lengths, $LEAST bytes of payload at least, over slots of $SLOT_BYTES at $RATE_BPS from a NIC with $NIC, in $SLOTS
# of them at most, to a card that knows of none; while polls come up to 2 ms late if $STORM is set. test_long_frames.py judges what is in /out.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire "$RATE_BPS" "$NIC"
upper slot_bytes "$SLOT_BYTES"
wait_until 3 is_running rt0
is "$(cat /sys/class/net/rt0/mtu) $(counter rt0 frame_slots_max)" "1500 $SLOTS" "MTU 1500 in $SLOTS slots"
ip netns exec b random_frames receive sim1 "$COUNT" "$LEAST" >/out/received.txt &
receiver=$!
wait_until 2 grep -q ready /out/received.txt
random_frames send rt0 "$COUNT" "$LEAST" &
sender=$!
late_ns=100000
while [ "$STORM" ] && kill -0 $sender 2>/dev/null; do
	late_ns=$((late_ns * 7 % 2000003))
	echo $late_ns >/sys/kernel/debug/keepon/rt0/stall_ns
	sleep 0.01
done
wait $sender
is $? 0 "all are sent"
wait $receiver
is $? 0 "the far end has listened"
is "$(identity rt0)" 0 "every frame is accounted for"
ethtool -S rt0 >/out/rt0.stats
ip link set rt0 down
sleep 0.1
ethtool -S sim0 >/out/sim0.stats
in_b ethtool -S sim1 >/out/sim1.stats
done_testing
