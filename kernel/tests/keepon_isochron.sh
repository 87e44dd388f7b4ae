# SPDX-License-Identifier: GPL-2.0-only
# isochron between two keepon links, or two cards that have one, at 100 Mb/s, whose clocks ptp4l sets, its own checks of them left
# out and not. No frame is lost, each has a stamp at both ends. Its logs come back in /out.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
wire 100000000
# It gives up at the first frame that leaves a nanosecond before its time. A slot may begin half a byte early, and by default is
# taken for a txtime a byte later: so no tolerance, and times a byte behind those at which slots begin.
upper slot_bytes 1318 tolerance_ns 0
far_upper slot_bytes 1318
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
ping -q -c 2 10.0.0.2 >/dev/null

settings /tmp/near.cfg "utc_offset 0
uds_address /tmp/near"
settings /tmp/far.cfg "utc_offset 0
uds_address /tmp/far
priority1 250"
phc2sys -s $near -O 0 -m >/out/phc2sys.txt 2>&1 &
ptp4l -f /tmp/near.cfg -i $near -m >/out/near.log 2>&1 &
in_b ptp4l -f /tmp/far.cfg -i $far -m >/out/far.log 2>&1 &
wait_until 30 grep -q "UNCALIBRATED to SLAVE" /out/far.log && ok "the clocks meet" || not_ok "the clocks meet"
sleep 8
in_b isochron rcv -i $far -U /tmp/far -t 1 -O 0 -q >/out/rcv.txt 2>&1 &
sleep 0.5
# isochron NAME OPTIONS ...: 400 frames, one every 2 ms
isochron_sends() {
	_name=$1
	shift
	run "isochron, $_name" timeout 120 isochron send -i $near -C 10.0.0.2 -n 400 -c 0.002 -a 0.001 -S 0.000000080 -s 100 -x -O 0 -q -F "/tmp/$_name" "$@"
	diag "$_output"
	isochron report -F "/tmp/$_name" -f "%u %d %d %d\n" -a qSTR >"/out/$_name.frames"
	is "$(awk '$3 && $4' "/out/$_name.frames" | wc -l)" 400 "each frame arrived, with a stamp at both ends"
	isochron report -F "/tmp/$_name" -m >"/out/$_name.txt" 2>&1
	diag "$(cat "/out/$_name.txt")"
}
isochron_sends omitted --omit-sync
isochron_sends checked -U /tmp/near -t 1 -X 10000
diag "$(ethtool -S rt0 | grep 'verdict_.*[1-9]')"
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)" 0 "the wire stayed full"
done_testing
