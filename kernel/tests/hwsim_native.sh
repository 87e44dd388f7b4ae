# SPDX-License-Identifier: GPL-2.0-only
# What a driver tells the owner of its ring, by native_probe hold=1: stop, ready and lost; and an index that stands still.
. /lib/keepon/hwsim_common.sh

said() {
	dmesg | sed -n "s/.*native_probe: $1=//p" | tail -1
}

# notified: sets $news to the notifications of the driver to the owner, in order, since the last call
heard=0
notified() {
	dmesg | grep -oE 'native_probe: (stop|ready|lost)=[01]' > /tmp/notified
	sed -n "$((heard + 1)),\$s/native_probe: //p" /tmp/notified | tr '\n' ' ' > /tmp/news
	heard=$(wc -l < /tmp/notified)
	news=$(cat /tmp/news)
}

sent() {
	echo $(($(count n0 tx_frames) + $(count n0 tx_placeholders)))
}

# moving: slots leave
moving() {
	_before=$(sent)
	sleep 0.01
	[ "$(sent)" -gt "$_before" ]
}

run "the registry loads alone" modprobe keepon_native
run "the module loads" modprobe keepon_hwsim
refuse "the registry stays as long as it is used" rmmod keepon_native
control <<X
nic n0 seed=7 flow_control=1
nic n1 mode=ordinary
link n0 n1
X
ip link set dev n0 up
station n1 10.0.0.2
wait_until 2 carrier n1
run "an owner comes" modprobe native_probe dev=n0 hold=1
is "$(said second_attach)" -16 "there is one at a time"
is "$(said pause_ns_max) $(said poll_ns_min) $(said store_ns_max)" "33587474 5000 0" "limits at 1 Gb/s"
is "$(said claims)" "f context=0" "all claims, hard interrupt context"
refuse "the driver stays as long as its ring is lent" rmmod keepon_hwsim
run "slots leave" moving
notified
is "$news" "" "no notification"

refuse "no ring of one frame" ethtool -G n0 tx 1
run "ethtool -G" ethtool -G n0 tx 512
notified
is "$news" "stop=1 ready=0 " "the ring was given back before, and taken again after"
run "slots leave again" moving
like "$(ethtool -g n0 | sed -n '/^Current/,$p')" "TX:.*512" "the new size"

echo "freeze 1" > "$HWSIM/n0/fault"
sleep 0.05
echo "freeze 0" > "$HWSIM/n0/fault"
run "an index that stood still goes on" moving
refuse_line "remove n9" "needs the name of a NIC"
refuse_line "insert n0" "n0 is in its socket"
echo "remove n0" | control
notified
is "$news" "lost=1 " "the owner hears of a removal"
wait_until 2 sh -c 'dmesg | grep -q given_back'
is "$(said index_gone)" 1 "every register reads as all ones"
refuse "no slot leaves any more" moving
refuse "no carrier at the far end" carrier n1
run "nor at the near end, a little later" wait_until 2 sh -c '! ip link show dev n0 | grep -q LOWER_UP'
refuse_line "remove n0" "n0 was removed already"
is "$(count n1 rx_frames) $(count n1 rx_placeholders)" "$(count n0 tx_frames) $(count n0 tx_placeholders)" \
	"what was on the wire is cut"
echo "insert n0" | control
notified
is "$news" "ready=0 " "the owner hears that it is back"
wait_until 2 carrier n1
run "and slots leave" moving
run "the owner goes" rmmod native_probe
like "$(said still_polls_max)" '^[1-9][0-9]{2,}$' "the frozen index was seen"
echo "remove n0" | control
refuse "a removed NIC has no ring to lend" modprobe native_probe dev=n0
like "$(said query)" "^-95 the NIC was removed" "and says so"
echo "insert n0" | control
is "$(count n0 tx_dropped)" 0 "no frame lacked memory"
wait_until 2 carrier n1
ip addr add 10.0.0.1/24 dev n0
is "$(ping -q -c 3 -i 0.01 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 3 "the ordinary driver is back"
run "the module unloads" rmmod keepon_hwsim
run "and the registry" rmmod keepon_native
done_testing
