#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# First process of a guest whose system is a Debian with systemd (card_managed_system.sh), packed in /system.cpio: unpacks it,
# gives it the modules and what is under test, chooses who manages its network ($MANAGER), and becomes its first process.
# Its service `cards` runs this script again and makes the machine's card, eth0, and at the other end of the wire, in the
# namespace far, who gives addresses away; `checks`, at the end of the boot, runs the test.
. /etc/keepon/environment
root=/system
units=$root/etc/systemd/system

# service NAME COMMAND LINES: with more lines of its [Unit]
service() {
	printf '[Unit]\n%s\n[Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=infinity\nExecStart=%s\n' "$3" "$2" >$units/"$1".service
}

enabled() {
	chroot $root systemctl --quiet enable "$@"
}

ethernet_by_networkd() {
	printf '[Match]\nType=ether\n[Network]\nDHCP=yes\n' >$root/etc/systemd/network/80-ethernet.network
	enabled systemd-networkd
}

first() {
	export PATH=/usr/bin:/bin:/sbin
	mount -t proc proc /proc
	mount -t devtmpfs devtmpfs /dev
	exec </dev/null >/dev/kmsg 2>&1
	mkdir $root
	mount -t tmpfs -o size=1G tmpfs $root
	(cd $root && cpio -idm) </system.cpio
	rm /system.cpio
	mkdir -p $root/dev $root/proc $root/run $root/sys $root/tmp $root/out $root/usr/lib/x86_64-linux-gnu/ip
	cp -a /lib/modules /lib/keepon $root/usr/lib/
	cp -a /etc/keepon $root/etc/
	cp -a /init $root/
	cp -a /usr/lib/x86_64-linux-gnu/ip/* $root/usr/lib/x86_64-linux-gnu/ip/
	chroot $root depmod "$(uname -r)" 2>/dev/null
	# The console is the kernel's log alone.
	chroot $root systemctl --quiet mask serial-getty@ttyS0 getty@tty1
	# Files of the package, and what docs/install.md says of dhcpcd.
	if [ "$PACKAGE" = yes ]; then
		cp $root/usr/lib/keepon/00-keepon.network $root/usr/lib/systemd/network/
		cp $root/usr/lib/keepon/keepon-networkmanager.conf $root/usr/lib/NetworkManager/conf.d/keepon.conf
		echo 'denyinterfaces rt0' >>$root/etc/dhcpcd.conf
	fi
	chmod -x $root/usr/lib/systemd/network/* $root/usr/lib/NetworkManager/conf.d/* 2>/dev/null
	service cards '/bin/sh /usr/lib/keepon/first.sh cards' 'DefaultDependencies=no
Wants=network-pre.target
After=sys-kernel-debug.mount systemd-modules-load.service systemd-udevd.service local-fs.target
Before=network-pre.target systemd-networkd.service networking.service dhcpcd.service NetworkManager.service'
	service checks /init 'After=multi-user.target'
	printf '[Unit]\nRequires=multi-user.target\nWants=checks.service\nAfter=multi-user.target\nAllowIsolate=yes\n' >$units/test.target
	mkdir -p $units/sysinit.target.wants
	ln -s ../cards.service $units/sysinit.target.wants/cards.service
	case $MANAGER in
	networkd) ethernet_by_networkd ;;
	NetworkManager) enabled NetworkManager ;;
	ifupdown)
		printf 'auto lo eth0\niface lo inet loopback\niface eth0 inet dhcp\niface eth0 inet6 auto\n' >$root/etc/network/interfaces
		enabled networking
		;;
	dhcpcd) enabled dhcpcd ;;
	esac
	enabled ssh
	exec switch_root $root /lib/systemd/systemd --unit=test.target
}

cards() {
	modprobe keepon_hwsim
	ip netns add far
	control=/sys/kernel/debug/keepon_hwsim/control
	echo 'nic sim0 rate_bps=100000000 ppb=20000 seed=1 mac=02:00:00:00:00:01' >$control
	echo 'nic sim1 rate_bps=100000000 ppb=-30000 seed=2 mac=02:00:00:00:00:02' >$control
	echo 'link sim0 sim1' >$control
	ip link set sim0 name eth0
	ip link set sim1 netns far
	# A neighbour that answers and does not say that it is a router is none any more.
	ip netns exec far sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
	ip -n far link set lo up
	ip -n far link set sim1 up
	ip -n far addr add 192.0.2.1/24 dev sim1
	ip -n far addr add 2001:db8::1/64 dev sim1 nodad
	# Leases of 2 minutes, the shortest it knows, which are to be renewed after 20 s.
	ip netns exec far dnsmasq --conf-file=/dev/null --pid-file=/run/dnsmasq.pid --dhcp-leasefile=/run/dnsmasq.leases \
		--log-facility=/run/dnsmasq.log --port=0 --interface=sim1 --bind-interfaces --dhcp-authoritative \
		--dhcp-range=192.0.2.100,192.0.2.200,2m --dhcp-option=option:router,192.0.2.1 --dhcp-option-force=58,20s \
		--dhcp-range=2001:db8::,ra-only,64,10m --enable-ra --ra-param=sim1,10,600 --user=root
}

if [ $$ = 1 ]; then
	first
else
	"$1"
fi
