# SPDX-License-Identifier: GPL-2.0-only
# One of two guests on a switch of their host, by virtio-net with four queues: $ROLE publisher or subscriber, neither of which knows
# of time-sensitive networking. /out/CASE-BYTES has the round trips. The gates of the publisher's classes are in the guest.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
modprobe virtio_net
run "its card" wait_until 5 ip link show eth0
run "four queues" ethtool -L eth0 combined 4
run "its speed, else taprio takes 10 Mb/s" ethtool -s eth0 speed 1000 duplex full
ip link set eth0 up
if [ "$ROLE" = subscriber ]; then
	ip addr add 10.0.0.2/24 dev eth0
	exec publisher
fi
ip addr add 10.0.0.1/24 dev eth0
run "the other guest" awaited 120 ping -c 1 -W 1 10.0.0.2

# published CASE BYTES PRIORITY
published() {
	run "$1, $2 bytes" sh -c "publisher 10.0.0.2 $2 300 1000000 $3 >/out/$1-$2"
}
published first 64 0
for bytes in 16 64 256; do
	published plain $bytes 0
done
classes="num_tc 4 map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 base-time 0 clockid CLOCK_TAI"
gates="sched-entry S 08 250000 sched-entry S 07 750000"
# shellcheck disable=SC2086 # words
run "taprio" tc qdisc replace dev eth0 parent root handle 100: taprio $classes $gates
published taprio 64 3
tc -s qdisc show dev eth0 >/out/qdiscs-taprio
run "ended" tc qdisc del dev eth0 root
# shellcheck disable=SC2086 # words
run "taprio by txtimes" tc qdisc replace dev eth0 parent root handle 100: taprio $classes $gates flags 0x1 txtime-delay 300000000
run "etf" tc qdisc replace dev eth0 parent 100:4 etf clockid CLOCK_TAI delta 200000000 skip_sock_check
published etf 64 3
tc -s qdisc show dev eth0 >/out/qdiscs-etf
done_testing
