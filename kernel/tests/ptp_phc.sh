# SPDX-License-Identifier: GPL-2.0-only
# The PHC of a keepon link as programs use it: cross reads, phc2sys as published, virtual clocks; and clocks that are not ours.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
far_upper
value() {
	printf '%s\n' "$result" | sed -n "s/^$1 //p"
}
within() { # VALUE BOUND TEXT: in magnitude
	[ "${1#-}" -le "$2" ] && ok "$3: $1" || not_ok "$3: $1, allowed $2"
}

# ---- cross reads, in every clock mode, with the wire up and down
for how in "interpolated up" "counter up" "interpolated down"; do
	upper clock "${how% *}" batch 1
	wait_until 3 is_running rt0
	[ "${how#* }" = down ] && ip link set rt0 down
	sleep 0.3
	result=$(ptp_probe extended "$(phc rt0)" 40)
	diag "$result"
	is "$(value phc_backward) $(value system_backward) $(value not_around)" "0 0 0" \
		"$how: 1000 readings in order, each between two of the system clock"
	within "$(value window_ns)" 4000 "$how: longest read, ns"
	# the counter is as old as the last poll: with batch 1 up to two slots of 100 us
	spread=3000
	[ "${how% *}" = counter ] && spread=200000
	within "$(value spread_ns)" $spread "$how: the PHC against the system clock moves by, ns"
	is "$(ptp_probe precise "$(phc rt0)")" "Operation not supported" "$how: PTP_SYS_OFFSET_PRECISE is refused"
	ip link del rt0
done

# ---- phc2sys as in listing 3 of the paper
upper batch 4
wait_until 3 is_running rt0
n=$(phc rt0)
is "$(ptp_probe pps "$n")" "Operation not supported" "PTP_ENABLE_PPS is refused"
result=$(ptp_probe extended "$n" 1)
before=$(value offset_ns)
phc_ctl "/dev/ptp$n" -- adj 0.004 >/dev/null 2>&1
phc2sys -s "/dev/ptp$n" -O 0 -m >/out/phc2sys.log 2>&1 &
servo=$!
sleep 8
result=$(ptp_probe extended "$n" 4)
diag "offset before $before ns; $result"
within "$(value offset_ns)" 1000 "phc2sys: the system clock follows, off by ns"
kill $servo
wait $servo
# Its own numbers: 4 ms at first, then 20 ppm and what the start left
first=$(sed -n 's/.* offset *\(-\{0,1\}[0-9]*\) s0 .*/\1/p' /out/phc2sys.log | head -n 1)
worst=$(sed -n 's/.* offset *\(-\{0,1\}[0-9]*\) s2 .*/\1/p' /out/phc2sys.log | tail -n 3 | tr -d - | sort -n | tail -n 1)
[ "${first#-}" -ge 3000000 ] && ok "it began with $first ns" || not_ok "it began with $first ns"
within "${worst:-999999999}" 1000 "of the last three offsets it saw the worst is, ns"

# ---- virtual clocks
virtual=/sys/class/ptp/ptp$n
run "two virtual clocks" sh -c "echo 2 >$virtual/n_vclocks"
set -- $(ls -d "$virtual"/ptp* | sed 's/.*ptp//')
is $# 2 "they are there"
# phc_ctl says so and succeeds all the same
like "$(phc_ctl "/dev/ptp$n" freq 1000 2>&1)" "resource busy" "the clock beneath them cannot be adjusted"
difference() {
	ptp_probe compare "$1" "$2" 1 0 | cut -d' ' -f2
}
start=$(difference "$1" "$2")
within "$start" 1000000 "each began at the time of day when it was made"
# phc_ctl 3.1.1 cannot step a clock back
phc_ctl "/dev/ptp$1" -- adj 5 >/dev/null 2>&1
phc_ctl "/dev/ptp$2" -- adj 2 >/dev/null 2>&1
within $((start - $(difference "$1" "$2") - 3000000000)) 3000 "each has its own offset, besides"
phc_ctl "/dev/ptp$1" -- freq 10000 >/dev/null 2>&1
phc_ctl "/dev/ptp$2" -- freq -20000 >/dev/null 2>&1
start=$(difference "$1" "$2")
sleep 1
drift=$(($(difference "$1" "$2") - start))
within $((drift + 30000)) 3000 "30 ppm apart they part by 30 us a second, off by ns"
run "none again" sh -c "echo 0 >$virtual/n_vclocks"
run "and the clock beneath can be adjusted" phc_ctl "/dev/ptp$n" freq 0

# ---- clocks that are not ours: etf, taprio, sockets
tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 1
for clock in CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_BOOTTIME; do
	refuse "etf by $clock" tc qdisc replace dev rt0 parent 100:1 etf clockid $clock delta 1000000 offload
done
tc qdisc del dev rt0 root
run "taprio, offloaded" tc qdisc replace dev rt0 parent root handle 100 taprio num_tc 2 \
	map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time 1000000000 sched-entry S 03 1000000 flags 0x2
tc qdisc del dev rt0 root
ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev rt0
# realtime 0, monotonic 1, TAI 11; boottime 7
for clock in 0 1; do
	invalid=$(counter rt0 verdict_invalid)
	is "$(ptp_probe txtime rt0 $clock 2000000 10)" "refused 10" "txtimes of clock $clock: each is refused and reported"
	is $(($(counter rt0 verdict_invalid) - invalid)) 10 "and counted"
done
case $(ptp_probe txtime rt0 7 2000000 10) in
"refused 10" | "SO_TXTIME Invalid argument") ok "txtimes of clock 7: refused by us, or by the kernel" ;;
*) not_ok "txtimes of clock 7" ;;
esac
is "$(ptp_probe txtime rt0 11 2000000 10)" "refused 0" "txtimes of CLOCK_TAI are ours"
run "fq" tc qdisc replace dev rt0 root fq
is "$(ptp_probe txtime rt0 1 2000000 10)" "refused 0" "times of CLOCK_MONOTONIC that fq has waited for"
is "$(identity rt0)" 0 "every frame is accounted for"
done_testing
