# SPDX-License-Identifier: GPL-2.0-only
# A link with backend generic on the ordinary driver of a simulated NIC, which stays the machine's: all that is sent on the card
# goes through the link, so nothing of others is between its slots. Then what does not pass the card's egress. Needs iperf3,
# keepon-talk.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
# frames are counted, and it sends some by itself
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim
modprobe keepon
modprobe keepon_generic
ip netns add b
echo "nic sim0 mode=ordinary rate_bps=100000000 ppb=20000 seed=1" >$control
echo "nic sim1 mode=ordinary rate_bps=100000000 ppb=-30000 seed=2" >$control
echo "link sim0 sim1 propagation_ns=50" >$control
ip link set sim1 netns b
ip -n b link set sim1 up
ip -n b addr add 10.0.0.2/24 dev sim1
ip link set sim0 up
ip addr add 10.0.0.1/24 dev sim0
chrt -f -p 50 "$(pidof ksoftirqd/0)"
run "a shorter MTU of the card" ip link set sim0 mtu 1300
run "a link" ip link add link sim0 name rt0 type keepon backend generic slot_bytes 1230 txtime tai \
	partition 10 class 1 slots 0 late relaxed class 0 slots rest late reschedule
ip link set rt0 up
run "it runs" wait_until 3 is_running rt0
run "the MTU as it was, behind the link" ip link set sim0 mtu 1500
run "it runs again" wait_until 3 is_running rt0
run "two classes" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 \
	map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
ping -c 1 -W 1 10.0.0.2 >/dev/null
before=$(counter rt0 submitted)
like "$(ping -q -c 20 -i 0.01 -s 1472 10.0.0.2)" " 20 packets received" "echoes"
is "$(($(counter rt0 submitted) - before))" 20 "by the link"
before=$(counter rt0 submitted)
keepon-talk sim0 --no-txtime --period 1ms --count 20 --priority 8 --size 100 >/dev/null 2>&1
sleep 0.1
is "$(($(counter rt0 submitted) - before)) $(counter rt0 verdict_not_allowed)" "20 0" "a priority is none"
keepon-talk sim0 --period 2ms --advance 40ms --count 50 --priority 8 --size 100 --json /tmp/talk.json >/dev/null 2>&1
sleep 0.1
is "$(($(counter rt0 verdict_on_time) + $(counter rt0 verdict_moved)))" 50 "txtimes" || diag "$(ethtool -S rt0 | grep -v ': 0$')"
keepon-talk sim0 --clock monotonic --period 1ms --advance 2ms --count 20 >/dev/null 2>&1
is "$(counter rt0 verdict_invalid)" 0 "times of another clock are best effort"
is "$(counter rt0 foreign_frames) $(counter rt0 losses)" "0 0" "no frame of others is between the slots"
in_b iperf3 -s >/tmp/server.txt 2>&1 &
server=$!
sleep 0.2
like "$(iperf3 -c 10.0.0.2 -t 1)" "receiver" "TCP"
like "$(iperf3 -c 10.0.0.2 -R -t 1)" "receiver" "and the other way"
kill $server
# Where the emulated CPU is late the ring is lost, and the card goes its own way until it runs again.
run "nor under load, but without a ring" [ "$(counter rt0 foreign_frames)" -eq 0 -o "$(counter rt0 losses)" -gt 0 ]
is "$(counter rt0 underruns)" 0 "the wire stayed full"
is "$(identity rt0)" 0 "every frame is accounted for"
run "down" ip link set rt0 down
before=$(counter rt0 submitted)
like "$(ping -q -c 5 -i 0.01 10.0.0.2)" " 5 packets received" "the card's own way"
is "$(counter rt0 submitted)" "$before" "not the link's"
run "gone" ip link del rt0
like "$(ping -q -c 5 -i 0.01 10.0.0.2)" " 5 packets received" "and without a link"
rmmod keepon_generic
done_testing
