# SPDX-License-Identifier: GPL-2.0-only
# The kernel's ptp/phc.sh and ptp/testptp on the clock of a keepon link whose wire runs. 10 Mb/s: they wait for minutes, and
# slots that last longer are fewer. No frame takes several: the clock can be as fast as trims of each slot make it; phc.sh asks
# for 1 %, which takes trims of 16 bytes.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 10000000
upper slot_bytes 1318 frame_bytes 0 trim_down 16 trim_up 16
wait_until 2 is_running rt0
clock=/dev/ptp$(phc rt0)
cd /lib/selftests/ptp || exit 1

# testptp PATTERN TEXT OPTIONS ...: what it prints; its exit code says nothing of what the kernel answered
testptp() {
	_pattern=$1 _text=$2
	shift 2
	like "$(./testptp -d "$clock" "$@" 2>&1)" "$_pattern" "testptp $*: $_text"
}
testptp "10000000 maximum frequency adjustment" "1 %" -c
testptp "0 programmable pins" "none" -c
testptp "clock time: 17[0-9]*\.[0-9]* or" "the time" -g
testptp "set time okay" "set" -T 1000000
testptp "clock time: 1000000\." "is what was set" -g
testptp "time shift okay" "shifted" -t 50
testptp "clock time: 1000050\." "by 50 s" -g
testptp "frequency adjustment okay" "faster" -f 100000
testptp "frequency adjustment okay" "and not" -f 0
testptp "set time okay" "from the system's" -s
testptp "system and phc clock time offset request okay" "offsets" -k 5
is "$(./testptp -d "$clock" -k 5 | awk '/offset is/ { n++; d = $6; if (d < 0) d = -d; if (d > 1000000) n = 99 } END { print n }')" 5 \
	"five, none beyond a millisecond"
testptp "extended timestamp request returned 5 samples" "with the system's time around" -x 5
testptp "PTP_SYS_OFFSET_PRECISE: Operation not supported" "no cross time stamps" -X
testptp "PTP_PEROUT_REQUEST: Invalid argument" "no periodic output" -p 1000000000
testptp "PTP_ENABLE_PPS: Operation not supported" "no pulse per second" -P 1
said=$(bash ./phc.sh rt0 2>&1)
is "$?" 0 "phc.sh"
is "$(printf '%s\n' "$said" | grep -c '\[ OK \]')" 3 "phc.sh: settime, adjtime, adjfreq"
diag "$said"
is "$(counter rt0 underruns)" 0 "the wire stayed full"
done_testing
