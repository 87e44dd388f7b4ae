# SPDX-License-Identifier: GPL-2.0-only
# One of two stations, each in an emulator of its own, on one wire: a keepon link on the card of
# this machine, ptp4l on it, master or slave (ROLE). CARD: pc, its Intel controller at PCI address OURS,
# or pi, whose driver gets INDEX_DONE. For SECONDS_PTP a frame every 100 ms beside it, whose
# stamps in /out/talk.json and whose places in the wire's log tell the host what the clock was.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
. /lib/keepon/ptp.sh

case $CARD in
pc)
	modprobe keepon_intel prefetch=1
	driver=keepon_intel folder=/sys/bus/pci/devices/$OURS
	STATION=10.0.0.1 PEER=10.0.0.2
	;;
pi)
	modprobe keepon_genet prefetch=4 index_done="$INDEX_DONE"
	driver=keepon_genet folder=/sys/bus/platform/devices/fd580000.ethernet
	STATION=10.0.0.2 PEER=10.0.0.1
	;;
esac
modprobe keepon
bind_card $driver $folder && ok "a card" || fail "a card"
run "a link" ip link add link "$lower" name rt0 type keepon receive all batch 4
ip addr add $STATION/24 dev rt0
ip link set rt0 up
wait_until 10 is_up rt0 && ok "it runs" || fail "it runs"
# one is there in a second of virtual time, the other in ten
wait_until 60 ping -q -c 1 -W 1 $PEER && ok "the other is there" || fail "the other is there"
case $ROLE in
master) more="priority1 100" ;;
slave)
	more=
	only=-s
	# what it has to find: as if the crystals were 50 ppm apart, and the time is another one
	phc_ctl rt0 freq 50000 > /dev/null
	;;
esac
settings /tmp/ptp "uds_address /tmp/ptp.socket
neighborPropDelayThresh 1000000
$more"
ptp4l -H -P -f /tmp/ptp -m $only -i rt0 > /out/ptp4l.txt 2>&1 &
ptp=$!
sleep 5
run "the talker" keepon-talk rt0 --no-txtime --period 100ms --count $((SECONDS_PTP * 10)) \
	--size 100 --hw-stamps --json /out/talk.json
kill $ptp
wait $ptp
ethtool -S rt0 > /out/counters.txt
is "$(identity)" 0 "every frame has one verdict"
is "$(counter underruns) $(counter slips)" "0 0" "the wire never ran dry"
done_testing
