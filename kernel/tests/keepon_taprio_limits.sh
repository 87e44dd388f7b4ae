# SPDX-License-Identifier: GPL-2.0-only
# taprio's max-sdu on a keepon link: longer frames are dropped and counted, others are not. $COUNTS:
# this kernel asks the device what it counted.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire
run "a link" upper slot_bytes 1230
wait_until 2 is_running rt0

# passed NAME BYTES FRAMES: so many of 20 frames of the second class leave
passed() {
	_left=$(counter sim0 tx_frames)
	_dropped=$(counter rt0 verdict_oversize)
	run "$1: sent" taprio_limits rt0 send "$2" 20
	sleep 0.1
	is $(($(counter sim0 tx_frames) - _left)) "$3" "$1: left"
	is $(($(counter rt0 verdict_oversize) - _dropped)) $((20 - $3)) "$1: too long"
}

run "a limit of 300 bytes" taprio_limits rt0 set 300
passed "at the limit" 314 20
passed "a byte more" 315 0
run "another limit" taprio_limits rt0 set 500
passed "at the other" 514 20
passed "beyond the other" 515 0
run "no limit" taprio_limits rt0 set 0
passed "what a slot carries" $(($(cat /sys/class/net/rt0/mtu) + 14)) 20
told=$(taprio_limits rt0 counters)
wanted=none
[ ! "$COUNTS" ] || wanted="window_drops=40 tx_overruns=0"
is "$told" "$wanted" "what the device counted"
is "$(identity rt0)" 0 "every frame is accounted for"
done_testing
