# SPDX-License-Identifier: GPL-2.0-only
# Txtimes far ahead, more frames than there is room for, and deadlines: what one sender asks for does not stop the others. Needs
# txtime_sender, connected_sender.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
far_upper
upper horizon_ns 0
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
answered() {
	like "$(ping -c 3 -i 0.1 -w 2 10.0.0.2)" " 3 packets received" "$1"
}
answered "at first"

# Without mqprio all is class 0; its pre-buffer holds 256 frames, 192 of which may have a txtime.
run "20000 frames for ten minutes ahead" txtime_sender rt0 0 20000 600000000000 1000000
is "$_output" "sent 20000 missed 19904 invalid 0" "half the room is theirs, all others are refused"
is "$(counter rt0 verdict_no_room)" 19904 "and counted"
answered "others go on, the sender being gone"
run "another sender" txtime_sender rt0 0 1000 600000000000 1000000
is "$_output" "sent 1000 missed 952 invalid 0" "has half of what is left"
answered "and others still go on"
is "$(identity rt0)" 0 "every frame is accounted for"
run "a new start" ip link set rt0 type keepon partition 1 class 0-15 slots all
wait_until 2 is_running rt0
is "$(counter rt0 verdict_flushed)" 144 "ends those that wait"

tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 1
run "255 frames for ten minutes ahead in class 1" txtime_sender rt0 1 255 600000000000 1000000
before=$(counter rt0 verdict_on_time)
keepon-talk rt0 --period 1ms --advance 2ms --count 200 --priority 1 >/tmp/talk.text 2>&1
is $(($(counter rt0 verdict_on_time) - before)) 200 "another sender of that class: all of its 200 in time"

# The horizon
run "ten seconds, as by default" ip link set rt0 type keepon horizon_ns 10000000000
wait_until 2 is_running rt0
before=$(counter rt0 verdict_too_early)
run "frames beyond" txtime_sender rt0 1 20 10500000000 1000000
is "$_output" "sent 20 missed 0 invalid 20" "are refused"
is $(($(counter rt0 verdict_too_early) - before)) 20 "and counted"
before=$(counter rt0 verdict_on_time)
run "frames within" txtime_sender rt0 1 20 100000000 1000000
is $(($(counter rt0 verdict_on_time) - before)) 20 "leave"

# delta NAME: by how much a counter has grown since snapshot
snapshot() { ethtool -S rt0 >/tmp/snapshot; }
delta() { echo $(($(counter rt0 "$1") - $(sed -n "s/^ *$1: //p" /tmp/snapshot))); }

# Deadlines: 20 ms are 200 slots
snapshot
run "50 frames within 20 ms" txtime_sender rt0 1 50 20000000 0 deadline
is "$_output" "sent 50 missed 0 invalid 0" "none is late"
is "$(delta verdict_best_effort) $(delta verdict_on_time)" "50 0" "each left as soon as it could"
is "$(delta class_1_late_ns)" 0 "and is no later than any txtime, having none"
run "deadlines that have passed" txtime_sender rt0 1 10 -1000000 0 deadline
is "$_output" "sent 10 missed 10 invalid 0" "are not worth a slot"
is "$(delta verdict_late) $(delta verdict_best_effort)" "10 50" "and counted"
run "200 frames within 5 ms" txtime_sender rt0 1 200 5000000 0 deadline
missed=$(echo "$_output" | sed -n 's/sent 200 missed \([0-9]*\) invalid 0/\1/p')
[ "${missed:-0}" -ge 140 ] && [ "$missed" -lt 190 ] && ok "those after 50 slots are reported" || not_ok "reported: $_output"
run "etf with deadlines" tc qdisc replace dev rt0 parent 100:2 etf clockid CLOCK_TAI delta 600000 deadline_mode
snapshot
run "50 frames within 20 ms through it" txtime_sender rt0 1 50 20000000 0 deadline
is "$_output" "sent 50 missed 0 invalid 0" "none is late"
is "$(delta verdict_best_effort)" 50 "each left as soon as it could"
is "$(identity rt0)" 0 "every frame is accounted for"

# Senders enough for all the room there is: three quarters rounded down, so that there is some for others.
for prebuffer in 2 3 5 6; do
	run "prebuffer $prebuffer" ip link set rt0 type keepon prebuffer $prebuffer
	wait_until 2 is_running rt0
	for _sender in $(seq 16); do
		txtime_sender rt0 0 $prebuffer 9000000000 1000 >/dev/null
	done
	is "$(counter rt0 pending)" $((prebuffer * 3 / 4)) "prebuffer $prebuffer: frames with a txtime have three quarters"
	answered "prebuffer $prebuffer: others go on"
done
is "$(identity rt0)" 0 "every frame is accounted for"

# The queue that the stack keeps for a socket is that of its first frame.
run "class 1 without slots" ip link set rt0 type keepon prebuffer 64 partition 10 class 0 slots 1-9 class 1 slots none
wait_until 2 is_running rt0
snapshot
run "a connected socket" connected_sender 10.0.0.2 0 0 1 1 0
sleep 0.01
is "$(delta verdict_best_effort)" 3 "each frame has the class of its own priority"
is "$(identity rt0)" 0 "every frame is accounted for, again"
done_testing
