# SPDX-License-Identifier: GPL-2.0-only
# The published three classes, 300, 300 and 400 us of 1 ms, at $RATE_BPS: TC0 and TC1 send a frame each cycle, a load
# ($LOAD, "tcp" or "udp") takes TC2. $WAY: "keepon", the gates offloaded to a keepon link; "launchtime", the published
# commands themselves (txtime-assist, two etf) on a NIC with launch times; "software", the same with etf's offload off;
# "prompt", that where no softirq waits for other tasks; "plain", that NIC without qdiscs, and senders that sleep until
# it is time. $FRAMES of each stream. Files in /out;
# published_ways.py runs it and reads them.
. /lib/keepon/test.sh
control=/sys/kernel/debug/keepon_hwsim/control
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim && modprobe keepon || exit 1
mode=ring
[ "$WAY" = keepon ] || mode=launchtime
ip netns add far
cat >$control <<END || exit 1
nic sim0 rate_bps=$RATE_BPS ppb=20000 seed=1 mode=$mode
nic sim1 rate_bps=$RATE_BPS ppb=-30000 seed=2 mode=ordinary
link sim0 sim1
END
ip link set sim1 netns far
ip -n far addr add 10.0.0.2/24 dev sim1
ip -n far link set sim1 up
ip link set sim0 up
device=sim0
if [ "$WAY" = keepon ]; then
	device=rt0
	ip link add link sim0 name rt0 type keepon receive all slot_bytes 1230
fi
ip addr add 10.0.0.1/24 dev $device
# the longest packet of a slot, for both
ip link set $device mtu 1192
ip -n far link set sim1 mtu 1192
ip link set $device up
wait_until 3 sh -c "ip link show $device | grep -q 'state UP'"

classes="num_tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2"
gates="base-time 0 sched-entry S 01 300000 sched-entry S 02 300000 sched-entry S 04 400000"
if [ "$WAY" = keepon ]; then
	# shellcheck disable=SC2086 # words
	run "three classes" tc qdisc replace dev rt0 parent root handle 100: taprio $classes \
		queues 1@0 1@1 1@2 $gates flags 0x2
	# what TCP repeats shall be what the device lost
	run "pfifo" tc qdisc replace dev rt0 parent 100:3 pfifo limit 10000
elif [ "$WAY" != plain ]; then
	offload=offload
	[ "$WAY" = launchtime ] || offload=
	# shellcheck disable=SC2086 # words
	run "three classes" tc qdisc replace dev sim0 parent root handle 100: taprio $classes \
		queues 1@0 1@0 1@0 $gates flags 0x1 txtime-delay 40000 clockid CLOCK_TAI
	for queue in 1 2; do
		# shellcheck disable=SC2086 # a word or none
		run "etf $queue" tc qdisc replace dev sim0 parent 100:$queue etf \
			skip_sock_check $offload delta 200000 clockid CLOCK_TAI
	done
fi
if [ "$WAY" = prompt ]; then
	ksoftirqd=$(grep -lx ksoftirqd/0 /proc/[0-9]*/comm | tr -dc 0-9)
	run "softirqs at once" chrt -f -p 50 "$ksoftirqd"
fi
phc2sys -s $device -O 0 -m >/out/phc2sys.txt 2>&1 &
sleep 3

ip netns exec far iperf3 -s -1 >/out/server.txt 2>&1 &
sleep 0.2
echo "capture sim0 on records=200000" >$control
datagrams=
# as long as the MTU lets them be, as many as the wire takes
[ "$LOAD" = tcp ] || datagrams="-u -b $RATE_BPS -l 1164"
# shellcheck disable=SC2086 # words
iperf3 -c 10.0.0.2 -t "$SECONDS_LOAD" $datagrams -J >/out/iperf3.json 2>/out/iperf3.txt &
iperf3=$!
sleep 0.3
# talk STREAM PRIORITY OFFSET: at the beginning of the window, 640 ns from the start of a slot to its reference plane
talk() {
	timing="--advance 10ms"
	[ "$WAY" != plain ] || timing="--no-txtime"
	# shellcheck disable=SC2086 # words
	keepon-talk $device --stream "$1" --period 1ms --offset "$3" $timing --count "$FRAMES" \
		--priority "$2" --hw-stamps --json "/out/$1.json" >"/out/$1.txt" 2>&1
}
talk tc0 3 640 &
tc0=$!
talk tc1 2 300640
echo $? >/out/tc1.code
wait "$tc0"
echo $? >/out/tc0.code
wait "$iperf3"
is $? 0 "the transfer"
ethtool -S $device >/out/after.stats
tc -s qdisc show dev $device >/out/qdisc
cat /proc/net/netstat >/out/netstat
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
done_testing
