# SPDX-License-Identifier: GPL-2.0-only
# The lent ring, driven by native_probe: wire record to /out for test_hwsim.py, counters here.
. /lib/keepon/hwsim_common.sh

run "the module loads" modprobe keepon_hwsim
# said NAME: what native_probe said last
said() {
	dmesg | sed -n "s/.*native_probe: $1=//p" | tail -1
}

# whole TEXT: everything the ring sent has arrived or is accounted for
whole() {
	is "$(count n1 rx_frames)" "$(count n0 tx_frames)" "$1: good frames"
	is "$(count n1 rx_placeholders)" "$(count n0 tx_placeholders)" "$1: placeholders"
	is "$(count n1 rx_fcs_errors)" "$(($(count n0 tx_placeholders) + $(count n0 tx_bad_fcs)))" \
		"$1: the FCS check saw exactly these"
}

# every_slot TEXT: the first life of the ring is whole in the record
every_slot() {
	is "$(($(count n0 tx_frames) + $(count n0 tx_placeholders)))" "$(sed -n 's/^reset slots=//p' "$HWSIM/n0/wire" | head -1)" \
		"$1: every slot is a frame or a placeholder"
}

for kind in "index=done" "index=done persistent=0 clobbers=1 index_lag_ns=0-700 index_read_ns=800 cpu_tick_ns=18.5" \
	"index=fetch fifo_bytes=3100 coherent=0"; do
	control <<X
nic n0 ppb=12500 seed=7 $kind
nic n1 ppb=-37000 mode=ordinary
link n0 n1 propagation_ns=50
capture n0 on
X
	ip link set dev n0 up
	station n1 10.0.0.2
	wait_until 2 carrier n1
	is "$(sed -n 's/^tx_placeholders //p' "$HWSIM/n0/stats")" 0 "$kind: no placeholder before"
	run "$kind: the probe runs" modprobe native_probe dev=n0 polls=200
	rmmod native_probe
	is "$(said second_claim) $(said index_after_reset)" "-16 0" "$kind: one owner, fresh after reset"
	every_slot "$kind"
	is "$(count n0 tx_underruns) $(count n0 tx_torn) $(count n0 tx_halts) $(count n0 tx_clobbered) $(count n0 tx_stale)" \
		"0 0 0 0 0" "$kind: served in time"
	case $kind in
	*18.5*) is "$(said cpu_tick_ns) $(said off_grid)" "19 0" "$kind: the CPU's counter has 54 MHz" ;;
	*) like "$(said cpu_tick_ns) $(said off_grid)" '^1 [1-9][0-9]+$' "$kind: the CPU's counter has 1 GHz" ;;
	esac
	whole "$kind"
	cp "$HWSIM/n0/wire" "/out/wire-$(echo "$kind" | cut -c7-10)-$(echo "$kind" | wc -w)"

	run "$kind: the probe tears, stalls and comes late" modprobe native_probe dev=n0 polls=300 tear=1 stall_us=4000 late=1
	rmmod native_probe
	case $kind in
	*coherent=0*) is "$(count n0 tx_torn) $(count n1 rx_torn)" "0 0" "$kind: what is not written back tears nothing" ;;
	*) is "$(count n0 tx_torn) $(count n1 rx_torn)" "1 1" "$kind: the torn frame has a good FCS and is taken" ;;
	esac
	is "$(count n0 tx_underruns)" 1 "$kind: the stall is one underrun"
	whole "$kind, disturbed"
	late=$(said late_slot)
	is "$(sed -n 's/^frame seq=\([0-9]*\) .*head=ffffffffffff02020202020288b5eeee.*/\1/p' "$HWSIM/n0/wire" | head -1)" \
		"$((late + 256))" "$kind: what came too late left a ring later"
	ip link set dev n0 addr 02:00:00:00:00:01
	ip addr add 10.0.0.1/24 dev n0
	is "$(ping -q -c 3 -i 0.01 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 3 "$kind: the ordinary driver is back"
	printf 'delete n0\ndelete n1\n' | control
	ip netns del n1
done

# ring_pair [OPTIONS]: n0 with these options, whose ring is free, and n1
ring_pair() {
	control <<X
nic n0 seed=7 $*
nic n1 mode=ordinary
link n0 n1
capture n0 on
X
	ip link set dev n0 up
	station n1 10.0.0.2
	wait_until 2 carrier n1
}

end_pair() {
	printf 'delete n0\ndelete n1\n' | control
	ip netns del n1
}

ring_pair coherent=0
run "a driver that does not write back the last 50 bytes" modprobe native_probe dev=n0 polls=200 unwritten=50
rmmod native_probe
is "$(count n0 tx_stale) $(count n0 tx_torn)" "$(($(count n0 tx_frames) - 1)) 0" \
	"each frame but the first, which ends in zeros, leaves with old bytes"
is "$(count n1 rx_frames) $(count n1 rx_torn)" "$(count n0 tx_frames) 0" "and nobody sees it"
end_pair
ring_pair coherent=1
run "where memory is coherent" modprobe native_probe dev=n0 polls=200 unwritten=50
rmmod native_probe
is "$(count n0 tx_stale)" 0 "that is no mistake"
run "a driver that zeroes its buffers before it halts the NIC" modprobe native_probe dev=n0 polls=200 wipe=1
rmmod native_probe
like "$(count n0 tx_torn)" '^[1-9]' "sends frames of zeros"
is "$(count n1 rx_torn) $(count n1 rx_fcs_errors)" "$(count n0 tx_torn) $(count n0 tx_placeholders)" \
	"with a good FCS: the far end takes them"
is "$(grep -c 'verdict=torn head=000000000000' "$HWSIM/n0/wire")" "$(count n0 tx_torn)" "and the record shows them"
end_pair
ring_pair persistent=0 clobbers=1 rearm_shadow=0
run "a NIC that overwrites lengths, and a driver without a copy" modprobe native_probe dev=n0 polls=200
rmmod native_probe
like "$(count n0 tx_clobbered)" '^[1-9]' "the NIC halts at the descriptors of the first lap: $(count n0 tx_clobbered)"
is "$(($(count n0 tx_frames) + $(count n0 tx_placeholders)))" 257 "which was sent, and the one slot described since"
end_pair
refuse_line "nic n0 clobbers=1" "clobbers=1 needs descriptors that are written back"

ring_pair
modprobe native_probe dev=n0 polls=2000 &
sleep 0.02
echo "flap 30000000" > "$HWSIM/n0/fault"
wait
rmmod native_probe
total=$(count n0 tx_placeholders) arrived=$(count n1 rx_placeholders)
like "$((total - arrived))" "^(2999|3000|29[0-9][0-9]|30[0-4][0-9])$" "a flap of 30 ms swallows 3000 slots of 10 us less its frames"
is "$(count n1 rx_frames)" "$(count n0 tx_frames)" "and the frames it cut are counted: $(count n0 tx_cut)"
placeholders_before=$(count n1 rx_placeholders)
run "placeholders with a good FCS" modprobe native_probe dev=n0 polls=200 placeholder=1
rmmod native_probe
is "$(count n1 rx_placeholders)" "$placeholders_before" "are no FCS errors"
is "$(count n1 rx_control)" "$(($(count n0 tx_placeholders) - total))" "but counted as control frames"
echo "nic n2 mode=ordinary" | control
refuse "an ordinary NIC lends no ring" modprobe native_probe dev=n2
like "$(said query)" "^-95 the NIC is in another mode" "and says why"
run "the module unloads" rmmod keepon_hwsim
done_testing
