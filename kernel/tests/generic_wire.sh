# SPDX-License-Identifier: GPL-2.0-only
# A link with backend generic on the ordinary driver of a simulated NIC: echoes, and a stream that
# the host judges by the wire's record. FRAMES of a 2 ms stream.
. /lib/keepon/test.sh
. /lib/keepon/common.sh

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
modprobe keepon_hwsim
modprobe keepon
ip netns add b
echo "nic sim0 mode=ordinary rate_bps=100000000 ppb=20000 seed=1" > $control
echo "nic sim1 mode=ordinary rate_bps=100000000 ppb=-30000 seed=2" > $control
echo "link sim0 sim1 propagation_ns=50" > $control
ip link set sim1 netns b
ip -n b link set sim1 up
ip -n b addr add 10.0.0.2/24 dev sim1
ip link set sim0 up
# As docs/nics.md says: ksoftirqd waits for no program, and what holds interrupts up - loading
# modules, clearing memory - is done before the wire runs.
chrt -f -p 50 "$(pidof ksoftirqd/0)"
modprobe -a sch_mqprio sch_ingress dummy cls_matchall act_mirred
echo "capture sim0 on records=100000" > $control
run "keepon_generic loads" modprobe keepon_generic
run "a link" ip link add link sim0 name rt0 type keepon receive all backend generic slot_bytes 1230 \
	partition 10 class 1 slots 0 late strict class 0 slots rest late reschedule
ip addr add 10.0.0.1/24 dev rt0
ip link set rt0 up
run "it runs" wait_until 3 is_running rt0
run "two classes" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 \
	map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
sleep 0.5
ethtool -S rt0 > /out/before.txt
phc2sys -s rt0 -O 0 -m > /out/phc2sys.txt 2>&1 &
sleep 2.5
ptp_probe compare "$(phc sim0)" "$(phc rt0)" 50 10000 > /out/offsets.txt &
ping -q -c 20 -i 0.02 -s 18 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p' \
	> /out/echoes.txt &
run "the talker" keepon-talk rt0 --period 2ms --offset 64 --advance 40ms --count "$FRAMES" \
	--priority 8 --size 100 --json /out/talk.json || diag "$(ethtool -S rt0 | grep -v ': 0$')"
sleep 0.2
cat /sys/kernel/debug/keepon_hwsim/sim0/wire > /out/wire.txt
is "$(cat /out/echoes.txt)" 20 "echoes come back in the slots between"
ethtool -S rt0 > /out/counters.txt
refuse "no stamps are claimed" sh -c "ethtool -T rt0 | grep -q hardware-transmit"
like "$(options rt0)" "placeholder bad-fcs .* backend generic force off" "what it is"
# longer than a slot, tagged and not
is "$(cat /sys/class/net/rt0/mtu) $(counter rt0 frame_slots_max)" "1500 2" "the MTU of the device below"
like "$(ping -q -c 20 -i 0.02 -s 1472 10.0.0.2)" " 20 packets received" "its longest frames are answered"
is "$(counter rt0 verdict_oversize) $(counter rt0 underruns)" "0 0" "in slots of the wire"
# What tc redirects to the device below passes by the link; byte queue limits would hold it back while
# the driver is kept full.
for limit in /sys/class/net/sim0/queues/tx-*/byte_queue_limits/limit_min; do
	echo 1000000 > "$limit"
done
ip link add dum0 type dummy
ip link set dum0 up
run "a redirection" tc qdisc add dev dum0 clsact
run "to the device below" tc filter add dev dum0 egress matchall action mirred egress redirect dev sim0
keepon-talk dum0 --no-txtime --period 50ms --count 3 > /tmp/redirected.txt 2>&1
is $? 0 "frames of others" || diag "$(cat /tmp/redirected.txt)"
ethtool -S rt0 > /out/foreign.txt
# Other placeholders, for drivers that cannot send a bad FCS
sent() {
	tail -20 /sys/kernel/debug/keepon_hwsim/sim0/wire |
		grep -c "bytes=12[0-9]* .*verdict=good head=$1"
}
run "MAC control" ip link set rt0 type keepon placeholder mac-control
sleep 0.2
is "$(sent 0180c2000001............88087fff0000)" 20 "they are on the wire"
run "reserved address" ip link set rt0 type keepon placeholder reserved-address
sleep 0.2
is "$(sent 0180c200000f............88b500000000)" 20 "they are on the wire"
# A frame of several slots is one packet: nothing behind it is as short as a placeholder can be.
run "shorter slots" ip link set rt0 type keepon placeholder bad-fcs slot_bytes 330
run "it runs" wait_until 3 is_running rt0
is "$(counter rt0 frame_slots_max)" 5 "slots of a longest frame"
like "$(ping -q -c 20 -i 0.002 -s 1472 10.0.0.2)" " 20 packets received" "its longest frames are answered"
is "$(counter rt0 verdict_oversize) $(counter rt0 underruns) $(counter rt0 slips)" "0 0 0" "in slots of the wire"
run "down" ip link set rt0 down
# such short slots are recorded faster than they are read
is "$(awk '/bytes=1518 .*verdict=good/ { long++ } /bytes=64 .*verdict=bad/ { short++ }
	END { print long + 0, short + 0 }' /sys/kernel/debug/keepon_hwsim/sim0/wire)" "20 0" "they are on the wire"
run "gone" ip link del rt0
run "unloads" rmmod keepon_generic
dmesg > /out/dmesg.txt
done_testing
