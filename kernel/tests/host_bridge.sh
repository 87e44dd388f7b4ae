# SPDX-License-Identifier: GPL-2.0-only
# A run of target host over a bridge that is just there, with a load beside the streams; and what is left when keepon itself is killed.
. /lib/keepon/test.sh
. /lib/keepon/host.sh
modprobe keepon_hwsim
modprobe keepon
echo "nic sim0 rate_bps=1000000000 ppb=20000 seed=1 mode=ring queues=8
nic sim1 rate_bps=1000000000 ppb=-30000 seed=2 mode=ring queues=8
nic sim2 rate_bps=1000000000 ppb=5000 seed=3 mode=launchtime queues=8
bridge br ports=3 processing_ns=2000 rate_bps=1000000000
link sim0 br:0 propagation_ns=50
link sim1 br:1 propagation_ns=50
link sim2 br:2 propagation_ns=50" >$control
ip netns add lab # what state looks at
ip -n lab link set lo up
state /tmp/before
mkdir /out/run
agent /lib/keepon/jobs/bridge.json /out/run
is $? 0 "it ran"
unchanged "it ran"

# Nothing of a killed run goes on but its namespaces, and the next run says how to get the interfaces back.
mkdir /tmp/run
started /lib/keepon/jobs/bridge.json /tmp/run >/tmp/said 2>&1 &
agent=$!
awaited 60 sh -c "ps | grep -q '[k]eepon-talk rt0'"
kill -9 $agent
sleep 1
is "$(ps | grep -c '[k]eepon-talk rt\|[k]eepon-listen \|[p]hc2sys\|[i]perf3\|[i]p .*monitor')" 0 "killed: its programs ended with it"
said=$(agent /lib/keepon/jobs/bridge.json /tmp/run 2>&1)
is $? 3 "after a kill: exit code"
like "$said" "station left: sim0: no such interface .*; if a run was killed, give it back with ip netns del keepon-left" "after a kill: sentence"
for name in left right listener; do
	ip netns del keepon-$name
done
sleep 1
is "$(ip -br link | cut -c1-4 | grep sim | tr '\n' ' ')" "sim0 sim1 sim2 " "the interfaces are back"
done_testing
