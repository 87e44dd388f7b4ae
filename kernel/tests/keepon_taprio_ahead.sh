# SPDX-License-Identifier: GPL-2.0-only
# taprio with `flags 0x2`: the clock is stepped forward over what is between two lists and into the
# first cycle of the second, which does not have the class that is held there. Frames of that class
# wait. At 1 Gb/s, where many slots pass while a table is planned.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 1000000000
run "a link" upper
wait_until 2 is_running rt0
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev rt0
phc=/dev/ptp$(phc rt0)
cycle=200000000

# gates WORDS ...: instead of what there is. An echo has priority 0, which is class 1.
gates() {
	tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 4 \
		map 1 0 2 3 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 2@1 1@3 3@4 "$@" flags 0x2
}

# an_extended_list: its last entry is held where another one begins up to 160 ms behind its cycle
an_extended_list() {
	gates base-time 0 sched-entry S 1 100000000 sched-entry S 2 100000000 \
		cycle-time-extension 160000000
}
# another_one BASE
another_one() {
	gates base-time "$1" sched-entry S 4 300000000 sched-entry S 8 300000000
}

# seen NAME: a counter as it was before the programs were started that read them
seen() {
	sed -n "s/^ *$1: //p" /tmp/counters
}

# The list in force opens the class 110 ms behind the step; until the counters are read only ping and ethtool are started.
for _round in 1 2 3 4; do
	run "a list" an_extended_list
	sleep "0.4$((_round * 23))"
	left=$(counter rt0 frames_completed)
	given=$(counter rt0 submitted)
	now=$(gate_load now "$phc")
	base=$((now / cycle * cycle + 5 * cycle + 140000000))
	run "another one" another_one "$base"
	sleep 0.02
	ahead_ns=$((base + 250000000 - $(gate_load now "$phc")))
	run "stepped over its beginning" phc_ctl rt0 -- \
		adj "$((ahead_ns / 1000000000)).$(printf %09d $((ahead_ns % 1000000000)))"
	sleep 0.005
	ping -q -c 8 -i 0.002 -W 1 10.0.0.2 >/dev/null &
	sleep 0.04
	ethtool -S rt0 >/tmp/counters
	is "$(seen submitted)" "$((given + 8))" "frames of a class that neither list has open"
	is "$(seen frames_completed)" "$left" "wait"
	wait
	tc qdisc del dev rt0 root
	sleep 0.05
done
# A third list while the last entry of the first one is held for the second: it comes instead.
run "a list" an_extended_list
sleep 0.3
now=$(gate_load now "$phc")
base=$((now / cycle * cycle + 2 * cycle + 150000000))
run "another one" another_one "$base"
sleep "0.$(printf %03d $(((base - 80000000 - $(gate_load now "$phc")) / 1000000)))"
run "a third one while the first is extended" \
	gates base-time 0 sched-entry S 2 200000000
is "$(($(gate_load now "$phc") < base))" 1 "before the second begins"
given=$(counter rt0 submitted)
left=$(counter rt0 frames_completed)
ping -q -c 1 -W 1 10.0.0.2 >/dev/null
is "$(($(counter rt0 frames_completed) - left))" "$(($(counter rt0 submitted) - given))" \
	"its class leaves"
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)$(counter rt0 slips)" 00 "the wire stayed full"
done_testing
