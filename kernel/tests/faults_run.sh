# SPDX-License-Identifier: GPL-2.0-only
# One fault after the other on a running keepon link, each on new NICs. What every party counted stands in /out/FAULT.*;
# test_faults.py compares. 100 Mb/s, slots of 100 us, 253 posted ahead: 25.3 ms.
. /lib/keepon/test.sh
control=/sys/kernel/debug/keepon_hwsim/control
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim && modprobe keepon || exit 1
# In the time of a busy host the kernel may take seconds for what it else does in one.
slow=${SLOW:-1}
ip netns add far
went_down() { [ "$(cat /sys/class/net/rt0/carrier_down_count)" -gt "$downs" ]; }
is_up() { ip link show rt0 | grep -q 'state UP'; }
counter() { ethtool -S rt0 | sed -n "s/^ *$1: //p"; }

# begin FAULT [NIC OPTIONS]: the wire is recorded from its first slot on; the clock is set, so it is synchronised
begin() {
	name=$1
	shift
	echo "nic sim0 rate_bps=100000000 ppb=20000 seed=1 $*" >$control &&
		echo "nic sim1 rate_bps=100000000 ppb=-30000 seed=2 mode=ordinary" >$control &&
		echo "link sim0 sim1" >$control && echo "capture sim0 on records=30000" >$control || exit 1
	ip link set sim1 netns far
	ip -n far link set sim1 up
	ip link set sim0 up
	ip link add link sim0 name rt0 type keepon receive all slot_bytes 1230 txtime tai
	ip link set rt0 up
	wait_until 2 is_up
	phc_ctl rt0 set >/dev/null 2>&1
	sleep 0.1
}
# talk FRAMES [ARGUMENTS]: in the background; the fault belongs to the middle of it
talk() {
	counter synchronised >"/out/$name.synchronised"
	frames=$1
	shift
	keepon-talk rt0 --period 1ms --count "$frames" --priority 0 --hw-stamps --linger 100ms \
		--json "/out/$name.json" "$@" >"/out/$name.txt" 2>&1 &
	talker=$!
	sleep 0.1
}
# end: the talker is done, then the wire stops; counters before and after, and the record
end() {
	wait "$talker"
	ethtool -S rt0 >"/out/$name.running"
	ip link show rt0 | head -n 1 >"/out/$name.link"
	ip link set rt0 down
	sleep 0.05
	ethtool -S rt0 >"/out/$name.upper"
	ip -s link show rt0 | awk '/TX:/ { getline; print "tx_packets: " $2; print "tx_dropped: " $4 }' >"/out/$name.stats"
	ethtool -S sim0 >"/out/$name.nic"
	ip netns exec far ethtool -S sim1 >"/out/$name.far"
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/$name.wire"
	echo "delete sim0" >$control
	echo "delete sim1" >$control
}
fault() { echo "$1 $2" >/sys/kernel/debug/keepon_hwsim/sim0/fault; }
stall() { echo "$1" >/sys/kernel/debug/keepon/rt0/stall_ns; }

begin stall-within
talk 300 --advance 60ms
stall 15000000
end

begin stall-beyond
talk 300 --advance 60ms
stall 60000000
end

# Fetches 64 ahead and says so, then says none: best effort goes to the first slot believed to be changeable, and a step of
# the clock, 45 us, to the lengths of the slots from there on: 36 slots of 1.28 us each, of which all have been fetched. That is
# more than the clock may be unsure of by itself, twice clock_error_ps: 28 us were seen.
begin prefetch-said prefetch=64
talk 300 --no-txtime
phc_ctl rt0 adj 0.000045 >/dev/null 2>&1
end

begin prefetch-unsaid prefetch=64 claim_prefetch=0 flow_control=1
talk 300 --no-txtime
phc_ctl rt0 adj 0.000045 >/dev/null 2>&1
end

begin fcs
talk 300 --advance 10ms
fault fcs 7
end

begin loss
talk 300 --advance 10ms
fault loss 5
end

# again OPTIONS: other bounds; the clock is set again
again() {
	run "$name: $*" ip link set rt0 type keepon "$@"
	wait_until 2 is_up
	phc_ctl rt0 set >/dev/null 2>&1
	sleep 0.1
}

# from 20 to 150 ppm at once; stated are 200 ppm, and that rates may change as fast
begin drift-within
again drift_ppb 200000 wander_ppb 1000000
talk 400 --advance 10ms
fault drift 150000
end

# the same, but stated is that rates change by no more than 1 ppm/s
begin drift-sudden
again drift_ppb 200000 wander_ppb 1000
talk 400 --advance 10ms
fault drift 150000
end

# to 400 ppm; stated are 50
begin drift-beyond
again drift_ppb 50000 wander_ppb 1000000
talk 400 --advance 10ms
fault drift 400000
end

# The kernel may take a second to tell of a lost carrier: of a flap that is shorter nobody may hear, but the wire saw it.
begin flap-short
talk 400 --advance 10ms
fault flap 200000000
end

begin flap-long
talk 2000 --advance 10ms
downs=$(cat /sys/class/net/rt0/carrier_down_count)
fault flap $((1300000000 * slow))
run "$name: no carrier without a link" wait_until $((2 * slow)) went_down
run "$name: carrier again" wait_until $((3 * slow)) is_up
end

begin pause flow_control=1
talk 400 --advance 10ms
fault pause 5000000
end
done_testing
