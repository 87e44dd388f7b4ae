# SPDX-License-Identifier: GPL-2.0-only
# Two links on one CPU: rt2 is polled by a thread, with 2.5 ms of slots posted, while rt0 with the largest pre-buffer is set down and up.
# The pacer's memory is allocated in one piece, which takes this CPU 4 ms (it clears 0.5 GB/s): once each time that the link comes up, not once for each class.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire
echo "nic n2 seed=3" >$control && echo "nic n3 seed=4" >$control && echo "link n2 n3" >$control || exit 1
ip link set n2 up && ip link set n3 up
ip link add link n2 name rt2 type keepon receive all poll thread poll_fifo 50
ip link set rt2 up
upper prebuffer 4096
wait_until 2 is_running rt2
for again in 1 2; do
	wait_until 2 is_running rt0
	for prio in 0 1 2 3 4 5 6 7; do
		txtime_sender rt0 $prio 3072 8000000000 0 >/dev/null &
	done
	wait
	ip link set rt0 down
	ip link set rt0 up
done
wait_until 2 is_running rt0
ip link del rt0
run "the other link's wire runs dry at most once each time that the link comes up" [ "$(counter rt2 underruns)" -le 3 ]
done_testing
