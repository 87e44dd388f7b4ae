# SPDX-License-Identifier: GPL-2.0-only
# Loaded and unloaded ROUNDS times while frames are on the wire and captured; NICs, their captures and namespaces with a capture device
# deleted under traffic. A warning in the log fails the run.
. /lib/keepon/hwsim_common.sh

plan $((ROUNDS + 1))
round=0
while [ $round -lt "$ROUNDS" ]; do
	round=$((round + 1))
	modprobe keepon_hwsim
	control <<X
bridge sw ports=2
nic n0 mode=ring
nic n1 mode=launchtime phc=n0
link n0 sw:0
link n1 sw:1
capture n0 on records=64 device=cap0
capture n1 on records=64 device=cap1
X
	station n0 10.0.0.1
	station n1 10.0.0.2
	ip link set dev cap0 up
	ip netns add x
	ip link set dev cap1 netns x
	ip -n x link set dev cap1 up
	tcpdump -i cap0 -n -Z root -s 2000 -w /tmp/pcap > /tmp/dump 2>&1 &
	ip netns exec n0 ping -q -c 30 -i 0.001 10.0.0.2 > /dev/null 2>&1 &
	ip netns exec n1 ping -q -c 30 -s 1400 -i 0.001 10.0.0.1 > /dev/null 2>&1 &
	sleep "0.0$((round % 10))"
	case $((round % 4)) in
	0) echo "delete n0" | control ;;
	1) echo "delete sw" | control ;;
	2) echo "flap 10000000" > "$HWSIM/n1/fault" ;;
	3) echo "capture n0 off" | control ;;
	esac
	[ $((round % 3)) = 0 ] && ip netns del x
	run "round $round" rmmod keepon_hwsim
	ip netns del n0
	ip netns del n1
	[ $((round % 3)) = 0 ] || ip netns del x
	wait
done
is "$(ls -d "$HWSIM" /sys/class/ptp/* 2>/dev/null)" "" "nothing is left"
