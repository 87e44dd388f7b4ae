# SPDX-License-Identifier: GPL-2.0-only
# systemd-networkd with a file for any device sets a keepon link up as it comes; beside the file
# that Keepon installs it decides to leave the link alone, and not merely later.
. /lib/keepon/test.sh
. /lib/keepon/common.sh

# networkd: runs it from now on, without a bus; with /sys read-only it waits for no udev, as in a container.
networkd() {
	SYSTEMD_LOG_TARGET=console systemd-networkd >>/out/networkd.log 2>&1 &
	networkd=$!
	wait_until 20 decided sim0 "configured" || not_ok "networkd has sim0"
}

# decided DEVICE STATES: what networkd makes of it
decided() {
	grep -Eqx "ADMIN_STATE=($2)" "/run/systemd/netif/links/$(cat "/sys/class/net/$1/ifindex")"
}

is_up() {
	ip link show "$1" | grep -q '[<,]UP[,>]'
}

wire 10000000
mount -o remount,ro /sys
echo 'systemd-network:x:998:998::/:/bin/false' >>/etc/passwd
echo 'systemd-network:x:998:' >>/etc/group
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp /etc/systemd/network /usr/lib/systemd/network
chown -R 998:998 /run/systemd/netif
printf '[Match]\nName=*\nType=ether\n[Network]\nAddress=10.9.9.9/24\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' >/etc/systemd/network/01-any.network

networkd
ip link add link sim0 name rt0 type keepon
run "a link is set up by a file for any device" wait_until 20 is_up rt0
ip link del rt0
kill "$networkd"
wait "$networkd"

cp /lib/keepon/00-keepon.network /usr/lib/systemd/network
chmod 644 /usr/lib/systemd/network/*
networkd
ip link add link sim0 name rt0 type keepon
run "networkd has decided to leave it alone" wait_until 20 decided rt0 unmanaged
refuse "and it is down" is_up rt0
kill "$networkd"
sed 's/^/# /' /out/networkd.log
done_testing
