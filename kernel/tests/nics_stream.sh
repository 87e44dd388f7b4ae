# SPDX-License-Identifier: GPL-2.0-only
# A keepon link on an Intel controller whose model paces the wire; the model's wire log is judged by the host. OURS,
# THEIRS: PCI addresses; STOCK: the kernel's driver at the far end; FRAMES: of a 1 ms stream; SLOT_BYTES; PREFETCH: said.
. /lib/keepon/test.sh

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

is_up() {
	ip link show "$1" | grep -q 'state UP'
}

run "the module loads" modprobe keepon_intel prefetch="$PREFETCH"
run "keepon loads" modprobe keepon
echo keepon_intel > "/sys/bus/pci/devices/$OURS/driver_override"
echo "$OURS" > /sys/bus/pci/drivers_probe
modprobe "$STOCK"
lower=$(ls "/sys/bus/pci/devices/$OURS/net")
far=$(ls "/sys/bus/pci/devices/$THEIRS/net")
ip netns add far
ip link set dev "$far" netns far name eth9
ip -n far addr add 10.0.0.2/24 dev eth9
ip -n far link set dev eth9 up
ip link set dev "$lower" up
run "carrier" wait_until 5 is_up "$lower"
run "a link" ip link add link "$lower" name rt0 type keepon slot_bytes "$SLOT_BYTES" partition 10 \
	class 1 slots 0 late strict class 0 slots rest late reschedule
ip addr add 10.0.0.1/24 dev rt0
ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
run "mqprio" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 \
	map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
phc2sys -s rt0 -O 0 -m > /out/phc2sys.txt 2>&1 &
sleep 3
ethtool -S rt0 > /out/before.stats
ip -d link show rt0 > /out/link.txt
ping -q -c 20 -i 0.05 10.0.0.2 > /out/ping.txt 2>&1 &
keepon-talk rt0 --period 1ms --offset 64 --advance 20ms --count "$FRAMES" --priority 8 --hw-stamps \
	--json /out/talk.json > /out/talk.txt 2>&1
is $? 0 "the talker"
sleep 1.5
ethtool -S rt0 > /out/after.stats
ip netns exec far ethtool -S eth9 > /out/far.stats
run "down" ip link set rt0 down
run "gone" ip link del rt0
run "the ring is the driver's again" sh -c "ip addr add 10.0.0.1/24 dev $lower"
run "carrier" wait_until 5 is_up "$lower"
is "$(ping -q -c 20 -i 0.01 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 20 "echoes over the ordinary card"
run "unloaded" rmmod keepon_intel
dmesg > /out/dmesg
done_testing
