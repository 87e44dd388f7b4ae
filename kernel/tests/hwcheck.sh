# SPDX-License-Identifier: GPL-2.0-only
# keepon hwcheck on simulated NICs that do what they say, and on some that do not; documents go to
# /out.
. /lib/keepon/test.sh
. /lib/keepon/common.sh

export PYTHONPATH=/lib/keepon/python
hwcheck() {
	"$PYTHON" -S -m keepon_host hwcheck "$@"
}

# checked NAME EXIT PATTERN OPTIONS [hwcheck options]: a pair of NICs, the first one with OPTIONS
checked() {
	_name=$1 _code=$2 _pattern=$3 _options=$4
	shift 4
	echo "nic sim0 seed=1 ppb=20000 $_options" > $control
	echo "nic sim1 mode=ordinary seed=2 ppb=-30000 $far_options" > $control
	echo "link sim0 sim1 propagation_ns=50" > $control
	ip link set sim0 up
	ip link set sim1 up
	wait_until 3 is_running sim0
	_said=$(hwcheck sim0 --out "/out/$_name.json" "$@" 2>&1)
	_got=$?
	is "$_got" "$_code" "$_name: exit code" || diag "$_said"
	like "$_said" "$_pattern" "$_name: $_pattern"
	echo "delete sim0" > $control
	echo "delete sim1" > $control
}

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
modprobe keepon_hwsim
like "$(hwcheck lo 2>&1)" "modprobe keepon_hwcheck first" "without the module"
modprobe keepon_hwcheck
modprobe keepon_generic
like "$(hwcheck lo 2>&1)" 'NAME = "lo": its driver has no ring to lend' "no ring"
like "$(hwcheck lo --peer nobody 2>&1)" 'option --peer = "nobody": is no interface here' "no peer"
checked done 0 "sim0: safe to use" "prefetch=8 index=done" --peer sim1
checked fetch 0 "sim0: safe to use" "prefetch=12 index=fetch fragments=8" --peer sim1
checked written_back 0 "sim0: safe to use" "prefetch=4 index=done persistent=0 fragments=8" --peer sim1
checked alone 1 "not shown to be safe: not measured: prefetch, bad FCS" "prefetch=8 index=done"
checked deeper_done 1 "not safe to use: prefetch: said 4 slots, measured (1[56]|15 to 16) slots" \
	"prefetch=16 claim_prefetch=4 index=done" --peer sim1
checked deeper_fetch 1 "not safe to use: index to wire: said" \
	"prefetch=32 claim_prefetch=4 index=fetch" --peer sim1
far_options=rate_bps=100000000
checked generic 0 "sim0: safe to use" "mode=ordinary rate_bps=100000000" --peer sim1 \
	--backend generic
run "unloaded" rmmod keepon_hwcheck
done_testing
