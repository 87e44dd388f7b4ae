# SPDX-License-Identifier: GPL-2.0-only
# ptp4l between two stations at 100 Mb/s, for $SECONDS_PTP s after it began to steer, one way after the other ($WAYS), crystals
# 50 ppm apart. In /out WAY.offsets, the clocks against each other, and WAY.log, what ptp4l said; test_ptp.py judges.
#
#   interpolated   between keepon devices; interpolated-calibrated: with $INGRESS_NEAR and $INGRESS_FAR as ptp4l's ingressLatency
#   dual           the same, both rings counted
#   ...-short      with slots of 25.6 us instead of 100 us, polled as often in proportion
#   counter        between keepon devices, the PHC read as a counter of slots, polled in each slot
#   hardware       between the NICs as they are, which stamp in hardware (-H)
#   software       between the same, stamps of the stack (-S): both ends have one clock, so nothing is steered, and what ptp4l takes
#                  for its offset is its error
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000

# begin STAMPS NEAR FAR: a master here, a slave in namespace b
begin() {
	settings /tmp/near "uds_address /tmp/near.s
priority1 100
[$2]
ingressLatency $near_ns"
	settings /tmp/far "uds_address /tmp/far.s
$free
[$3]
ingressLatency $far_ns"
	ptp4l "$1" -P -f /tmp/near -m -i "$2" >"/out/$way.master.log" 2>&1 &
	master=$!
	ip netns exec b ptp4l "$1" -P -f /tmp/far -m -s -i "$3" >"/out/$way.log" 2>&1 &
	slave=$!
}

end() {
	kill $slave $master
	wait $slave $master
}

# look DEVICE FAR SECONDS: about 36 readings a second, at no phase in particular
look() {
	ptp_probe compare "$(phc "$1")" "$(far_phc "$2")" $(($3 * 36)) 27700 >>"/out/$way.offsets"
}

# How long a port takes to find its master differs by seconds.
watch() {
	for _ in $(seq 15); do
		grep -q " s2 " "/out/$way.log" && break
		look "$1" "$2" 1
	done
	look "$1" "$2" "$SECONDS_PTP"
}

for way in $WAYS; do
	free="free_running 0"
	near_ns=0
	far_ns=0
	clock=interpolated
	batch=4
	slot_bytes=1230
	case $way in
	counter)
		clock=counter
		batch=1
		;;
	dual*) clock=dual ;;
	interpolated-calibrated)
		near_ns=$INGRESS_NEAR
		far_ns=$INGRESS_FAR
		;;
	esac
	case $way in
	counter | dual* | interpolated*)
		[ "$way" = "${way%-short}" ] || slot_bytes=300
		upper batch $batch clock $clock slot_bytes $slot_bytes
		far_upper batch $batch clock $clock slot_bytes $slot_bytes
		wait_until 3 is_running rt0 && wait_until 3 in_b is_running rt1
		begin -H rt0 rt1
		watch rt0 rt1
		end
		is "$(identity rt0)" 0 "$way: every frame of the master is accounted for"
		is "$(counter rt0 underruns) $(in_b counter rt1 underruns)" "0 0" "$way: the wires never ran dry"
		is "$(counter rt0 rx_ring_stops) $(in_b counter rt1 rx_ring_missed)" "0 0" "$way: nor did anybody lose sight of them"
		ip link del rt0
		ip -n b link del rt1
		;;
	hardware)
		begin -H sim0 sim1
		watch sim0 sim1
		end
		;;
	software)
		free="free_running 1"
		begin -S sim0 sim1
		sleep "$SECONDS_PTP"
		end
		;;
	esac
	[ -s "/out/$way.log" ] && ok "$way: ran" || not_ok "$way: ptp4l said nothing"
done
done_testing
