# SPDX-License-Identifier: GPL-2.0-only
# What may happen to a link with backend generic under traffic: changes, down and up, the device
# below deleted, modules unloaded. Nothing here is about time: it runs in the host's, on two CPUs.
# RATE_BPS of the wire, if not 100000000.
. /lib/keepon/test.sh
. /lib/keepon/common.sh

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
modprobe keepon_hwsim
modprobe keepon
# This machine stands still for many milliseconds: slots are no measure of anything, but frames are
# to be accounted for.
modprobe keepon_generic held_up_us=20000

pair() {
	echo "nic sim0 mode=ordinary rate_bps=${RATE_BPS:=100000000} seed=1" > $control
	echo "nic sim1 mode=ordinary rate_bps=$RATE_BPS seed=2" > $control
	echo "link sim0 sim1" > $control
	ip link set sim1 netns b
	ip -n b link set sim1 up
	ip -n b addr add 10.0.0.2/24 dev sim1
	ip link set sim0 up
	wait_until 5 is_running sim0
}

# A pace that this machine could not keep up with while it was measured is none of the test's
# business.
link() {
	ip link add link sim0 name rt0 type keepon receive all backend generic force on ring 4096 || return 1
	ip addr add 10.0.0.1/24 dev rt0
	ip link set rt0 up
	wait_until 5 is_running rt0
}

traffic() {
	while :; do
		ping -q -A -w 1 -s 1000 10.0.0.2 > /dev/null 2>&1
		sleep 0.01
	done
}

ip netns add b
pair
run "a link" link
traffic &
traffic=$!
sleep 0.3
run "a change under traffic" ip link set rt0 type keepon batch 12
sleep 0.2
is "$(identity rt0)" 0 "every frame is accounted for"
for round in 1 2 3 4 5 6; do
	ip link set rt0 down
	ip link set rt0 up
	sleep 0.1
done
is "$(identity rt0)" 0 "also over six times down and up"
ip link set sim0 down
ip link set sim0 up
run "and of the device below" wait_until 5 is_running rt0
run "the other backend is refused" sh -c '! ip link set rt0 type keepon backend native'
refuse "the module is in use" rmmod keepon_generic
run "deleted under traffic" ip link del rt0
run "the module goes" rmmod keepon_generic
modprobe keepon_generic held_up_us=20000
run "a link again" link
sleep 0.2
run "the device below deleted under traffic" sh -c "echo delete sim0 > $control"
is "$(ip link show type keepon)" "" "its link is gone, too"
kill $traffic
run "nothing of it stays" rmmod keepon_generic
run "nor of keepon" rmmod keepon
done_testing
