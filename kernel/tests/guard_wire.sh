# SPDX-License-Identifier: GPL-2.0-only
# Qdisc guard on an ordinary NIC: what it refuses, frames by their txtimes beside as many others as the wire takes, with
# two sizes of the guard window, changed while it runs; late frames and wrong clocks. Files in /out; test_guard.py judges.
. /lib/keepon/test.sh
control=/sys/kernel/debug/keepon_hwsim/control
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim || exit 1
ip netns add far
cat >$control <<END || exit 1
nic sim0 rate_bps=100000000 ppb=-100000 seed=1 mode=ordinary
nic sim1 rate_bps=100000000 ppb=50000 seed=2 mode=ordinary
link sim0 sim1
END
ip link set sim1 netns far
ip -n far link set sim1 up
ip link set sim0 up
wait_until 3 sh -c "ip link show sim0 | grep -q 'state UP'"

# refused WORDS OPTIONS ...: in a sentence that has these words
refused() {
	words=$1
	shift
	said=$(tc qdisc replace dev sim0 root guard "$@" 2>&1) && not_ok "refused: $*"
	like "$said" "$words" "refused: $*"
}
refused "fudge must be 0 to 1000000000 ns" fudge 1000000001
refused "fudge \"much\": must be 0 to" fudge much
refused "tolerance must be 0 to" tolerance 1000000001
refused "mtu must be 64 to 65535 bytes" mtu 63
refused "limit must be 1 to 65536 frames" limit 0
refused "rate must be that of an Ethernet" rate 7mbit
refused "late \"maybe\": must be drop or send" late maybe
refused "no option \"colour\"" colour 3
refused "nothing follows \"fudge\"" fudge
run "classes" tc qdisc replace dev sim0 root handle 1: prio
said=$(tc qdisc replace dev sim0 parent 1:1 guard 2>&1) && not_ok "refused below another"
like "$said" "must be the root" "refused below another"
run "classes ended" tc qdisc del dev sim0 root

# counters NAME: what tc has counted by then
counters() {
	tc -s -j qdisc show dev sim0 >"/out/$1.qdisc"
}

# beside NAME FUDGE_NS: 120 frames by txtime, in as many others as are taken. Who sends the others
# may have the only CPU for a slice of the scheduler, 3 ms, before the frame is handed over; the
# window is 0.6 ms at most.
beside() {
	counters "$1-before"
	echo "capture sim0 on records=40000" >$control
	gate_load run tai sim0 550 7 1 >"/out/$1.load" &
	load=$!
	sleep 0.2
	keepon-talk sim0 --stream timed --period 2ms --advance 4ms --size 200 --count 120 \
		--linger 50ms --json "/out/$1.talk" >/dev/null 2>&1
	is $? 0 "$1: all frames left"
	wait "$load"
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/$1.wire"
	counters "$1-after"
}

run "a guard" tc qdisc replace dev sim0 root handle 9: guard fudge 150000
shown=$(tc qdisc show dev sim0)
like "$shown" "guard 9: root .*fudge 150000 mtu 0 rate 0bit limit 1000 late drop tolerance 1000000" "options are shown"
like "$shown" "by 100000000 bit/s and 1522 bytes" "rate and length are those of link and device"
beside small
run "the guard is made larger" tc qdisc change dev sim0 root handle 9: guard fudge 400000
beside large
tc qdisc show dev sim0 >/out/shown

# late by 3 ms: reported; then sent
keepon-talk sim0 --stream late --period 5ms --advance 1ms --count 20 --delay 7=3ms --linger 50ms \
	--json /out/late.talk >/dev/null 2>&1
run "late frames are sent" tc qdisc change dev sim0 root handle 9: guard late send
keepon-talk sim0 --stream late --period 5ms --advance 1ms --count 20 --delay 7=3ms --linger 50ms \
	--json /out/sent.talk >/dev/null 2>&1
keepon-talk sim0 --stream wrong --clock monotonic --period 5ms --count 5 --linger 50ms \
	--json /out/wrong.talk >/dev/null 2>&1
counters end

# Down and up, with frames in both queues; then without it
keepon-talk sim0 --stream far --period 500ms --advance 400ms --count 2 --linger 1ms >/dev/null 2>&1 &
sleep 0.1
ip link set sim0 down
ip link set sim0 up
wait $!
run "ended" tc qdisc del dev sim0 root
if tc qdisc replace dev sim0 root guard; then ok "again"; else not_ok "again"; fi
run "ended again" tc qdisc del dev sim0 root

# What a card would cut into frames is cut by the qdisc.
ip link add va type veth peer name vb netns far
ip addr add 10.9.0.1/24 dev va
ip -n far addr add 10.9.0.2/24 dev vb
ip link set va up
ip -n far link set vb up
run "a guard on veth" tc qdisc replace dev va root guard rate 100mbit
ip netns exec far iperf3 -s -1 >/out/server.txt 2>&1 &
sleep 0.2
iperf3 -c 10.9.0.2 -n 400K -J >/out/veth.json 2>/out/veth.txt
is $? 0 "a transfer"
tc -s -j qdisc show dev va >/out/veth.qdisc
ip link del va
run "the module unloads" rmmod sch_guard
done_testing
