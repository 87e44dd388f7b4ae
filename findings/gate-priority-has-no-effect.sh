#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The gate action of tc takes an internal priority (IPV), shows it and does nothing with it in software.
#
# `tc ... action gate sched-entry open NS 6 -1`: in IEEE Std 802.1Q-2022 clause 8.6.5.4 the IPV of the open entry chooses the traffic
# class of the frames that pass, and cyclic queuing (802.1Qch) is made of it. Linux stores it (tcfg_gate_entry.ipv, `ipv 6` in tc filter
# show) and act_gate's tcf_gate_act() does not read it: skb->priority stays 0, without a word. One would expect frames of
# priority 6, or a refusal without offload. `action skbedit priority 6` after the gate does it.
#
# Here 5 echoes pass a gate that is always open, with IPV 6, and a bridge; what leaves has a prio qdisc (priority 6: class 1:1, 0: 1:2).
# Seen with Linux 6.1.192, iproute2 6.1.0:
#   gate: ipv 6, packets of classes 1:1 1:2 1:3: 0 5 0
#   skbedit: ipv 6, packets of classes 1:1 1:2 1:3: 5 0 0
#
# Needs apt of Debian 12 and qemu-system-x86. Exit code 0 while it is so.
set -eu

kernel=linux-image-6.1.0-56-cloud-amd64=6.1.192-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

qemu-system-x86_64 --version | head -1
apt-get -q download "$kernel" busybox-static=1:1.35.0-4+deb12u1+b1 iproute2=6.1.0-3 2>/dev/null >/dev/null
for package in *.deb; do
	echo "package $package"
	dpkg-deb -x "$package" root
done
mkdir -p guest/bin guest/dev guest/proc guest/sys guest/m guest/real
cp root/bin/busybox guest/bin/
cp root/bin/ip root/sbin/tc guest/real/
ldd root/bin/ip root/sbin/tc | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
	mkdir -p "guest$(dirname "$library")"
	cp -L "$library" "guest$library"
done
number=0
for module in veth llc stp bridge sch_ingress sch_prio cls_flower act_gate act_skbedit; do
	number=$((number + 1))
	find root -name "$module.ko*" -exec cp {} guest/m/$number.ko \;
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in 1 2 3 4 5 6 7 8 9; do insmod /m/$module.ko; done
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
/real/ip link add bridge0 type bridge
/real/ip link set bridge0 up
for station in 1 2; do
	unshare -n sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; exec sleep 100000' &
	eval "in$station='nsenter -t $! -n'"
	sleep 1
	/real/ip link add port$station type veth peer name eth0 address 02:00:00:00:00:0$station netns $!
	/real/ip link set port$station master bridge0 up
	nsenter -t $! -n /real/ip addr add 10.0.0.$station/24 dev eth0
	nsenter -t $! -n /real/ip link set eth0 up
done
$in1 /real/ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0
$in2 /real/ip neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev eth0
classes() {
	name=$1
	shift
	/real/tc qdisc add dev port2 root handle 1: prio
	/real/tc qdisc add dev port1 clsact
	/real/tc filter add dev port1 ingress protocol ip flower action gate base-time 0 sched-entry open 1000000000 6 -1 "$@"
	sleep 2
	$in1 ping -c 5 10.0.0.2 >/dev/null
	echo "result $name: ipv $(/real/tc filter show dev port1 ingress | sed -n 's/.*ipv \([^ \t]*\).*/\1/p')," \
		"packets of classes 1:1 1:2 1:3:" $(/real/tc -s class show dev port2 | sed -n 's/.* \([0-9]*\) pkt.*/\1/p')
	/real/tc qdisc del dev port1 clsact
	/real/tc qdisc del dev port2 root
}
classes gate
classes skbedit action skbedit priority 6
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | ../root/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo root/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result gate: ipv 6, .*: 0 5 0$' log && grep -q '^result skbedit: ipv 6, .*: 5 0 0$' log
