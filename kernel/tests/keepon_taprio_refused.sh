# SPDX-License-Identifier: GPL-2.0-only
# What taprio with `flags 0x2` and mqprio with `hw 1` are not taken for: one sentence each,
# nothing else in the log, and a schedule is what it was. Linux 6.1 gives the driver no extack: there the sentence is in the log.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo 0 >/proc/sys/net/core/message_cost # the log takes every sentence
wire 100000000
upper
wait_until 2 is_running rt0
two="map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time 0 sched-entry S 03 500000"
map="map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 2@1 1@3 3@4"

# taprio WORDS ...: replaces what there is
taprio() {
	# shellcheck disable=SC2086 # words
	tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 4 $map "$@" flags 0x2
}
shown() {
	tc qdisc show dev rt0 | grep -v pfifo
}
# mqprio QUEUES ...: replaces what there is, which it does under another handle only
mqprio() {
	tc qdisc replace dev rt0 root handle "$handle:" mqprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues "$@" hw 1
}
# refuse_gates TEXT PATTERN WORDS ...: refused with such a sentence, and the schedule stays
refuse_gates() {
	_before=$(shown)
	refuse_qdisc taprio "$@"
	is "$(shown)" "$_before" "$_what: nothing changed"
}
# refuse_qdisc QDISC TEXT PATTERN WORDS ...
refuse_qdisc() {
	_qdisc=$1 _what=$2 _pattern=$3
	shift 3
	dmesg -c >/dev/null
	refuse "$_what: refused" "$_qdisc" "$@"
	like "$_output $(dmesg)" "$_pattern" "$_what: says why"
	is "$(dmesg | grep -v -e " rt0: $_qdisc: " -e " tsc: " -e " clocksource: ")" "" \
		"$_what: nothing else in the log"
}

run "a schedule" taprio base-time 0 sched-entry S 0f 500000 sched-entry S 01 500000
refuse_gates "a cycle that never comes round" \
	"cycle-time 1234567 ns .* 100000 ns .* fit are cycle-time 1234[0-9]*, or slot_bytes [0-9]+" \
	base-time 0 sched-entry S 0f 1234567
refuse_gates "a window too short for a slot" \
	"no window of traffic class 2 .* slot of 100000 ns; the nearest that fits is slot_bytes [0-9]+" \
	base-time 0 sched-entry S 04 50000 sched-entry S 03 950000
# 1229 bytes need a table of 4000 slots
refuse_gates "a window a little too short" "the nearest that fits is slot_bytes 1229 of the link" \
	base-time 5000 sched-entry S 0f 110000 sched-entry S 01 210000
# shorter windows of traffic class 2 come with no cycle
refuse_gates "neither cycle nor window" \
	"begin together only .*; the nearest that fits is slot_bytes [0-9]+ of the link" \
	base-time 0 sched-entry S 04 50000 sched-entry S 03 1184567
# of the cycles that come round, 1234560 is nearer, but its last window holds no slot
refuse_gates "a cycle near which the last window is short" \
	"fit are cycle-time 1234592, or slot_bytes [0-9]+" \
	base-time 0 sched-entry S 03 1134590 sched-entry S 04 99977
while read -r bytes words; do
	# shellcheck disable=SC2086 # words
	refuse_gates "a list for slots of $bytes bytes" "the nearest that fits is slot_bytes $bytes of" \
		$words
done </lib/keepon/near
refuse_gates "an extension without end" \
	"cycle-time-extension 99000000000 ns is beyond 1638400000 ns" \
	base-time 0 cycle-time-extension 99000000000 sched-entry S 0f 500000
refuse_gates "a base time beyond all clocks" \
	"base-time 9000000000000000000 is beyond 4611686018427387904" \
	base-time 9000000000000000000 sched-entry S 0f 500000
refuse "another class table meanwhile" ip link set rt0 type keepon class 1 slots 0 partition 10
like "$_output" "class slots: gates of taprio hold instead" "it says why"
run "windows of a slot" taprio base-time 0 sched-entry S 0f 100000 sched-entry S 01 900000
refuse "slots that do not suit the schedule" ip link set rt0 type keepon slot_bytes 1231
like "$_output" "no window of traffic class 1 holds a whole slot of 100080 ns" "it says why"
run "slots that suit it" ip link set rt0 type keepon slot_bytes 605
wait_until 2 is_running rt0
run "back again" ip link set rt0 type keepon slot_bytes 1230
wait_until 2 is_running rt0
ip link set rt0 down
ip link set rt0 up
wait_until 2 is_running rt0
like "$(tc qdisc show dev rt0)" "flags 0x2" "the schedule outlives down and up"
run "a schedule for tomorrow" taprio base-time 4000000000000000000 sched-entry S 0f 500000
run "and another one instead" taprio base-time 0 sched-entry S 0f 500000
run "ended" tc qdisc del dev rt0 root
run "then a class table is taken" ip link set rt0 type keepon partition 10 class 1 slots 0
# shellcheck disable=SC2086 # words
run "assisted by txtimes" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 2 \
	$two flags 0x1 txtime-delay 500000 clockid CLOCK_TAI
tc qdisc del dev rt0 root
# shellcheck disable=SC2086 # words
run "in software" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 2 \
	$two clockid CLOCK_TAI
tc qdisc del dev rt0 root
handle=100
# Linux takes the classes away from the device whenever it refuses a mqprio, and leaves the old one.
run "classes" mqprio 1@0 1@1
handle=200
refuse_qdisc mqprio "a queue there is not" \
	"queues 1@16 of traffic class 1 are not among 0 to 15; give one that is, as 1@1" 1@0 1@16
refuse_qdisc mqprio "no queue at all" "queues 0@1 of traffic class 1 are not among 0 to 15" 1@0 0@1
refuse_qdisc mqprio "the same queue twice" \
	"queues 1@0 of traffic class 1 overlap 1@0 of traffic class 0; give each its own" 1@0 1@0
refuse_qdisc mqprio "queues that overlap" \
	"queues 4@2 of traffic class 1 overlap 3@0 of traffic class 0" 3@0 4@2
run "several queues a class" mqprio 3@0 4@3
tc qdisc del dev rt0 root
ip link del rt0
run "paper mode" upper mode paper
wait_until 2 is_running rt0
refuse_gates "no gates there" "mode paper: its slots follow no clock" \
	base-time 0 sched-entry S 0f 500000
run "keepon unloads" rmmod keepon
done_testing
