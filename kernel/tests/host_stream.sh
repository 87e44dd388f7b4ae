# SPDX-License-Identifier: GPL-2.0-only
# Runs of target host between two cards, and all that can go wrong with them; test_target_host.py has made the jobs, and judges what
# the first one leaves.
. /lib/keepon/test.sh
. /lib/keepon/host.sh
jobs=/lib/keepon/jobs
cards
state /tmp/before
ip -j address show dev sim0 >/tmp/sim0

# ---- what is not there
loader=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
failed 3 "no link type keepon; load the module" "no module" $jobs/long.json
echo "$loader" >/proc/sys/kernel/modprobe
modprobe keepon
failed 3 "station talker: none0: no such interface .*none0.*; ip link lists them" "no interface" $jobs/none.json
"$PYTHON" -S -c 'import os, sys
os.setuid(65534)
from keepon_host.testbed.__main__ import main
sys.exit(main(sys.argv[1:]))' $jobs/long.json /tmp >/tmp/said 2>&1
is $? 3 "nobody: exit code"
like "$(cat /tmp/said)" "^keepon: target host needs root; run it with sudo$" "nobody: sentence"
unchanged "nobody"
echo "unlink sim0" >$control
failed 3 "sim0 has no link after 10 s; look at cable and peer" "no cable" $jobs/long.json
echo "link sim0 sim1 propagation_ns=50" >$control

# ---- what is in use
tc qdisc add dev sim0 root handle 5: pfifo
said=$(agent $jobs/long.json /tmp 2>&1)
like "$said" "sim0 has a queueing discipline of its own \(pfifo\), which the run would replace; .* tc qdisc del dev sim0 root" "a qdisc"
tc qdisc del dev sim0 root
ip route add default via 192.0.2.2
said=$(agent $jobs/long.json /tmp 2>&1)
like "$said" "sim0 carries this machine's default route, and the run would cut it" "the default route"
ip route del default
ip route add default via 2001:db8::2
said=$(agent $jobs/long.json /tmp 2>&1)
like "$said" "sim0 carries this machine's default route, and the run would cut it" "the default route of IPv6"
ip route del default via 2001:db8::2
ip netns exec lab ptp4l -S -i lo -m >/dev/null 2>&1 &
other=$!
sleep 1
said=$(agent $jobs/long.json /tmp 2>&1)
like "$said" "^keepon: ptp4l \(process $other\) sets clocks already, and so would this run; end it, or leave the clocks to it" "other clock setters"
kill $other
wait $other
unchanged "in use"

# ---- a run
mkdir /out/run
agent $jobs/run.json /out/run
is $? 0 "it ran"
unchanged "it ran"

# ---- clocks that nobody sets: sim1's is put 1 ms ahead, keepon's begins at CLOCK_TAI
ip netns exec lab phc_ctl sim1 set adj 0.001 >/dev/null
failed 3 "the clocks disagree by (9[5-9]|10[0-9])[0-9]{4} ns \(that of listener is ahead of that of [A-Za-z_]+\), more than --clock-limit-ns 1000, after --clock-wait-s 0;" \
	"clocks 1 ms apart" $jobs/kept.json

# keepon-talk itself refuses to begin, or begins once they agree.
ip -n lab link set sim1 up
guarded() {
	ip netns exec lab keepon-talk sim1 --count 3 --no-txtime "$@" 2>&1
}
said=$(guarded --clock-limit 1us)
is $? 3 "talker with a limit: exit code"
like "$said" "the clock of sim1 is (9[5-9]|10[0-9])[0-9]{4} ns ahead of the tai clock, more than --clock-limit 1000 ns; synchronise them" \
	"talker with a limit: sentence"
run "a limit they keep" guarded --clock-limit 2ms
(
	sleep 1
	ip netns exec lab phc_ctl sim1 set >/dev/null
) &
run "it waits until they agree" guarded --clock-limit 500us --clock-wait 5s
ip -n lab link set sim1 down

# ---- what goes wrong in mid-run
during "[k]eepon-talk rt0" sh -c 'kill -9 $(pidof keepon-talk)'
failed 3 "the talker of stream S1 was killed in the run \(SIGKILL\)" "talker killed" $jobs/long.json
during "[k]eepon-talk rt0" sh -c 'kill -INT $(cat /tmp/agent)'
failed 130 "interrupted; nothing was written" "Ctrl-C" $jobs/long.json
during "[p]hc2sys" sh -c 'kill $(cat /tmp/agent)'
failed 130 "ended by SIGTERM; nothing was written" "SIGTERM" $jobs/long.json
during "[k]eepon-talk rt0" sh -c "echo unlink sim0 >$control"
failed 3 "(rt0|sim0|sim1) lost its link in the run; look at cable and peer" "cable unplugged" $jobs/long.json
echo "link sim0 sim1 propagation_ns=50" >$control
# An interface that has gone cannot be put back; all else is.
during "[k]eepon-talk rt0" sh -c "echo delete sim1 >$control"
agent $jobs/long.json /tmp/run >/tmp/said 2>&1
is $? 3 "interface gone: exit code"
like "$(cat /tmp/said)" "^keepon: station listener: sim1 (went away|lost its link|was set down)[^;]*(; look at cable and peer)?$|sim0 lost its link|rt0 lost its link" "interface gone: sentence"
is "$(ip netns list | sed 's/ .*//' | tr '\n' ' ')" "lab " "interface gone: no namespace was left"
is "$(ip -j address show dev sim0)" "$(sed -n 's/.*/&/p' /tmp/sim0)" "interface gone: the other is as it was"
done_testing
