#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Open vSwitch 3.1 starts DPDK without huge pages only if it is asked for something else, too.
#
# DPDK runs without huge pages by its option --no-huge, and Open vSwitch hands DPDK's options on from other_config:dpdk-extra. But it adds
# --in-memory to them unless it finds --in-memory or --legacy-mem there, and DPDK 22.11 takes --no-huge for --legacy-mem, which it refuses
# beside --in-memory. The message names two options of which the administrator has stated neither. With --legacy-mem, which says nothing
# new to DPDK, it starts. One would expect --no-huge to be enough, on virtual machines and boards without huge pages.
#
# Seen with Open vSwitch 3.1.0, DPDK 22.11.11:
#   dpdk-extra=--no-huge: Option --legacy-mem is not compatible with --in-memory not initialized
#   dpdk-extra=--no-huge --legacy-mem: initialized
#
# Needs apt of Debian 12. Exit code 0 while it is so.
set -eu

ovs=3.1.0-2+deb12u1
dpdk=22.11.11-0+deb12u1
folder=$(mktemp -d)
trap 'kill $(cat "$folder"/*.pid 2>/dev/null) 2>/dev/null || :; rm -rf "$folder"' EXIT
cd "$folder"

libraries=
for name in cryptodev dmadev eal ethdev hash kvargs mbuf mempool mempool-ring meter net pci rcu ring telemetry vhost; do
	libraries="$libraries librte-${name}23=$dpdk"
done
# shellcheck disable=SC2086 # words
apt-get -q download $libraries openvswitch-common=$ovs openvswitch-switch=$ovs openvswitch-switch-dpdk=$ovs libxdp1=1.3.1-1 \
	libbpf1=1:1.1.2-0+deb12u1 libnuma1=2.0.16-1 libunbound8=1.17.1-2+deb12u4 >/dev/null 2>&1
for package in *.deb; do
	dpkg-deb -x "$package" packages
done
echo "package openvswitch-switch-dpdk $ovs, librte-eal23 $dpdk"
export LD_LIBRARY_PATH="$folder/packages/usr/lib/x86_64-linux-gnu"
export OVS_RUNDIR="$folder" OVS_LOGDIR="$folder" OVS_DBDIR="$folder" RUNTIME_DIRECTORY="$folder" XDG_RUNTIME_DIR="$folder"
tree=$folder/packages/usr

# initialized EXTRA: what Open vSwitch says of DPDK with these options
initialized() {
	rm -f conf.db ./*.log
	"$tree/bin/ovsdb-tool" create conf.db "$tree/share/openvswitch/vswitch.ovsschema"
	"$tree/sbin/ovsdb-server" --remote="punix:$folder/db.sock" --pidfile="$folder/db.pid" --detach --log-file="$folder/db.log" \
		conf.db >/dev/null 2>&1
	vsctl() {
		"$tree/bin/ovs-vsctl" --db="unix:$folder/db.sock" --timeout=30 "$@"
	}
	vsctl --no-wait init
	vsctl --no-wait set Open_vSwitch . other_config:dpdk-init=true \
		"other_config:dpdk-extra=$1 -m 256 --no-pci -d librte_mempool_ring.so.23 --file-prefix=$$"
	unshare -n "$tree/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk" "unix:$folder/db.sock" --pidfile="$folder/switch.pid" \
		>switch.log 2>&1 &
	sleep 10
	grep -h "not compatible" switch.log | sed 's/.*EAL: //' | head -1
	grep -q "DPDK Enabled - initialized" switch.log && echo initialized || echo "not initialized"
	kill $! "$(cat db.pid)" 2>/dev/null || :
	wait 2>/dev/null || :
	sleep 1
}

without=$(initialized "--no-huge")
echo "dpdk-extra=--no-huge: $(echo "$without" | tr '\n' ' ')"
with=$(initialized "--no-huge --legacy-mem")
echo "dpdk-extra=--no-huge --legacy-mem: $with"
case $without in *"not initialized") ;; *) exit 1 ;; esac
[ "$with" = initialized ]
