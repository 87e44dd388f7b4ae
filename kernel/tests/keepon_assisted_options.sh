# SPDX-License-Identifier: GPL-2.0-only
# What each option of the published qdiscs means above a keepon link: base-time, txtime-delay, delta. A
# sender that knows of no time sends; its result is in /out/NAME.json and test_assisted.py judges it.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000 ppb=0
run "a link" upper class 0 late relaxed slots all
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)
window="sched-entry S 01 1000000 sched-entry S 00 3000000"
open="sched-entry S 01 1000000000"

# The PHC's next whole second has just begun.
whole_second() {
	sleep "0.$(printf %09d $((1000000000 - $(gate_load now "$phc") % 1000000000)))"
}

# send NAME TXTIME_DELAY_NS DELTA_NS GATES ...
send() {
	name=$1
	delay_ns=$2
	delta_ns=$3
	shift 3
	run "$name: taprio" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 "$@" \
		flags 0x1 txtime-delay "$delay_ns" clockid CLOCK_TAI
	run "$name: etf" tc qdisc replace dev rt0 parent 100:1 etf \
		clockid CLOCK_TAI delta "$delta_ns" offload skip_sock_check
	gate_load now "$phc" >"/out/$name.set"
	run "$name: all frames left" keepon-talk rt0 --no-txtime --period 25300us --count 60 \
		--hw-stamps --sw-stamps --linger 2s --json "/out/$name.json"
	run "$name: ended" tc qdisc del dev rt0 root
}

# shellcheck disable=SC2086 # words
{
	send base 1500000 900000 base-time 0 $window
	send shifted 1500000 900000 base-time 1700000 $window
	whole_second
	send open 1500000 900000 base-time 0 $open
	send delay 2500000 900000 base-time 0 $open
	send delta 2500000 1800000 base-time 0 $open
}
is "$(identity rt0)" 0 "every frame is accounted for"
run "keepon unloads" rmmod keepon
done_testing
