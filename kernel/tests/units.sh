#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A machine whose first process is systemd, with Debian's own targets, the units of systemd/ and one card, eth0, whose file is
# /etc/keepon/eth0.toml. This script is started several times: by the kernel, and becomes systemd; as services that stand for the
# card's driver and addresses (cards) and for what waits for the network (online); and, as every test's script, for the checks.
# $FILE: what eth0.toml has, "link" or "plan"; $CABLE: whether it is plugged in at boot.
. /etc/keepon/environment
units=/etc/systemd/system

# service NAME LINES: a oneshot of this script, with more lines of its [Unit]
service() {
	cat > $units/"$1".service <<-END
		[Unit]
		$2
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/sh /lib/keepon/units.sh $1
	END
}

first() {
	export PATH=/usr/bin:/bin:/sbin
	mount -t proc proc /proc
	mount -t devtmpfs devtmpfs /dev
	exec < /dev/null > /dev/kmsg 2>&1
	ln -s bin /usr/sbin
	mkdir -p $units/sysinit.target.wants $units/multi-user.target.wants $units/test.target.wants
	service cards 'DefaultDependencies=no
		After=sys-kernel-debug.mount
		Before=keepon@eth0.service'
	service online 'Wants=network-online.target
		After=network-online.target'
	printf '[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/init\n' > $units/checks.service
	printf '[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\n' > $units/test.target
	ln -s /lib/systemd/system/sys-kernel-debug.mount $units/cards.service $units/sysinit.target.wants
	ln -s $units/online.service $units/multi-user.target.wants
	ln -s $units/checks.service $units/test.target.wants
	systemctl --root=/ --quiet enable keepon@eth0
	exec /lib/systemd/systemd --unit=test.target
}

cards() {
	. /lib/keepon/start.sh
	FAR_MODE=ring
	card
	if [ "$CABLE" = no ]; then
		ip -n far link set eth9 down
	else
		modprobe keepon
		ip -n far link add link eth9 name far0 type keepon
		ip -n far link set far0 up
		ip netns exec far ptp4l -2 -H --tx_timestamp_timeout 100 -m -i eth9 \
			> /run/far.log 2>&1 &
	fi
	ip addr add 192.0.2.1/24 dev eth0
	ip link set eth0 up
	sleep 1
	state > /run/before
	return 0
}

online() {
	ip -br addr show > /run/at-online
}

if [ $$ = 1 ]; then
	first
elif [ "$1" ]; then
	"$1"
	exit
fi

. /lib/keepon/test.sh
. /lib/keepon/start.sh
cp /run/before /tmp/before

# has UNIT PROPERTY: its value
has() {
	systemctl show -p "$2" --value "$1"
}

# states: of the three units
states() {
	for unit in keepon keepon-ptp4l keepon-phc2sys; do has $unit@eth0 ActiveState; done | tr '\n' ' '
}

# logged PATTERN: a line that a service has logged
logged() {
	grep -Eq "$1" /run/log
}

# stopped NAME: by systemd, and all is as it was
stopped() {
	systemctl stop keepon@eth0
	is "$(states)" "inactive inactive inactive " "$1: they have ended"
	same "$1"
}

follows() {
	awaited 60 logged 'ptp4l.*UNCALIBRATED to SLAVE'
}

no_cable_at_boot() {
	is "$(states)" "failed inactive inactive " "no cable at boot"
	is "$(has keepon@eth0 Result)" exit-code "no cable at boot: its command has ended"
	run "no cable at boot: sentence" logged 'keepon: eth0 has no link: plug its cable in, .*; eth0 is as it was'
	is "$(grep -c eth0 /run/at-online)" 1 "no cable at boot: the network comes up without it"
	is "$(grep -c rt0 /run/at-online)" 0 "no cable at boot: and nothing is left of the link"
	same "no cable at boot"
	ip -n far link set eth9 up
	wait_until 10 linked
	state > /tmp/before
	systemctl start keepon@eth0
}

is "$(dmesg | grep -c 'ordering cycle')" 0 "systemd finds an order of all units"
if [ "$CABLE" = no ]; then
	no_cable_at_boot
else
	like "$(cat /run/at-online)" "^rt0" "the link was there before the network was online"
	like "$(cat /run/at-online)" "^eth0.* 192\.0\.2\.1/24" "and the card's address"
fi
is "$(states)" "active active active " "all units are active"
if [ "$FILE" = plan ]; then
	like "$(tc qdisc show dev rt0)" mqprio "a plan's queues"
	stopped "a plan"
	cp /run/log /out
	done_testing
	exit
fi
run "ptp4l of the unit follows the network's clock over the link" follows ||
	diag "$(grep ptp4l /run/log | tail -3; tail -5 /run/far.log)"
kill -9 "$(has keepon-ptp4l@eth0 MainPID)"
run "a ptp4l that is killed" awaited 30 sh -c '[ "$(systemctl show -p NRestarts --value keepon-ptp4l@eth0)" = 1 ]'
is "$(states)" "active active active " "a ptp4l that is killed is started again"

mv /etc/keepon/eth0.toml /tmp/eth0.toml
stopped "its file is not there any more"
mv /tmp/eth0.toml /etc/keepon/eth0.toml
systemctl start keepon@eth0
systemctl restart keepon@eth0
is "$(states)" "active active active " "restarted"
stopped "restarted"

ip link set eth0 name late0
systemctl start --no-block keepon@eth0
sleep 5
is "$(has keepon@eth0 ActiveState)" activating "a card that comes late is waited for"
ip link set late0 name eth0
run "a card that comes late" awaited 30 systemctl --quiet is-active keepon@eth0
stopped "a card that comes late"
cp /run/log /out
done_testing
