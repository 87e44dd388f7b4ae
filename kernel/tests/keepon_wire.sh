# SPDX-License-Identifier: GPL-2.0-only
# What happens to a running link: traffic, clock, link events, moves to other namespaces, deletion under traffic.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
far_upper
upper
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
unsent() {
	# frames of which the counters do not say that they were sent, at both ends
	{
		$1 ethtool -S rt0
		in_b ethtool -S rt1
	} | awk '/ verdict_(on_time|moved|best_effort|sent_stale):/ { next } / verdict_/ { v += $2 } END { print v + 0 }'
}
# answered TEXT COUNT [PREFIX]: pings; with virtual time each is answered. In the host's time a CPU may be held up long enough to
# miss a slot; then the loss is one the counters own up to.
answered() {
	_before=$(unsent "$3")
	_said=$($3 ping -c "$2" -i 0.1 10.0.0.2)
	_got=$(echo "$_said" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')
	_excused=0
	[ "$KEEPON_MODE" = smp ] && _excused=$(($(unsent "$3") - _before))
	if [ $((${_got:-0} + _excused)) -ge "$2" ]; then
		ok "$1"
	else
		not_ok "$1"
		diag "$_said"
		diag "not called sent: $_excused"
	fi
}

answered "frames both ways" 3
[ "$KEEPON_MODE" = smp ] || is "$(counter rt0 underruns)$(counter rt0 slips)$(counter rt0 doubts)" 000 "the wire stayed full"
capabilities=$(ethtool -T rt0)
for capability in hardware-transmit software-transmit hardware-receive software-receive software-system-clock hardware-raw-clock; do
	like "$capabilities" "$capability" "ethtool -T: $capability"
done
like "$(phc rt0)" "^[0-9]+$" "a PHC"
like "$(ethtool rt0)" "Speed: 100Mb/s" "link settings of the lower device"

# frames as fast as they are answered, whatever happens to the link
traffic() {
	while :; do
		ping -q -A -w 1 -s 1000 10.0.0.2 >/dev/null 2>&1
		sleep 0.01
	done
}

# The PHC over down and up: goes on, with its rate.
clock_s() { phc_ctl rt0 get 2>&1 | sed -n 's/.*clock time is \([0-9]*\)\..*/\1/p'; }
phc_ctl rt0 set 1000000000 freq 5000 >/dev/null 2>&1
first=$(clock_s)
[ "$first" -ge 1000000000 ] && [ "$first" -le 1000000001 ] && ok "PHC set" || not_ok "PHC set: $first"
ip link set rt0 down
sleep 2
second=$(clock_s)
[ $((second - first)) -ge 1 ] && [ $((second - first)) -le 3 ] && ok "it goes on while down" || not_ok "while down: $second"
ip link set rt0 up
wait_until 2 is_running rt0
third=$(clock_s)
[ $((third - second)) -le 1 ] && [ "$third" -ge "$second" ] && ok "and up again" || not_ok "up again: $third"
like "$(phc_ctl rt0 freq 2>&1)" "5000.0000" "with its rate"

# Queueing disciplines
run "mqprio hw 0" tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 \
	map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
run "etf" tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 500000
tc qdisc del dev rt0 root
run "mqprio hw 1" tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 \
	map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 1
run "etf offload" tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 500000 offload
tc qdisc del dev rt0 root
run "taprio" tc qdisc add dev rt0 parent root handle 200 taprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
	queues 1@0 base-time 0 sched-entry S 01 300000 flags 0x2
tc qdisc del dev rt0 root

# The lower device
ip link set sim0 down
like "$(ip link show rt0)" "NO-CARRIER" "lower down: no carrier"
ip link set sim0 up
run "lower up: it runs again" wait_until 3 is_running rt0
run "lower MTU" ip link set sim0 mtu 1400
answered "and frames go on" 1
refuse "an MTU beyond the slot" ip link set rt0 mtu 1300
ip link set rt0 address 02:00:00:00:00:77
like "$(ip link show sim0)" "02:00:00:00:00:77" "one station, one address"
echo "unlink sim0" >$control
run "cable out" wait_until 3 sh -c '! ip link show rt0 | grep -q "state UP"'
echo "link sim0 sim1" >$control
run "cable in" wait_until 3 is_running rt0

ip netns add c
run "lower device to another namespace" ip link set sim0 netns c
like "$(ip link show rt0)" "NO-CARRIER" "it is down there"
ip -n c link set sim0 up
run "and serves from there" wait_until 3 is_running rt0
run "upper device to another namespace" ip link set rt0 netns c
ip -n c link set rt0 up
ip -n c addr add 10.0.0.1/24 dev rt0
wait_until 3 ip netns exec c sh -c 'ip link show rt0 | grep -q "state UP"'
answered "frames from there" 2 "ip netns exec c"
ip -n c link set sim0 netns 1
ip link set sim0 up
ip netns del c
is "$(ip link show type keepon)" "" "a namespace takes its devices along"

# Under traffic
upper
wait_until 3 is_running rt0
traffic &
traffic=$!
sleep 0.3
run "change under traffic" ip link set rt0 type keepon batch 12
sleep 0.1
is "$(identity rt0)" 0 "every frame is accounted for"
for round in 1 2 3 4 5; do
	ip link set rt0 down
	ip link set rt0 up
	sleep 0.05
done
is "$(identity rt0)" 0 "also over five times down and up"
run "delete under traffic" ip link del rt0
kill $traffic
upper
wait_until 3 is_running rt0
traffic &
traffic=$!
sleep 0.2
run "lower device deleted under traffic" sh -c "echo delete sim0 >$control"
is "$(ip link show type keepon)" "" "its upper device is gone, too"
kill $traffic
in_b ip link del rt1
run "keepon unloads" rmmod keepon
run "so does hwsim" rmmod keepon_hwsim
done_testing
