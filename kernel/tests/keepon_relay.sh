# SPDX-License-Identifier: GPL-2.0-only
# A guest's txtimes reach the wire: namespace g stands for the guest, the veth tap0 for its tap. Its program sets SO_TXTIME as on any
# card, a BPF program in it carries the time in a tag, keepon-relay sends at it. /out: what the program sent, the wire.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 1000000000
upper slot_bytes 1230 partition 20 class 1 slots 0,10 class 0 slots rest
far_upper slot_bytes 1230
run "it runs" wait_until 3 is_running rt0
tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
ip netns add g
ip link add tap0 type veth peer name eth0 netns g
ip link set tap0 up
ip -n g addr add 10.9.0.1/24 dev eth0
ip -n g link set eth0 up
ip -n g neigh add 10.9.0.2 lladdr "$(in_b cat /sys/class/net/sim1/address)" dev eth0
run "tags" ip netns exec g tc qdisc replace dev eth0 clsact
run "by BPF" ip netns exec g tc filter replace dev eth0 egress bpf direct-action object-file /lib/keepon/txtime_tag.bpf.o section tag
run "none go on" tc qdisc replace dev tap0 clsact
run "by themselves" tc filter replace dev tap0 ingress protocol 0x88b6 flower action drop
keepon-relay tap0 rt0 --stamps >/tmp/relay.text 2>&1 &
relay=$!
ip netns exec g tcpdump -i eth0 -Z root -Q in -U -w /out/reports.pcap ether proto 0x88b6 2>/dev/null &
sleep 0.5
echo "capture sim0 on records=400000" >$control
talk() {
	ip netns exec g keepon-talk eth0 --udp 10.9.0.2:7 --period 1ms --offset 64 --advance 5ms --priority 8 --json "$@"
}
talk /out/talk.json --count 200 --size 200 >/dev/null
talk /tmp/late.json --stream late --count 20 --size 200 --delay 7=5500us >/dev/null
talk /tmp/long.json --stream long --count 10 --size 1518 >/dev/null
sleep 0.2
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
echo "capture sim0 off" >$control
ip netns exec g ping -c 1 -W 1 10.9.0.2 >/dev/null # has no txtime and no tag: it ends at the tap
kill -INT $relay
wait $relay
is $? 1 "one was missed"
cp /tmp/relay.text /out/relay.text
is "$(counter rt0 verdict_on_time)" 219 "all others in their slots"
is "$(identity rt0)" 0 "every frame is accounted for"
done_testing
