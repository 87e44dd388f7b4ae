# SPDX-License-Identifier: GPL-2.0-only
# Frames with a txtime: into their slots, stamped with them, and reported to their sender when they do not leave. Needs keepon-talk.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
far_upper
# 100 us slots; class 1 owns one of ten, class 2 one and may take a later one, the rest is best effort
upper partition 10 class 1 slots 0 class 2 slots 5 late relaxed class 0 slots 1-4,6-9
wait_until 2 is_running rt0
tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 3 map 0 1 2 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 hw 1

# talk OPTIONS ...: its result in $result
talk() {
	keepon-talk rt0 --json /tmp/talk.json "$@" >/tmp/talk.text 2>&1
	result=$(tr -d '\n' </tmp/talk.json)
}
number() {
	printf '%s' "$result" | sed -n "s/.*\"$1\": *\(-\{0,1\}[0-9]*\).*/\1/p"
}

talk --period 1ms --advance 2ms --count 200 --priority 1 --hw-stamps
diag "$(head -c 1500 /tmp/talk.text)"
is "$(counter rt0 verdict_on_time)" 200 "200 frames in their slots"
is "$(number stamped)" 200 "each stamped"
talk --period 1ms --count 50 --advance 40ms --priority 1 --hw-stamps
is "$(counter rt0 verdict_on_time)" 250 "also when they come long before the window"
[ "$(counter rt0 prebuffered)" -ge 1 ] && ok "they were held back" || not_ok "they were held back"

talk --period 1ms --advance 2ms --count 20 --offset 200us --priority 1
is "$(number invalid)" 20 "slots of another class: each reported as invalid"
is "$(counter rt0 verdict_not_allowed)" 20 "and counted"
talk --period 1ms --advance 2ms --count 20 --delay 7=2200us --priority 1
is "$(number missed)" 1 "a late frame of a strict class: reported as missed"
is "$(counter rt0 verdict_late)" 1 "and counted"
talk --period 1ms --advance 2ms --count 20 --offset 500us --delay 7=2200us --priority 2
is "$(number missed)" 0 "of a relaxed class: not"
is "$(counter rt0 verdict_moved)" 13 "it was sent later, and so were all that follow, its class having no slot to spare"
# The longest MTU and a tag besides: four bytes too many
ip link set rt0 mtu 1204
talk --period 1ms --advance 2ms --count 20 --priority 1 --size 1226 --vlan 5
ip link set rt0 mtu 1192
is "$(number invalid)" 20 "longer than slots may be: reported as invalid"
is "$(counter rt0 verdict_oversize)" 20 "and counted"
like "$(dmesg)" "rt0: oversize: class 1 sends frames of up to 1222 bytes, and one had 1226; give it 2 slots in a row" "the log says how long they may be"
before=$(counter rt0 submitted)
talk --period 1ms --advance 2ms --count 20 --priority 1 --no-txtime
is $(($(counter rt0 verdict_best_effort) >= 20)) 1 "without txtime: any slot of the class"
is $(($(counter rt0 submitted) - before >= 20)) 1 "all of them"

# etf above, with and without offload
tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 600000
before=$(counter rt0 verdict_on_time)
talk --period 1ms --advance 2ms --count 50 --priority 1
is $(($(counter rt0 verdict_on_time) - before)) 50 "through etf"
tc qdisc replace dev rt0 parent 100:2 pfifo
tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 600000 offload
talk --period 1ms --advance 2ms --count 50 --priority 1
is $(($(counter rt0 verdict_on_time) - before)) 100 "through etf offload"
tc qdisc replace dev rt0 parent 100:2 pfifo

# CLOCK_TAI and PHC: a PHC set elsewhere makes txtimes late or far, unless they are mapped.
phc_ctl rt0 adj 37 >/dev/null 2>&1
before=$(counter rt0 verdict_late)
talk --period 1ms --advance 2ms --count 20 --priority 1
is $(($(counter rt0 verdict_late) - before)) 20 "txtime phc: 37 s ahead, all late"
ip link set rt0 type keepon txtime tai
wait_until 2 is_running rt0
before=$(counter rt0 verdict_on_time)
# the phase of CLOCK_TAI against the grid is arbitrary now, so every slot is given to the class
ip link set rt0 type keepon partition 1 class 0-15 slots all
wait_until 2 is_running rt0
talk --period 1ms --advance 2ms --count 20 --priority 1
is $(($(counter rt0 verdict_on_time) - before)) 20 "txtime tai: mapped, all on time"

is "$(ethtool -S rt0 | awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 } / pending:/ { p = $2 } END { print s - v - p }')" 0 \
	"every frame is accounted for"
is "$(counter rt0 underruns)" 0 "the wire never ran dry"
done_testing
