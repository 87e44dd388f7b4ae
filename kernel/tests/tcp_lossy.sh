# SPDX-License-Identifier: GPL-2.0-only
# Linux's own TCP over a lossy, delaying bottleneck: a - near - far - b, each a namespace. near has the queue of
# $QUEUE frames and the rate $RATE_BPS, counted as on a wire (24 bytes a frame beside what Linux counts: FCS,
# preamble, gap); far has the delay, half of $RTT_US each way, and the loss, each way. One iperf3 for each of
# $CONTROLS and each of $RUNS, words PERCENT:SECONDS; its report and the counters of the sender in /out.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
for ns in a near far b; do
	ip netns add $ns
	ip -n $ns link set lo up
	ip netns exec $ns sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
done
# join NS ADDRESS NS ADDRESS NUMBER
join() {
	ip link add "v$5l" netns "$1" type veth peer name "v$5r" netns "$3"
	for end in "$1 v$5l $2" "$3 v$5r $4"; do
		# shellcheck disable=SC2086 # words
		set -- $end
		# a frame is a segment everywhere, as it is on a wire
		ip -n "$1" link set "$2" gso_max_segs 1 up
		ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null 2>&1
		ip -n "$1" addr add "$3/24" dev "$2"
	done
}
join a 10.0.1.1 near 10.0.1.2 1
join near 10.0.2.1 far 10.0.2.2 2
join far 10.0.3.1 b 10.0.3.2 3
ip -n a route add default via 10.0.1.2
ip -n near route add 10.0.3.0/24 via 10.0.2.2
ip -n far route add 10.0.1.0/24 via 10.0.2.1
ip -n b route add default via 10.0.3.1
# what one connection has learnt is not for the next
for ns in a b; do
	ip netns exec $ns sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
done
half_us=$((RTT_US / 2))
run "the queue" ip netns exec near tc qdisc add dev v2l root netem limit "$QUEUE" rate "$RATE_BPS"bit 24
for control in $CONTROLS; do
	for one in $RUNS; do
		loss=${one%:*}
		seconds=${one#*:}
		run "$control $loss data" ip netns exec far tc qdisc replace dev v3l root netem \
			limit 100000 delay ${half_us}us loss "$loss%"
		run "$control $loss ACK" ip netns exec far tc qdisc replace dev v2r root netem \
			limit 100000 delay ${half_us}us loss "$loss%" rate "$RATE_BPS"bit 24
		name=$control-$loss
		ip netns exec b iperf3 -s -1 >/dev/null 2>&1 &
		server=$!
		sleep 0.2
		ip netns exec a cat /proc/net/netstat /proc/net/snmp >"/out/$name.before"
		grep '^cpu ' /proc/stat >"/out/$name.cpu"
		ip netns exec a iperf3 -c 10.0.3.2 -C "$control" -t "$seconds" -i 0.5 -J >"/out/$name.json" &
		client=$!
		sleep "$seconds"
		grep '^cpu ' /proc/stat >>"/out/$name.cpu"
		wait $client
		is $? 0 "$name"
		ip netns exec a cat /proc/net/netstat /proc/net/snmp >"/out/$name.after"
		wait $server
		ip netns exec near tc -s qdisc show dev v2l >"/out/$name.queue"
		ip netns exec far tc -s qdisc show dev v3l >>"/out/$name.queue"
	done
done
done_testing
