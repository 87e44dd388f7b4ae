# SPDX-License-Identifier: GPL-2.0-only
# The capture device: what it shows goes to /out as pcap files, beside the wire record they must equal (test_hwsim.py).
. /lib/keepon/hwsim_common.sh

run "the module loads" modprobe keepon_hwsim
control <<X
nic n0 ppb=12500 seed=7
nic n1 mode=ordinary
link n0 n1 propagation_ns=50
capture n0 on
X
refuse_line "capture n0 on device=a/b" "device=a/b is no name"
refuse_line "capture n0 on device=n1" "no interface n1"
refuse_line "capture n1 off device" "needs the name of a NIC and on or off"
echo "capture n0 on device=cap0" | control
ip link set dev n0 up
ip addr add 10.0.0.1/24 dev n0
station n1 10.0.0.2
wait_until 2 carrier n1
far=$(ip -n n1 -br link show dev n1 | awk '{print $3}')

# statistic NAME [ip options]: a receive counter of cap0 as `ip -s -s link` has it
statistic() {
	_name=$1
	shift
	ip "$@" -j -s -s link show dev cap0 | sed "s/.*\"rx\":{\([^}]*\)}.*/\1/; s/.*\"$_name\":\([0-9]*\).*/\1/"
}

# slots: frames and placeholders in the record
slots() {
	sed -n 's/^placeholders .* count=\([0-9]*\) .*/\1/p; s/^frame .*/1/p' "$HWSIM/n0/wire" | awk '{ n += $1 } END { print n }'
}

# ticking: how many capture devices look at their ring
ticking() {
	grep -c capture_tick /proc/timer_list
}

# dump FILE [tcpdump options]: capture on cap0 in the background until `enough`
dumps=
dump() {
	_file=$1
	shift
	tcpdump -i cap0 -n -Z root -B 16384 -s 2000 --immediate-mode --time-stamp-precision=nano -w "/out/$_file" "$@" 2> "/tmp/$_file.log" &
	dumps="$dumps $!"
	wait_until 5 grep -q 'listening on' "/tmp/$_file.log"
}

# What is on the wire comes within a tick.
enough() {
	sleep 0.05
	kill -INT $dumps
	wait $dumps
	dumps=
}

modprobe native_probe dev=n0 polls=50
rmmod native_probe
like "$(slots)" '^[0-9]{3,}$' "a device that is down: slots passed"
is "$(statistic packets) $(ticking)" "0 0" "it sees nothing and looks at nothing"
ip link set dev cap0 up
is "$(ticking)" 1 "a device that is up looks"

echo "capture n0 on device=cap0" | control
is "$(ticking)" 1 "a new record leaves it up"
dump real.pcap
dump phc.pcap -s 64 -j adapter_unsynced
printf 'loss 1\nfcs 1\n' > "$HWSIM/n0/fault"
# Before the readers, so that the ring never runs dry.
run "the probe runs" chrt -f 50 modprobe native_probe dev=n0 polls=40 tear=1
rmmod native_probe
is "$(ping -q -c 3 -s 1400 -i 0.01 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 3 "echoes by the ordinary driver"
run "frames with a tag" keepon-talk n0 --period 1ms --count 3 --base-time now+20ms --no-txtime --vlan 5 --pcp 6 --dst "$far"
enough
cp "$HWSIM/n0/wire" /out/real.wire
refuse "tcpdump takes what the device offers" grep WARNING /tmp/*.log
is "$(statistic packets)" "$(slots)" "the device received every slot and frame"
is "$(statistic missed_errors)" 0 "and missed none"

for kind in 1 2; do
	echo "capture n0 on device=cap0" | control
	dump "kind$kind.pcap"
	modprobe native_probe dev=n0 polls=10 placeholder=$kind
	rmmod native_probe
	enough
	cp "$HWSIM/n0/wire" "/out/kind$kind.wire"
done
ip -br link show dev n0 | awk '{print $3}' > /out/n0.mac

echo "capture n0 on device=cap0" | control
before=$(statistic packets)
run "a queue of 16 frames" ethtool -G cap0 rx 16
modprobe native_probe dev=n0 polls=50
rmmod native_probe
sleep 0.01
missed=$(statistic missed_errors)
like "$missed" '^[0-9]{2,}$' "does not hold what leaves within a tick"
is "$(($(statistic packets) - before + missed))" "$(slots)" "each slot was received or missed"
ethtool -G cap0 rx 16384

ip addr add 10.9.9.1/24 dev cap0
ping -q -c 2 -W 1 -i 0.01 10.9.9.2 > /dev/null
like "$(ip -s link show dev cap0 | sed -n '/TX:/{n;p}')" '^ *[0-9]+ +0 +0 +2 ' "what is sent on it is dropped and counted"

ip netns add x
ip link set dev cap0 netns x
ip -n x addr add 10.0.0.2/24 dev cap0
ip -n x link set dev cap0 up
before=$(statistic packets -n x)
ping -q -c 2 -W 1 -i 0.01 10.0.0.255 > /dev/null
ping -q -c 2 -W 1 -i 0.01 10.0.0.2 > /dev/null
sleep 0.01
like "$(($(statistic packets -n x) - before))" '^[4-9]$' "it sees a broadcast in another namespace"
is "$(ip netns exec x cat /proc/net/snmp | awk '/^Ip: [0-9]/ { print $4 }')" 0 "and the stack there none of it"
modprobe native_probe dev=n0 polls=100 &
sleep 0.005
ip netns del x
wait $!
rmmod native_probe
run "the device comes back when its namespace ends" wait_until 5 ip link show dev cap0
is "$(ticking)" 0 "and is down"
ip link set dev cap0 up
echo "capture n0 off" | control
refuse "capture off takes it away" ip link show dev cap0
is "$(cat "$HWSIM/n0/wire")" "" "and the record"

ip netns add y
echo "capture n0 on device=cap0" | control
ip link set dev cap0 netns y
ip -n y link set dev cap0 up
echo "capture n0 on device=cap1" | control
refuse "another name takes it away in whatever namespace" ip -n y link show dev cap0
ip link set dev cap1 netns y
ip -n y link set dev cap1 up
echo "delete n0" | control
refuse "so does deleting the NIC" ip -n y link show dev cap1
is "$(ticking)" 0 "nothing looks any more"
run "the module unloads" rmmod keepon_hwsim
done_testing
