# SPDX-License-Identifier: GPL-2.0-only
# What happens to a running link: traffic, clock, link events, moves to other namespaces, deletion under traffic.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
far_upper
upper
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
# answered TEXT COUNT [PREFIX]: pings; with virtual time each is answered. In the host's time a CPU may be held up for longer than
# anything waits: then one of them is, in the end.
answered() {
	if [ "$KEEPON_MODE" = smp ]; then
		# shellcheck disable=SC2086 # a command
		run "$1" awaited 6 $3 ping -c 1 -W 1 10.0.0.2
	else
		like "$($3 ping -c "$2" -i 0.1 10.0.0.2)" " $2 packets received" "$1"
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

has_no_carrier() { ip link show "$1" | grep -q NO-CARRIER; }

# frames as fast as they are answered, whatever happens to the link
traffic() {
	while :; do
		ping -q -A -w 1 -s 1000 10.0.0.2 >/dev/null 2>&1
		sleep 0.01
	done
}

# The PHC over down and up: goes on, with its rate. What it is ahead of the system's clock is known to what passes while it is
# read or set; however long that takes, it stays the same within 20 ms.
now_ms() { echo $(($(now_ns) / 1000000)); }
clock_ms() { phc_ctl rt0 get 2>&1 | sed -n 's/.*clock time is \([0-9]*\)\.\([0-9]\{3\}\).*/\1\2/p'; }
goes_on() {
	_before=$(now_ms)
	_clock=$(clock_ms)
	_low=$((_clock - $(now_ms)))
	_high=$((_clock - _before))
	if [ -n "$_clock" ] && [ $_low -le $((high + 20)) ] && [ $_high -ge $((low - 20)) ]; then
		ok "$1"
	else
		not_ok "$1: ahead by $_low to $_high ms, before by $low to $high ms"
	fi
}
before=$(now_ms)
phc_ctl rt0 set 1000000000 freq 5000 >/dev/null 2>&1
low=$((1000000000000 - $(now_ms)))
high=$((1000000000000 - before))
goes_on "PHC set"
ip link set rt0 down
sleep 2
goes_on "it goes on while down"
ip link set rt0 up
wait_until 2 is_running rt0
goes_on "and up again"
like "$(phc_ctl rt0 freq 2>&1)" "5000.0000" "with its rate"
# 700000 ppb are 1.75 bytes of two slots of 1250. A drift of as much keeps two bytes for trims, 200000 ppb one: 1 / 2501 is 399840 ppb.
ip link set rt0 type keepon drift_ppb 700000
run "a rate that its trims follow" phc_ctl rt0 -- freq -700000
ip link set rt0 type keepon drift_ppb 200000
like "$(dmesg | tail -5)" "trims follow; it is -3998[0-9]{2} ppb now" "is cut, with its sign, to what others follow"
phc_ctl rt0 freq 5000 >/dev/null 2>&1
wait_until 2 is_running rt0

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
run "lower down: no carrier" wait_until 3 has_no_carrier rt0
ip link set sim0 up
run "lower up: it runs again" wait_until 3 is_running rt0
run "lower MTU" ip link set sim0 mtu 1400
answered "and frames go on" 1
refuse "an MTU beyond the longest frame" ip link set rt0 mtu 1505
ip link set rt0 address 02:00:00:00:00:77
like "$(ip link show sim0)" "02:00:00:00:00:77" "one station, one address"
echo "unlink sim0" >$control
run "cable out" wait_until 3 sh -c '! ip link show rt0 | grep -q "state UP"'
echo "link sim0 sim1" >$control
run "cable in" wait_until 3 is_running rt0

ip netns add c
run "lower device to another namespace" ip link set sim0 netns c
run "it is down there" wait_until 3 has_no_carrier rt0
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
