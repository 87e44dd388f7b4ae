# SPDX-License-Identifier: GPL-2.0-only
# What root in a container of its own may do to a keepon link lent to it, to the device below, to CPUs and memory.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire
ip link add link sim0 name rt0 type keepon
unshare -U -r -n sleep 1000 &
container=$!
wait_until 2 sh -c "[ \"\$(readlink /proc/$container/ns/net)\" != \"\$(readlink /proc/self/ns/net)\" ]"
wait_until 2 grep -q . /proc/$container/uid_map

# Programs by their paths: of busybox we would get its own ip.
inside() {
	_program=$(command -v "$1")
	shift
	nsenter -t $container -U -n "$_program" "$@"
}

# forbidden TEXT PATTERN COMMAND ...: fails there with a sentence that matches
forbidden() {
	_name=$1
	_pattern=$2
	shift 2
	_said=$(inside "$@" 2>&1) && {
		not_ok "$_name: was done"
		return
	}
	like "$_said" "$_pattern" "$_name"
}

ip link set rt0 netns $container
run "a link of the container's own can be configured there" inside ip link add dum0 type dummy
before=$(inside ip -d link show rt0)
forbidden "an option of a link on the host's device" "sim0 belongs to another namespace: this needs CAP_NET_ADMIN" \
	ip link set rt0 type keepon batch 4
is "$(inside ip -d link show rt0)" "$before" "changed nothing"
address=$(cat /sys/class/net/sim0/address)
forbidden "the address of the host's device" "Operation not permitted" ip link set rt0 address 02:00:00:00:00:99
is "$(cat /sys/class/net/sim0/address)" "$address" "it is what it was"
run "up" inside ip link set rt0 up
# With hardware offload only the driver checks the ranges of queues.
for queues in "1@0 1@40000" "1@0 1@16" "1@0 16@1" "1@0 65535@2" "1@0 0@1"; do
	# shellcheck disable=SC2086
	set -- $queues
	_said=$(inside tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues "$1" "$2" hw 1 2>&1) && not_ok "queues $queues: taken" ||
		like "$_said" "Invalid argument|are not among 0 to 15" "queues $queues"
done
run "queues 1@0 15@1" inside tc qdisc replace dev rt0 handle 100: parent root mqprio num_tc 2 \
	map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 15@1 hw 1
run "statistics of its classes" inside tc -s class show dev rt0
run "deleted there" inside ip link del rt0

# With the device below lent to him as well, but not the machine's CPUs
ip link set sim0 netns $container
inside ip link set sim0 up
forbidden "a real-time priority, when it is added" "poll_fifo 1: a real-time priority needs CAP_SYS_NICE" \
	ip link add link sim0 name rt0 type keepon poll thread poll_fifo 1
run "a link on a device of the container's own" inside ip link add link sim0 name rt0 type keepon
run "its address" inside ip link set rt0 address 02:00:00:00:00:99
forbidden "a real-time priority" "poll_fifo 99: a real-time priority needs CAP_SYS_NICE" \
	ip link set rt0 type keepon poll thread poll_fifo 99
run "a thread without" inside ip link set rt0 type keepon poll thread
if [ "$(nproc)" -gt 1 ]; then
	run "on a CPU it may use" inside taskset -c 1 ip link set rt0 type keepon poll_cpu 1 rx_poll_cpu 1
	forbidden "on one it may not" "poll_cpu 0, rx_poll_cpu 1: a CPU you may not run on" \
		taskset -c 1 ip link set rt0 type keepon poll_cpu 0
	run "what others chose stays" inside taskset -c 0 ip link set rt0 type keepon batch 4
fi
inside ip link del rt0
kill $container
wait $container 2>/dev/null
wait_until 2 ip link show sim0
ip link set sim0 up

# The frames of a link are memory of the process that brings it up: 8192 of each class are 11 MB.
mkdir /tmp/groups
run "memory groups" mount -t cgroup2 none /tmp/groups
echo +memory >/tmp/groups/cgroup.subtree_control
mkdir /tmp/groups/small
echo 8M >/tmp/groups/small/memory.max
run "a link with a large pre-buffer" ip link add link sim0 name rt0 type keepon prebuffer 8192
refuse "is not brought up by a program that may use 8 MB" \
	sh -c 'echo $$ >/tmp/groups/small/cgroup.procs; exec ip link set rt0 up'
run "but by others" ip link set rt0 up
run "deleted" ip link del rt0

# The end of a schedule whose trims were closer together than the link's own makes the wire start again.
run "a link with few slots for trims" ip link add link sim0 name rt0 type keepon prebuffer 8192 \
	slot_bytes 1230 partition 40 class 0-15 slots 1-39 trim reserved trim_down 16 trim_up 16
run "a schedule with many" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 1 \
	map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 base-time 0 sched-entry S 1 30000 sched-entry S 0 10000 flags 0x2
ip link set rt0 up
run "the wire runs by it" wait_until 2 is_running rt0
dmesg -c >/dev/null
run "its end, by a program that may use 8 MB" \
	sh -c 'echo $$ >/tmp/groups/small/cgroup.procs; exec tc qdisc del dev rt0 root'
like "$(dmesg)" "cannot start on sim0 .error -12.: there is no memory" "a wire that does not start again is logged"
run "and tried again" wait_until 3 is_running rt0
run "deleted, too" ip link del rt0
done_testing
