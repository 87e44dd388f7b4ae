# SPDX-License-Identifier: GPL-2.0-only
# keepon hwcheck where every access is watched: the ring is taken and given back, that of a
# simulated NIC and one over its ordinary driver. What is measured on so slow a machine means nothing.
. /lib/keepon/test.sh
. /lib/keepon/common.sh

export PYTHONPATH=/lib/keepon/python
for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
modprobe keepon_hwsim
modprobe keepon_hwcheck
modprobe keepon_generic held_up_us=20000

# watched NAME OPTIONS [hwcheck options]: twice over one card, which goes afterwards
watched() {
	_name=$1 _options=$2
	shift 2
	echo "nic sim0 seed=1 rate_bps=100000000 $_options" > $control
	echo "nic sim1 mode=ordinary seed=2 rate_bps=100000000" > $control
	echo "link sim0 sim1" > $control
	ip link set sim0 up
	ip link set sim1 up
	wait_until 10 is_running sim0
	for _round in 1 2; do
		_said=$("$PYTHON" -S -m keepon_host hwcheck sim0 --out "/out/$_name.json" \
			--peer sim1 "$@" 2>&1)
		_got=$?
		[ $_got -le 1 ] && ok "$_name: it came to an end" || {
			not_ok "$_name: exit code $_got"
			diag "$_said"
		}
	done
	echo "delete sim0" > $control
	echo "delete sim1" > $control
}

watched native "prefetch=8 index=done"
watched generic "mode=ordinary" --backend generic
for module in keepon_hwcheck keepon_generic keepon_hwsim keepon_native; do
	run "$module unloads" rmmod $module
done
done_testing
