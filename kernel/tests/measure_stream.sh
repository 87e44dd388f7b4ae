# SPDX-License-Identifier: GPL-2.0-only
# 10 000 frames of a 1 ms stream at 100 Mb/s while a TCP transfer takes every slot that is left. $WAY: "keepon", or "etf":
# the same talker and transfer, the frames released in software by etf to an ordinary NIC. Files in /out; test_measured.py judges.
. /lib/keepon/test.sh
control=/sys/kernel/debug/keepon_hwsim/control
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim && modprobe keepon || exit 1
mode=ring
[ "$WAY" = etf ] && mode=ordinary
ip netns add far
cat >$control <<EOF || exit 1
nic sim0 rate_bps=100000000 ppb=20000 seed=1 mode=$mode
nic sim1 rate_bps=100000000 ppb=-30000 seed=2 mode=ordinary
link sim0 sim1
EOF
ip link set sim1 netns far
ip -n far addr add 10.0.0.2/24 dev sim1
ip -n far link set sim1 up
ip link set sim0 up

stream_map="0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1"
device=sim0
if [ "$WAY" = keepon ]; then
	device=rt0
	# 1230 bytes take 100 us: one slot of ten is the stream's, nine are best effort's
	ip link add link sim0 name rt0 type keepon receive all slot_bytes 1230 partition 10 \
		class 1 slots 0 late strict class 0 slots rest late reschedule
fi
ip addr add 10.0.0.1/24 dev $device
# the same segments for both ways, so that the load is the same: the longest IP packet of a slot
ip link set $device mtu 1192
ip -n far link set sim1 mtu 1192
ip link set $device up
wait_until 3 sh -c "ip link show $device | grep -q 'state UP'"
run "mqprio" tc qdisc replace dev $device root handle 100: mqprio num_tc 2 map $stream_map queues 1@0 1@1 hw 0
# fq_codel, the default, would drop to tell TCP that its queue is long; here every repeated segment shall be one the device lost
run "pfifo" tc qdisc replace dev $device parent 100:1 pfifo limit 10000
if [ "$WAY" = etf ]; then
	run "etf" tc qdisc replace dev $device parent 100:2 etf clockid CLOCK_TAI delta "$DELTA_NS"
fi
phc2sys -s $device -O 0 -m >/out/phc2sys.txt 2>&1 &
sleep 3

ip netns exec far iperf3 -s -1 >/out/server.txt 2>&1 &
sleep 0.2
ethtool -S $device >/out/before.stats
echo "capture sim0 on records=200000" >$control
if [ "$LOAD" = tcp ]; then
	iperf3 -c 10.0.0.2 -t "$SECONDS_TCP" -J >/out/iperf3.json 2>/out/iperf3.txt &
	iperf3=$!
	sleep 0.3
fi
# 640 ns: from the start of a slot to its first bit after the SFD
keepon-talk $device --period 1ms --offset 640 --advance 10ms --count "$FRAMES" --priority 8 --hw-stamps \
	--json /out/talk.json >/out/talk.txt 2>&1
echo $? >/out/talk.code
if [ "$LOAD" = tcp ]; then
	wait "$iperf3"
	is $? 0 "the transfer"
fi
ethtool -S $device >/out/after.stats
ethtool -S sim0 >/out/sim0.stats
ip netns exec far ethtool -S sim1 >/out/sim1.stats
awk '/^Tcp:/ { if (!n) { n = split($0, name) } else { for (i = 2; i <= n; i++) print name[i] ":", $i } }' /proc/net/snmp >/out/tcp.stats
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
done_testing
