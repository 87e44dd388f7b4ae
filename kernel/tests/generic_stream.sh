# SPDX-License-Identifier: GPL-2.0-only
# A keepon link with backend generic on a card behind the kernel's own driver; the card's model
# paces the wire, and the host judges what is in /out and the wire's log. OURS, THEIRS: PCI
# addresses; STOCK: the driver; FRAMES of a 1 ms stream.
. /lib/keepon/test.sh

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done

is_up() {
	ip link show "$1" | grep -q 'state UP'
}

echoes() {
	ping -q -c 20 -i "$1" -s 18 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

run "the driver loads" modprobe "$STOCK"
run "keepon loads" modprobe keepon
run "keepon_generic loads" modprobe keepon_generic
modprobe sch_mqprio
# As docs/nics.md says: it must not wait its turn among programs.
chrt -f -p 50 "$(pidof ksoftirqd/0)"
lower=$(ls "/sys/bus/pci/devices/$OURS/net")
far=$(ls "/sys/bus/pci/devices/$THEIRS/net")
ip netns add far
ip link set dev "$far" netns far name eth9
ip -n far addr add 10.0.0.2/24 dev eth9
ip -n far link set dev eth9 up
ip link set dev "$lower" up
run "carrier" wait_until 10 is_up "$lower"
sleep 3
run "a link" ip link add link "$lower" name rt0 type keepon receive all backend generic partition 10 \
	class 1 slots 0 late strict class 0 slots rest late reschedule
ip addr add 10.0.0.1/24 dev rt0
ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
run "two classes" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 \
	map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
phc2sys -s rt0 -O 0 -m > /out/phc2sys.txt 2>&1 &
sleep 2.5
ethtool -S rt0 > /out/before.txt
echoes 0.02 > /out/echoes.txt &
run "the talker" keepon-talk rt0 --period 1ms --offset 64 --advance 20ms --count "$FRAMES" \
	--priority 8 --size 100 --json /out/talk.json
sleep 0.6
is "$(cat /out/echoes.txt)" 20 "echoes come back in the slots between"
ethtool -S rt0 > /out/counters.txt
run "down" ip link set rt0 down
run "gone" ip link del rt0
run "the card is an ordinary one again" ip addr add 10.0.0.1/24 dev "$lower"
is "$(echoes 0.01)" 20 "echoes come back over it"
run "unloaded" rmmod keepon_generic
dmesg > /out/dmesg.txt
done_testing
