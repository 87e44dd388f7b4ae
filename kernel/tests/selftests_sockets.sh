# SPDX-License-Identifier: GPL-2.0-only
# The kernel's net/so_txtime.sh with keepon links for its veth pair; then net/txtimestamp over a keepon link, in the ways of txtimestamp.sh, which itself is about lo and ifb.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 1000000000
cd /lib/selftests/net || exit 1
ip -n b link set sim1 netns 1

so_txtime() {
	LINK_OPTIONS=$* PATH=/lib/keepon/selftests:$PATH bash ./so_txtime.sh >/tmp/said 2>&1
	_code=$?
	# its namespaces are gone, and NICs come back when the kernel has time
	wait_until 5 ip link show sim0
	wait_until 5 ip link show sim1
	return $_code
}
so_txtime txtime tai
is $? 0 "so_txtime.sh"
is "$(tail -n 1 /tmp/said)" "OK. All tests passed" "so_txtime.sh: to its end"
is "$(grep -c 'payload:.* delay:' /tmp/said)" 12 "so_txtime.sh: frames that came"
is "$(grep -c 'dropped: invalid txtime' /tmp/said)" 2 "so_txtime.sh: txtimes that are over, told by etf"
diag "$(cat /tmp/said)"

ip netns del b
ip netns add b
ip link set sim1 netns b
ip link set sim0 up
ip -n b link set sim1 up
upper
far_upper
ip addr add fd::1/64 dev rt0 nodad
ip -n b addr add fd::2/64 dev rt1 nodad
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
ping -q -c 2 10.0.0.2 >/dev/null
ping6 -q -c 2 fd::2 >/dev/null
# what the program wants for TCP: somebody who listens, again and again
in_b iperf3 -s -p 9000 >/dev/null 2>&1 &
sleep 0.5
# An acknowledgement takes 0.2 to 0.9 ms here, the first one longest: the program is told 0.1 to 1.1
for kind in "" -u -r -R -P; do
	for more in "" -C -n; do
		for end in "-4 10.0.0.2" "-6 fd::2"; do
			# shellcheck disable=SC2086 # words
			run "txtimestamp $kind $more $end" ./txtimestamp $kind $more -V 100 -t 1000 $end
		done
	done
done
is "$(identity rt0)" 0 "every frame is accounted for"
done_testing
