# SPDX-License-Identifier: GPL-2.0-only
# A card with a link on it, which stays the machine's: addresses, routes, sockets and what is stacked on it are on sim0, and its
# frames leave in rt0's slots; the same at the other end. /out: a stream of txtimes sent on the card beside TCP, what TCP made of
# it, the wire. test_card.py judges. Needs iperf3, ptp4l, keepon-talk, txtime_sender.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
wire 100000000
ip addr add 10.0.0.1/24 dev sim0
ip -n b addr add 10.0.0.2/24 dev sim1
echoes() {
	like "$(${4:-} ping -q -c 20 -i 0.01 -s "$2" "$1")" " 20 packets received" "$3"
}
# state: addresses, routes and groups of the machine, but for the line of rt0 itself, and what counts or runs
state() {
	ip addr show | awk '/^[0-9]+:/ { link = $2 ~ /^rt0/ } !link' | sed 's/^[0-9]*://'
	ip route show table all
	ip -6 route show table all
	ip maddr show | awk '/^[0-9]+:/ { link = $2 ~ /^rt0/ } !link' | sed 's/^[0-9]*://'
}
sends() { # sends BYTES: of sim0 so far, by the card's own counters
	cat "/sys/class/net/sim0/statistics/tx_$1"
}
sleep 3 # IPv6 has its address
echoes 10.0.0.2 56 "before there is a link"
state >/tmp/before
own=$(phc sim0)

# ---- a link of 20 slots a millisecond, the first of which is a stream's; the other end has one, too
run "a link" ip link add link sim0 name rt0 type keepon slot_bytes 605 partition 20 class 1 slots 0 class 0 slots rest
is "$_output" "" "class 0 has room for what the card sends"
run "another" ip -n b link add link sim1 name rt1 type keepon slot_bytes 605
run "up" ip link set rt0 up
ip -n b link set rt1 up
run "it runs" wait_until 3 is_running rt0
wait_until 3 in_b is_running rt1
run "mqprio" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
like "$(options rt0)" "receive card priorities off" "as chosen by default"
state | diff /tmp/before - >/tmp/differs
is "$(cat /tmp/differs)" "" "every address and route is as it was"
run "a shorter MTU of the link" ip link set rt0 mtu 1000
run "and a longer one" ip link set rt0 mtu 1500
state | diff /tmp/before - >/tmp/differs
is "$(cat /tmp/differs)" "" "change nothing"
run "an address lives on" in_b ping -q -c 1 -W 1 10.0.0.1

packets=$(sends packets) bytes=$(sends bytes)
echoes 10.0.0.2 56 "short ones"
echoes 10.0.0.2 1472 "of MTU 1500"
sleep 0.1
is "$(($(sends packets) - packets)) $(($(sends bytes) - bytes))" "40 $((20 * 605 + 20 * 1518))" "the card has counted them, as long as they were on the wire"
is "$(counter rt0 verdict_best_effort) $(cat /sys/class/net/rt0/statistics/tx_packets)" "$(($(counter rt0 submitted))) 0" "and the link did not"

# ---- txtimes on the card
talk() {
	keepon-talk sim0 --json /tmp/talk.json "$@" >/tmp/talk.text 2>&1
	result=$(tr -d '\n' </tmp/talk.json)
}
number() {
	printf '%s' "$result" | sed -n "s/.*\"$1\": *\(-\{0,1\}[0-9]*\).*/\1/p"
}
talk --period 1ms --advance 2ms --count 50 --priority 8 --hw-stamps
is "$(counter rt0 verdict_on_time) $(number stamped)" "50 50" "50 txtimes of a socket on the card: in their slots and stamped"
talk --period 1ms --advance 2ms --count 20 --delay 7=2200us --priority 8
is "$(number missed)" 1 "one that comes late is reported as missed"
invalid=$(counter rt0 verdict_invalid)
talk --clock monotonic --period 1ms --advance 2ms --count 20
is "$(counter rt0 verdict_invalid) $(number invalid)" "$invalid 0" "times of another clock are best effort"

# ---- priorities
link_classes() {
	run "classes" ip link set rt0 type keepon "$@"
	wait_until 3 is_running rt0
}
link_classes partition 20 class 0 slots 1-19 class 1 slots none
talk --no-txtime --period 1ms --count 10 --priority 8
is "$(counter rt0 verdict_not_allowed)" 0 "a priority alone chooses no class"
link_classes priorities on
talk --no-txtime --period 1ms --count 10 --priority 8
is "$(counter rt0 verdict_not_allowed)" 10 "but where priorities are on: this one has no slots"
link_classes partition 20 priorities off class 1 slots 0 class 0 slots rest

# ---- etf would drop what has no txtime
refuse "etf on class 0" tc qdisc replace dev rt0 parent 100:1 etf clockid CLOCK_TAI delta 500000 offload
like "$(dmesg | tail -3)" "rt0: etf: class 0 sends the frames of sim0, which have no txtime" "in a sentence"
run "on another class" tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 500000 offload
run "and gone" tc qdisc replace dev rt0 parent 100:2 pfifo

# ---- TCP beside a stream; every repeated segment shall be one that the device lost
run "pfifo" tc qdisc replace dev sim0 root pfifo limit 10000
run "at the other end, too" in_b tc qdisc replace dev sim1 root pfifo limit 10000
in_b iperf3 -s >/tmp/server.txt 2>&1 &
server=$!
sleep 0.2
echo "capture sim0 on records=400000" >$control
iperf3 -c 10.0.0.2 -t 2 -J >/out/iperf.json 2>/tmp/iperf.txt &
client=$!
sleep 0.3
talk --period 1ms --offset 640 --advance 10ms --count 1500 --size 80 --priority 8 --hw-stamps
cp /tmp/talk.json /out/talk-card.json
wait $client
is $? 0 "TCP on the card"
like "$(iperf3 -c 10.0.0.2 -R -t 1)" "receiver" "and the other way"
kill $server
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
echo "capture sim0 off" >$control
ethtool -S rt0 >/out/rt0.stats
is "$(identity rt0)" 0 "every frame is accounted for"

# ---- the clock
is "$(phc sim0)" "$(phc rt0)" "the card shows the clock of the link"
is "$(phc sim1 b)" "$(phc rt1 b)" "at both ends"
# meet TRANSPORT: ptp4l on the cards, until parted
meet() {
	settings /tmp/near "uds_address /tmp/near.s
network_transport $1
priority1 100"
	settings /tmp/far "uds_address /tmp/far.s
network_transport $1"
	ptp4l -H -P -f /tmp/near -m -i sim0 >/tmp/near.log 2>&1 &
	master=$!
	in_b ptp4l -H -P -f /tmp/far -m -s -i sim1 >/tmp/far.log 2>&1 &
	slave=$!
}
parted() {
	kill $slave $master
	wait $slave $master
}
meet L2
run "ptp4l on the cards steers" wait_until 15 grep -q ' s2 ' /tmp/far.log
sleep 6
# A message that comes late by the emulated CPU's work moves the servo for the next twenty, and the layout of the guest's memory decides
# how many are so: half of the last 80 readings were below 210 to 1020 ns, in one layout of twelve not below 2500. A slot is 5000.
grep -o 'offset.* s2 freq *-*[0-9]*' /tmp/far.log | tail -80 | awk '{ print $2 < 0 ? -$2 : $2 }' | sort -n >/tmp/offsets
is "$(wc -l </tmp/offsets) $(($(sed -n 40p /tmp/offsets) < 5000))" "80 1" "half of its readings are below a slot"
# The links' crystals are 50 ppm apart, true by construction: that is what the servo has found.
grep -o ' s2 freq *-*[0-9]*' /tmp/far.log | tail -80 | awk '{ print $3 }' | sort -n >/tmp/freqs
is "$(sed -n 40p /tmp/freqs | awk '{ print ($1 < -45000 && $1 > -55000) }')" 1 "and its rate is that of the links' crystals"
parted

# ---- what is stacked on the card
run "a VLAN" ip link add link sim0 name v5 type vlan id 5
ip addr add 10.5.0.1/24 dev v5
ip link set v5 up
ip -n b link add link sim1 name v5 type vlan id 5
ip -n b addr add 10.5.0.2/24 dev v5
ip -n b link set v5 up
echoes 10.5.0.2 1472 "tagged, as long as others"
ip netns add m
run "a macvlan" ip link add link sim0 name own netns m type macvlan mode bridge
ip -n m addr add 10.0.0.3/24 dev own
ip -n m link set own up
echoes 10.0.0.2 700 "its frames" "ip netns exec m"
ip -n m link del own
ip link del v5
run "a bridge" ip link add br0 type bridge
ip link set br0 up
ip addr del 10.0.0.1/24 dev sim0
run "its port" ip link set sim0 master br0
ip addr add 10.0.0.1/24 dev br0
sleep 0.1
echoes 10.0.0.2 1472 "the bridge's frames"
like "$(ip link add link sim0 name rt2 type keepon 2>&1)" "sim0 has an upper device already \(rt0\)" "there is one link on a card"
run "the link goes" ip link del rt0
like "$(ip link add link sim0 name rt0 type keepon receive all 2>&1)" "a bridge\); delete it first, or say receive card" "a bridge has all frames"
run "a link on the port" ip link add link sim0 name rt0 type keepon
ip link set rt0 up
wait_until 3 is_running rt0
echoes 10.0.0.2 1472 "and the bridge's again"
refuse "what the link receives is not changed later" ip link set rt0 type keepon receive all
ip link del br0
ip addr add 10.0.0.1/24 dev sim0

# ---- frames class 0 has no room for
run "a shorter MTU of the card" ip link set sim0 mtu 1300
run "slots one by one" ip link set rt0 type keepon slot_bytes 1330 partition 2 class 0 slots 0 class 1 slots 1
is "$_output" "" "have room for it"
run "the MTU as it was, behind the link" ip link set sim0 mtu 1500
wait_until 3 is_running rt0
echoes 10.0.0.2 1000 "what fits"
dropped=$(cat /sys/class/net/sim0/statistics/tx_dropped)
ping -q -c 3 -i 0.01 -W 1 -s 1472 10.0.0.2 >/dev/null
is "$(($(cat /sys/class/net/sim0/statistics/tx_dropped) - dropped))" 3 "what does not is dropped, by the card's counters"
like "$(dmesg)" "rt0: oversize: class 0 sends frames of up to 1322 bytes, and one had 1518; give it 2 slots in a row" "the log says why"
run "these slots again" ip link set rt0 type keepon partition 2
like "$_output" "^Warning: sim0 sends frames of 1518 bytes, class 0 carries 1322; give class 0 more slots" "a warning"
run "no slots at all" ip link set rt0 type keepon partition 2 class 0 slots none class 1 slots all
like "$_output" "^Warning: class 0 has no slots: sim0 sends nothing" "a warning, too"
run "all slots" ip link set rt0 type keepon partition 1 class 0-15 slots all
wait_until 3 is_running rt0
echoes 10.0.0.2 1472 "again"

# ---- the card in another namespace
ip netns add c
run "it moves" ip link set sim0 netns c
ip -n c addr add 10.0.0.1/24 dev sim0
ip -n c link set sim0 up
wait_until 3 is_running rt0
echoes 10.0.0.2 56 "and sends from there" "ip netns exec c"
before=$(counter rt0 verdict_on_time)
ip netns exec c keepon-talk sim0 --period 1ms --advance 2ms --count 20 --hw-stamps --json /tmp/talk.json >/dev/null 2>&1
is "$(($(counter rt0 verdict_on_time) - before))" 20 "txtimes, too"
run "and back" ip -n c link set sim0 netns 1
ip netns attach init $$ 2>/dev/null
ip link set sim0 up
ip addr add 10.0.0.1/24 dev sim0
wait_until 3 is_running rt0
before=$(counter rt0 verdict_on_time)
talk --period 1ms --advance 2ms --count 20
is "$(($(counter rt0 verdict_on_time) - before))" 20 "as before"

# ---- a station without keepon: to linuxptp a message of its own length, and the padding of a slot behind it, are a bad one
in_b ip link del rt1
meet L2
run "over Ethernet it understands no message" wait_until 15 grep -q 'bad message' /tmp/far.log
parted
meet UDPv4
run "over UDP it follows" wait_until 15 grep -q ' s2 ' /tmp/far.log || diag "$(tail -5 /tmp/far.log)"
parted

# ---- without the link
run "down" ip link set rt0 down
is "$(phc sim0)" "$own" "the card has its own clock"
echoes 10.0.0.2 56 "and its own way"
is "$(identity rt0) $(counter rt0 underruns)" "0 0" "every frame is accounted for, the wire stayed full"
run "gone" ip link del rt0
sleep 3
state | diff /tmp/before - >/tmp/differs
is "$(cat /tmp/differs)" "" "nothing has changed"
run "keepon unloads" rmmod keepon
run "so does hwsim" rmmod keepon_hwsim
done_testing
