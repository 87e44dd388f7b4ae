# SPDX-License-Identifier: GPL-2.0-only
# $NAMES of the kernel's net/forwarding tests with four keepon links: rt1 wired to rt2, rt3 to rt4, as their topology wants.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
modprobe keepon_hwsim && modprobe keepon || exit 1
for number in 1 2 3 4; do
	echo "nic sim$number rate_bps=100000000 ppb=${number}0000 seed=$number" >$control || exit 1
done
echo "link sim1 sim2" >$control && echo "link sim3 sim4" >$control || exit 1
for number in 1 2 3 4; do
	ip link set sim$number up
	run "link rt$number" ip link add link sim$number name rt$number type keepon receive all slot_bytes 1318
done
cd /lib/selftests/net/forwarding || exit 1
for name in $NAMES; do
	bash ./$name.sh rt1 rt2 rt3 rt4 >/tmp/said 2>&1
	is $? 0 "$name.sh"
	is "$(grep -c 'TEST: .*FAIL\|SKIP:' /tmp/said)" 0 "$name.sh: all of it"
	[ "$(grep -c 'TEST: .*OK' /tmp/said)" -ge 1 ] && ok "$name.sh: something" || not_ok "$name.sh: nothing"
	diag "$(cat /tmp/said)"
done
for number in 1 2 3 4; do
	is "$(identity rt$number)" 0 "rt$number: every frame is accounted for"
done
done_testing
