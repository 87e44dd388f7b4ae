# SPDX-License-Identifier: GPL-2.0-only
# A run of target host whose clocks are set by PTP over the wire that is measured; test_target_host.py judges what it leaves.
. /lib/keepon/test.sh
. /lib/keepon/host.sh
cards
modprobe keepon
state /tmp/before
mkdir /out/run
agent /lib/keepon/jobs/ptp.json /out/run
is $? 0 "it ran"
cp /out/run/p*.txt /out
unchanged "it ran"
done_testing
