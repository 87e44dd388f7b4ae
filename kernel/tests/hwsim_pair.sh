# SPDX-License-Identifier: GPL-2.0-only
# Two NICs on one wire: command lines, carrier, ethtool, and each fault counted where it shows.
. /lib/keepon/hwsim_common.sh

run "the module loads" modprobe keepon_hwsim
refuse_line "nix n0" "nix is no command"
refuse_line "nic n0 prefetch=1025" "prefetch=1025 is out of range; use 0 to 1024"
refuse_line "nic n0 prefetch=many" "no whole number"
refuse_line "nic n0 colour=red" "colour is no option"
refuse_line "nic n0 mode=fast" "mode=fast is unknown; use ring or ordinary or launchtime"
refuse_line "nic n0 rate_bps=33333333" "rate_bps"
refuse_line "nic n0 fetch_ns=900 restart_ns=800" "restart_ns=800 is shorter than fetch_ns=900"
refuse_line "nic n0 fifo_bytes=1000" "fifo_bytes"
refuse_line "nic n0 mac=ff:ff:ff:ff:ff:ff" "mac="
refuse_line "nic n0 phc=nobody" "phc=nobody must name a NIC"
refuse_line "nic a/b" "needs one name"
refuse_line "bridge sw ports=17" "ports=17"
refuse_line "link n0 n1" "there is no n0"
refuse_line "delete n0" "needs the name"
is "$(ls "$HWSIM")" control "nothing was created by what was refused"

control <<X
nic n0 ppb=12500 mode=ring
# a comment, and a blank line

nic n1 ppb=-37000 mode=ordinary coalesce_us=100 coalesce_frames=4
X
refuse_line "nic n0" "n0 is there already"
refuse_line "link n0 n0" "has a wire already, or both are one"
refuse_line "link n0:1 n1" "n0 is a NIC; name it without a port"
echo "link n0 n1 propagation_ns=500" | control
refuse_line "link n0 n1" "has a wire already"
station n0 10.0.0.1
refuse "no carrier while the far end is down" carrier n0
station n1 10.0.0.2
run "carrier when both are up" wait_until 2 carrier n0
is "$(ping_count n0 10.0.0.2 5)" 5 "echoes come back"
like "$(ip netns exec n0 ethtool -i n0)" "driver: keepon_hwsim" "driver name"
like "$(ip netns exec n0 ethtool n0)" "Speed: 1000Mb/s" "speed"
like "$(ip netns exec n0 ethtool -T n0)" "hardware-transmit" "stamps in hardware"
like "$(ip netns exec n1 ethtool -c n1)" "tx-usecs:.100" "coalescing"
is "$(ip netns exec n0 ethtool -S n0 | sed -n 's/.*tx_frames: //p')" "$(count n0 tx_frames)" "ethtool and debugfs agree"

# faults of n0 show at n1
sent=$(count n0 tx_frames) got=$(count n1 rx_frames)
is "$got" "$sent" "what was sent arrived"
echo "fcs 3" > "$HWSIM/n0/fault"
ping_count n0 10.0.0.2 3 > /dev/null
is "$(count n0 tx_bad_fcs) $(count n1 rx_fcs_errors)" "3 3" "three wrong FCS sent, three seen"
is "$(count n1 rx_frames)" "$(count n0 tx_frames)" "none of them was taken"
echo "loss 2" > "$HWSIM/n0/fault"
is "$(ping_count n0 10.0.0.2 4)" 2 "two of four are lost"
is "$(count n0 tx_lost) $(count n1 rx_fcs_errors)" "2 3" "nobody sees what is lost"
echo "flap 50000000" > "$HWSIM/n0/fault"
refuse "no carrier during a flap" carrier n0
refuse "at both ends" carrier n1
run "carrier after a flap" wait_until 2 carrier n0
is "$(count n0 fault_flaps)" 1 "one flap counted"
is "$(ping_count n0 10.0.0.2 3)" 3 "echoes come back after it"
echo "stall 300000000" > "$HWSIM/n0/fault"
like "$(ip netns exec n0 ping -c 1 10.0.0.2 | grep 'time=')" "time=2[0-9][0-9]\." "a stall of 300 ms delays an echo"
is "$(count n0 fault_stalls)" 1 "one stall counted"
echo "drift 100000" > "$HWSIM/n0/fault"
is "$(count n0 fault_drifts)" 1 "one drift counted"
refuse "a fault that is none" sh -c "echo 'break 1' > $HWSIM/n0/fault"

ip netns exec n0 ethtool -s n0 speed 100 duplex full autoneg off
refuse "no carrier with unequal rates" carrier n0
ip netns exec n1 ethtool -s n1 speed 100 duplex full autoneg off
run "carrier with equal rates" wait_until 2 carrier n0
is "$(ping_count n0 10.0.0.2 2 -s 1400)" 2 "echoes at 100 Mb/s"

echo "unlink n0" | control
refuse "no carrier without a wire" carrier n0
run "deleted in another namespace" sh -c "echo 'delete n0' > $HWSIM/control"
refuse "the interface is gone" ip -n n0 link show dev n0
run "the module unloads with a NIC in it" rmmod keepon_hwsim
is "$(ls /dev/ptp* 2>/dev/null)" "" "no PHC is left"
done_testing
