# SPDX-License-Identifier: GPL-2.0-only
# keepon doctor in a guest of one vCPU with four virtio queues, and its printed commands, run by sh. /out/CASE.json.
. /lib/keepon/test.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python:/usr/bin
doctor() {
	"$PYTHON" -S -m keepon_host doctor eth0 --json >"/out/$1.json"
}
modprobe virtio_net
run "its card" wait_until 5 ip link show eth0
ip link set eth0 up
doctor first
run "more queues than vCPUs" ethtool -L eth0 combined 4
run "and gates for them" tc qdisc replace dev eth0 parent root handle 100: taprio num_tc 4 map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 \
	queues 1@0 1@1 1@2 1@3 base-time 0 sched-entry S 01 500000 sched-entry S 0e 500000 clockid CLOCK_TAI
doctor many
tc qdisc del dev eth0 root
"$PYTHON" -S -c 'import json
for check in json.load(open("/out/many.json"))["checks"]:
    if check["name"] in ("link", "queues"):
        print(check["remedy"])' >/tmp/remedies
run "what it printed runs" sh -e /tmp/remedies
doctor mended
done_testing
