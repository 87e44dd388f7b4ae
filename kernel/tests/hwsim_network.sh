# SPDX-License-Identifier: GPL-2.0-only
# Bridges with three stations, idle and overloaded, and launch times on the NIC beside launch times by software. Results to /out for
# test_hwsim.py.
. /lib/keepon/hwsim_common.sh

run "the module loads" modprobe keepon_hwsim
control <<X
bridge sw ports=4 processing_ns=2000
nic pa seed=1
nic pb seed=2 phc=pa
nic pc seed=3 phc=pa
link pa sw:0
link pb sw:1
link pc sw:2
capture pa on
X
station pa 10.0.0.1
station pb 10.0.0.2
station pc 10.0.0.3
wait_until 2 carrier pc
is "$(ping_count pa 10.0.0.2 5)" 5 "echoes through the bridge"
flooded=$(count pc rx_frames)
is "$(ping_count pa 10.0.0.2 5)" 5 "echoes again"
is "$(count pc rx_frames)" "$flooded" "the third station sees nothing of what is learned"
is "$(ping_count pc 10.0.0.1 5)" 5 "another pair"
echo "fcs 1" > "$HWSIM/pa/fault"
is "$(ping_count pa 10.0.0.2 2)" 1 "a broken frame ends at the bridge"
is "$(sed -n 's/^rx_fcs_errors //p' "$HWSIM/sw/stats" | tr '\n' ' ')" "1 0 0 0 " "counted at its ingress"
ip netns exec pb keepon-listen pb --count 20 --json /out/bridge-listen.json --duration 5s > /tmp/listen 2>&1 &
sleep 0.3
run "talker" ip netns exec pa keepon-talk pa --period 1ms --count 20 --base-time now+20ms --no-txtime --hw-stamps \
	--dst "$(ip -n pb -br link show dev pb | awk '{print $3}')" --json /out/bridge-talk.json
wait
cp "$HWSIM/pa/wire" /out/bridge-wire

# talk NIC PCP COUNT BYTES: frames to qc, from NIC's namespace
talk() {
	ip netns exec "$1" keepon-talk "$1" --period 20us --count "$3" --size "$4" --base-time now+5ms --no-txtime --vlan 5 --pcp "$2" \
		--dst "$far" --stream "$1-$2-$3" --linger 1ms > /dev/null || not_ok "talker on $1"
}

# overload BRIDGE QUEUE_FRAMES CLASSES: two NICs are stalled until they have all frames, then send to the third at once, twice what its
# wire carries. Behind a backlog of PCP 0 comes PCP 7, then PCP 3, then PCP 1, which goes before it nowhere.
overload() {
	printf '%s\n' "bridge $1 ports=3 queue_frames=$2 $3" "link qa $1:0" "link qb $1:1" "link qc $1:2" "capture qa on" "capture qb on" | control
	wait_until 2 carrier qc
	# The bridge learns, and the byte queue limits come into force with the first frame completed.
	is "$(ping_count qc 10.0.1.1 1) $(ping_count qb 10.0.1.3 1)" "1 1" "$1: both senders reach the third station"
	ip netns exec qc tcpdump -i qc -n -Z root -s 2000 --immediate-mode --time-stamp-precision=nano -j adapter_unsynced -w "/out/$1.pcap" \
		2> /tmp/dump &
	wait_until 5 grep -q 'listening on' /tmp/dump
	for nic in qa qb; do
		echo "stall 1000000000" > "$HWSIM/$nic/fault"
	done
	received=$(count qc rx_frames)
	talk qa 0 60 1522
	talk qb 0 30 1522
	talk qb 7 4 200
	talk qb 3 20 1522
	talk qb 1 10 1000
	sleep 1.2
	kill -INT $!
	wait $!
	cp "$HWSIM/qa/wire" "/out/$1.qa"
	cp "$HWSIM/qb/wire" "/out/$1.qb"
	dropped=$(sed -n 's/^tx_queue_drops //p' "$HWSIM/$1/stats" | tr '\n' ' ')
	is "$dropped" "0 0 $((124 - $(count qc rx_frames) + received)) " "$1: what did not arrive was dropped at the third port: $dropped"
	echo "delete $1" | control
}

control <<X
nic qa mode=ordinary queues=1 tx_ring=1024 seed=8
nic qb mode=ordinary queues=1 tx_ring=1024 seed=9 phc=qa
nic qc mode=ordinary seed=10 phc=qa
X
far=$(ip -br link show dev qc | awk '{print $3}')
for nic in qa qb qc; do
	# All frames stand in the ring when the stall ends.
	[ $nic = qc ] || echo 10000000 > /sys/class/net/$nic/queues/tx-0/byte_queue_limits/limit_min
	station $nic 10.0.1.$(($(printf %d "'${nic#q}") - 96))
done
refuse_line "bridge nine classes=102345677" "classes=102345677 is not 8 digits of 0 to 7"
overload deep 256
overload shallow 16 classes=00112233

control <<X
nic l0 mode=launchtime seed=4
nic l1 mode=ordinary seed=5 phc=l0
nic o0 mode=ordinary seed=6
nic o1 mode=ordinary seed=7 phc=o0
link l0 l1 propagation_ns=50
link o0 o1 propagation_ns=50
capture l0 on
capture o0 on
X
for nic in l0 l1 o0 o1; do
	ip link set dev $nic up
done
for nic in l0 o0; do
	run "mqprio on $nic" tc qdisc add dev $nic handle 100: parent root mqprio num_tc 3 \
		map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 hw 1
done
run "etf offload" tc qdisc replace dev l0 parent 100:1 etf clockid CLOCK_TAI delta 300000 offload
run "etf in software" tc qdisc replace dev o0 parent 100:1 etf clockid CLOCK_TAI delta 300000
refuse "no etf offload on an ordinary NIC" tc qdisc replace dev o0 parent 100:2 etf clockid CLOCK_TAI delta 300000 offload
for pair in "l0 l1" "o0 o1"; do
	from=${pair% *} to=${pair#* }
	keepon-listen "$to" --count 100 --json "/out/$to.json" --duration 5s > /tmp/listen 2>&1 &
	sleep 0.3
	run "talker on $from" keepon-talk "$from" --period 1ms --count 100 --base-time now+20ms --advance 500us --priority 3 \
		--vlan 5 --pcp 6 --hw-stamps --json "/out/$from.json"
	wait
	cp "$HWSIM/$from/wire" "/out/$from.wire"
	is "$(count "$to" rx_frames)" "$(count "$from" tx_frames)" "$from: all arrived"
done
is "$(count l0 tx_late_launches)" 0 "no launch was late"
run "the module unloads" rmmod keepon_hwsim
done_testing
