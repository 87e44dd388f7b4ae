# SPDX-License-Identifier: GPL-2.0-only
# One of two stations, each in an emulator of its own, on one wire: ordinary cards, each by the
# kernel's own driver and by ours. CARD: pc, its Intel controller at PCI address OURS, STOCK the
# kernel's driver of it, or pi; DRIVERS: which one has it in each phase, stock or ours. A phase has
# echoes and TCP both ways, which the Pi asks for, for SECONDS_TCP, and then FRAMES by pktgen from
# either. /out/PHASE.txt: what was reached.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh

case $CARD in
pc)
	modprobe keepon_intel
	stock=$STOCK ours=keepon_intel folder=/sys/bus/pci/devices/$OURS
	STATION=10.0.0.1 PEER=10.0.0.2
	;;
pi)
	modprobe keepon_genet
	modprobe mdio_bcm_unimac
	stock=bcmgenet ours=keepon_genet folder=/sys/bus/platform/devices/fd580000.ethernet
	STATION=10.0.0.2 PEER=10.0.0.1
	modprobe genet
	;;
esac
modprobe -q "$stock"
modprobe pktgen

answers() {
	ping -q -c 1 -W 1 $PEER
}

asks() {
	iperf3 -c $PEER -t "$SECONDS_TCP" -O 0.2 -J "$@" > /tmp/iperf
}

# megabits iperf3-options: of TCP, as it arrived
megabits() {
	wait_until 60 asks "$@"
	grep -A 8 sum_received /tmp/iperf |
		sed -n 's/.*bits_per_second":[^0-9]*\([0-9]*\)[0-9]\{6\}\.*.*/\1/p'
}

serve() {
	iperf3 -s -1 > /dev/null && iperf3 -s -1 > /dev/null
}

# per_second BYTES: of frames that nobody takes, without FCS
per_second() {
	for line in "count $FRAMES" "pkt_size $1" "delay 0" "clone_skb 1000" "dst 10.0.0.9" \
		"dst_mac 02:00:00:00:00:09"; do
		echo "$line" > "/proc/net/pktgen/$lower"
	done
	echo start > /proc/net/pktgen/pgctrl
	sed -n 's/^ *\([0-9]*\)pps .*/\1/p' "/proc/net/pktgen/$lower"
}

phase=0
for who in $DRIVERS; do
	phase=$((phase + 1))
	[ $who = ours ] && driver=$ours || driver=$stock
	bind_card $driver $folder && ok "phase $phase: $driver" || fail "phase $phase: $driver"
	ip addr add $STATION/24 dev "$lower"
	wait_until 60 answers && ok "phase $phase: the other is there" || fail "phase $phase: alone"
	if [ $CARD = pi ]; then
		lost=$((1000 - $(ping -q -c 1000 -i 0.001 -s 1000 -W 1 $PEER |
			sed -n 's/.* \([0-9]*\) packets received.*/\1/p')))
		echo "lost=$lost out_mbps=$(megabits) in_mbps=$(megabits -R)" > /out/$phase.txt
	else
		run "phase $phase: TCP both ways" serve
	fi
	echo "add_device $lower" > /proc/net/pktgen/kpktgend_0
	echo "short_pps=$(per_second 60) long_pps=$(per_second 1514)" >> /out/$phase.txt
	echo rem_device_all > /proc/net/pktgen/kpktgend_0
	diag "$driver: $(cat /out/$phase.txt)"
done
done_testing
