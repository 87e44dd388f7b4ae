# SPDX-License-Identifier: GPL-2.0-only
# Shaped classes under load from every class: qdisc cbs with `offload 1`, then rates of mqprio. What left
# stands in /out/wire-PHASE; test_credit.py judges it. What cannot be had is refused in a sentence, in the log
# where the stack has no way to the caller. $SPAN_MS of load for each phase.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo 0 >/proc/sys/net/core/message_cost # every sentence, however many
wire 100000000
run "a link" upper
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)

# mqprio HANDLE WORDS ...: four classes of a queue each
mqprio() {
	_handle=$1
	shift
	tc qdisc replace dev rt0 root handle "$_handle:" mqprio num_tc 4 \
		map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 hw 1 "$@"
}
# cbs QUEUE IDLESLOPE SENDSLOPE HICREDIT LOCREDIT
cbs() {
	tc qdisc replace dev rt0 parent "100:$(($1 + 1))" cbs idleslope "$2" sendslope "$3" \
		hicredit "$4" locredit "$5" offload 1
}
# refuse_with TEXT PATTERN COMMAND ...: with such a sentence, and nothing else in the log
refuse_with() {
	_what=$1 _pattern=$2
	shift 2
	dmesg -c >/dev/null
	refuse "$_what: refused" "$@"
	like "$_output $(dmesg)" "$_pattern" "$_what: says why"
	is "$(dmesg | grep -v -e " rt0: cbs: " -e " rt0: mqprio: " -e " tsc: " -e " clocksource: ")" "" \
		"$_what: nothing else in the log"
}
# phase NAME SEED: load, and what is on the wire of it
phase() {
	echo "capture sim0 on records=1000000" >$control
	gate_load run "$phc" rt0 "$SPAN_MS" "$2" 4 >"/out/load-$1"
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/wire-$1"
	echo "capture sim0 off" >$control
}

run "four classes" mqprio 100
run "idle slope of a fifth" cbs 3 20000 -80000 250 -1000
run "of a fourteenth, below it, which waits for two slots" cbs 2 7143 -92857 180 -1160
refuse_with "no idle slope" "idleslope 0 kbit/s is not within 1 to 100000" cbs 1 0 -100000 250 -1250
refuse_with "a slope steeper than the link" \
	"idleslope 100001 kbit/s is not within 1 to 100000, the link's rate" cbs 1 100001 1 1251 0
refuse_with "slopes of another rate" \
	"sendslope -980000 kbit/s does not go with idleslope 20000 on a link of 100000; give .* -80000" \
	cbs 1 20000 -980000 250 -1225
refuse_with "more than there is" \
	"idleslope 72858 kbit/s and 27143 of other queues are more than the link's 100000; give 72857 or less" \
	cbs 1 72858 -27142 911 -339
refuse_with "hicredit below what waiting brings" \
	"hicredit 249 bytes is less than idleslope 20000 brings .* up to 100000 ns; give 250 or more" \
	cbs 1 20000 -80000 249 -1000
refuse_with "hicredit below nothing" "hicredit -1 bytes is less than" cbs 1 20000 -80000 -1 -1000
refuse_with "locredit above what a slot takes" \
	"locredit -999 bytes cuts off what a slot of 1250 bytes on the wire takes away; give -1000 or less" \
	cbs 1 20000 -80000 250 -999
run "all that is left" cbs 1 72857 -27143 911 -339
refuse_with "where none is left" \
	"other queues have 100000 kbit/s of the link's 100000, which leaves none for idleslope 1; lower" \
	cbs 0 1 -99999 2 -1249
run "and given back" tc qdisc replace dev rt0 parent 100:2 pfifo
like "$(tc qdisc show dev rt0)" "cbs .*offload 1" "shown as offloaded"
ip link set rt0 down
ip link set rt0 up
wait_until 2 is_running rt0
phase cbs 3
run "no classes" tc qdisc del dev rt0 root
refuse_with "more than the link has" "max_rate 12500001 bytes/s of traffic class 1 is not within 125 to 12500000" \
	mqprio 200 mode channel shaper bw_rlimit max_rate 0 100000008bit 0 0
refuse_with "slots that are not its own" \
	"min_rate 1250 bytes/s of queue 2: slots it shares with no other class bring 0; give that or less" \
	mqprio 200 mode channel shaper bw_rlimit min_rate 0 0 10000bit 0 max_rate 0 0 0 0
refuse_with "a rate over several queues" "max_rate of traffic class 1 with 2 queues" \
	tc qdisc replace dev rt0 root handle 200: mqprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
	queues 1@0 2@1 hw 1 mode channel shaper bw_rlimit max_rate 0 10Mbit
run "rates" mqprio 300 mode channel shaper bw_rlimit max_rate 0 0 7200kbit 31Mbit
refuse_with "two limits of a queue" "queue 3 is held to a max_rate of mqprio; leave out one of the two" \
	tc qdisc replace dev rt0 parent 300:4 cbs idleslope 20000 sendslope -80000 hicredit 250 locredit -1000 offload 1
phase rate 4
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)$(counter rt0 slips)$(counter rt0 doubts)" 000 "the wire stayed full"
run "no rates" tc qdisc del dev rt0 root
run "gates closed to class 3 for seven slots of ten" \
	tc qdisc replace dev rt0 root handle 100: taprio num_tc 4 \
	map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 base-time 0 \
	sched-entry S 7 700000 sched-entry S f 300000 flags 0x2
refuse_with "hicredit for one slot" \
	"hicredit 250 bytes is less than idleslope 20000 brings .* up to 800000 ns; give 2000 or" \
	cbs 3 20000 -80000 250 -1000
refuse_with "a queue without a gate" \
	"queue 5 has no slots, so there is nothing to shape: no window of taprio is open" \
	cbs 5 20000 -80000 2000 -1000
run "with what the wait brings" cbs 3 20000 -80000 2000 -1000
phase gates 5
run "no gates" tc qdisc del dev rt0 root
run "a tenth of the slots for class 2 alone" ip link set rt0 type keepon partition 10 class 2 slots 0
wait_until 2 is_running rt0
run "that much is promised" mqprio 400 mode channel shaper bw_rlimit min_rate 0 0 10Mbit 0 max_rate 0 0 0 0
refuse "another class table meanwhile" ip link set rt0 type keepon class 2 slots 0-9
refuse_with "a shaper that brings less" \
	"idleslope 1000 kbit/s is less than the min_rate of mqprio for queue 2, 1250000 bytes/s; give more" \
	tc qdisc replace dev rt0 parent 400:3 cbs idleslope 1000 sendslope -99000 hicredit 250 locredit -1250 offload 1
refuse_with "a promise above the limit" \
	"min_rate 1250000 bytes/s of traffic class 2 is more than its max_rate 125000; give that or less" \
	mqprio 500 mode channel shaper bw_rlimit min_rate 0 0 10Mbit 0 max_rate 0 0 1Mbit 0
refuse_with "no slots, no credit" "queue 5 has no slots, so there is nothing to shape; give the link class 5 slots" \
	sh -c "tc qdisc replace dev rt0 root handle 500: mqprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 6@0 hw 1
	tc qdisc replace dev rt0 parent 500:6 cbs idleslope 20000 sendslope -80000 hicredit 2500 locredit -1000 offload 1"
run "keepon unloads" rmmod keepon
done_testing
