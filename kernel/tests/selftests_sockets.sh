# SPDX-License-Identifier: GPL-2.0-only
# The kernel's net/txtimestamp over a keepon link, or a card that has one, in the ways of txtimestamp.sh, which itself is about lo
# and ifb; then its net/so_txtime.sh with these for its veth pair.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 1000000000
cd /lib/selftests/net || exit 1
upper
far_upper
ip addr add fd::1/64 dev $near nodad
ip -n b addr add fd::2/64 dev $far nodad
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
ping -q -c 2 10.0.0.2 >/dev/null
ping6 -q -c 2 fd::2 >/dev/null
# what the program wants for TCP: a listener, again and again
in_b iperf3 -s -p 9000 >/dev/null 2>&1 &
sleep 0.5
# An acknowledgement takes 0.2 to 0.9 ms here, the first one longest: the program allows 0.1 to 1.1
for kind in "" -u -r -R -P; do
	for more in "" -C -n; do
		for end in "-4 10.0.0.2" "-6 fd::2"; do
			# shellcheck disable=SC2086 # words
			run "txtimestamp $kind $more $end" ./txtimestamp $kind $more -V 100 -t 1000 $end
		done
	done
done
is "$(identity rt0)" 0 "every frame is accounted for"

kill $!
ip link del rt0
ip -n b link del rt1
ip -n b link set sim1 netns 1
LINK_OPTIONS="txtime tai" PATH=/lib/keepon/selftests:$PATH bash ./so_txtime.sh >/tmp/said 2>&1
is $? 0 "so_txtime.sh"
is "$(tail -n 1 /tmp/said)" "OK. All tests passed" "so_txtime.sh: to its end"
is "$(grep -c 'payload:.* delay:' /tmp/said)" 12 "so_txtime.sh: frames that came"
# etf says of both that they are invalid; on a card the link takes them before etf, and says of one that it missed its txtime
is "$(grep -c 'dropped: \(invalid\|missed\) txtime' /tmp/said)" 2 "so_txtime.sh: txtimes that are over are reported"
diag "$(cat /tmp/said)"
done_testing
