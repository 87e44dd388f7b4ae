# SPDX-License-Identifier: GPL-2.0-only
# clock dual, padding deferred and on demand: first, for $SECONDS_FULL s, the wire full of frames (/out/PADDING.counts: whether it ran dry, and
# the receive ring kept count), then short frames in slots that had long ones (PADDING.pcap). test_padding.py judges. Needs tcpdump,
# iperf3.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
echo "capture sim0 on device=cap0" >$control
ip link set cap0 up

far() { in_b counter rt1 "rx_ring_$1"; }
knows() { [ "$(far valid)" = 1 ]; }
# What grows: frames that left, slots, what went wrong at either end
counts() {
	echo "$(counter rt0 verdict_best_effort) $(counter rt0 slots_completed) $(counter rt0 underruns) $(counter rt0 slips)" \
		"$(in_b counter rt1 underruns) $(far stops) $(far missed)"
}

# As many frames as there are slots, for $SECONDS_FULL s
fill() {
	in_b iperf3 -s -1 >/dev/null 2>&1 &
	server=$!
	sleep 0.2
	iperf3 -u -c 10.0.0.2 -b 0 -l 530 -t "$SECONDS_FULL" >/tmp/iperf3.txt 2>&1 &
	client=$!
	# past iperf3's own beginning
	sleep 0.5
	before=$(counts)
	sleep $((SECONDS_FULL - 1))
	echo "$before $(counts)" >"/out/$padding.counts"
	wait $client $server
}

for padding in deferred on-demand; do
	# 605 bytes take 50 us
	upper clock dual padding $padding slot_bytes 605 batch 8
	far_upper clock dual padding $padding slot_bytes 605 batch 8
	like "$(options rt0)" "padding $padding" "$padding: it is so"
	wait_until 3 is_running rt0 && wait_until 3 in_b is_running rt1
	run "$padding: each knows the other's wire" wait_until 3 knows
	ping -c 1 -W 2 10.0.0.2 >/dev/null
	[ "$SECONDS_FULL" = 0 ] || fill
	is "$(identity rt0)" 0 "$padding: every frame is accounted for"

	# few enough slots that a short frame is soon where a long one was
	ip link set rt0 type keepon ring 32
	wait_until 3 is_running rt0
	tcpdump -i cap0 -n -Z root -B 16384 -s 2000 --immediate-mode -w "/out/$padding.pcap" icmp 2>/tmp/$padding.txt &
	dump=$!
	wait_until 5 grep -q 'listening on' /tmp/$padding.txt
	for bytes in 8 400 8 100; do
		ping -q -c 15 -i 0.003 -p a5 -s $bytes 10.0.0.2 >/dev/null
	done
	sleep 0.05
	kill -INT $dump
	wait $dump
	ip link del rt0
	ip -n b link del rt1
done
done_testing
