# SPDX-License-Identifier: GPL-2.0-only
# More frames at once than the GENET of an emulated Raspberry Pi 4 has descriptors: each frame that
# the guest sends makes the host flood it with FRAMES, in the host's time. The thread that takes
# them from the ring has the CPU only while nothing else wants it. What was counted is in /out.
. /lib/keepon/test.sh

device=fd580000.ethernet

is_up() {
	ip link show eth0 | grep -q 'state UP'
}

frames_on_wire() {
	ethtool -S eth0 | awk '$1 == "rx_frames_on_wire:" { print $2 }'
}

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
run "the driver loads" modprobe keepon_genet
echo keepon_genet > "/sys/bus/platform/devices/$device/driver_override"
echo "$device" > /sys/bus/platform/drivers_probe
ip addr add 10.0.2.15/24 dev eth0
ip link set dev eth0 up
run "carrier" wait_until 5 is_up
ip neigh add 10.0.2.2 lladdr 52:55:0a:00:02:02 dev eth0
echo 1 > /sys/class/net/eth0/threaded
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
chrt -f -p 50 $$
burst=0
while [ "$burst" -lt "$BURSTS" ]; do
	burst=$((burst + 1))
	ping -q -c 1 -W 1 10.0.2.2 > /dev/null &
	until [ "$(frames_on_wire)" -ge $((burst * FRAMES)) ]; do
		:
	done
done
chrt -o -p 0 $$
sleep 0.1
ethtool -S eth0 > /out/counters.txt
cp /sys/class/net/eth0/statistics/rx_packets /sys/class/net/eth0/statistics/rx_missed_errors /out
run "down" ip link set dev eth0 down
run "up" ip link set dev eth0 up
ethtool -S eth0 > /out/after.txt
done_testing
