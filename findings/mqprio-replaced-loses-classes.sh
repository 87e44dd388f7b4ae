#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An mqprio (or taprio) root that takes the place of another one leaves the device without traffic classes.
#
# `tc qdisc replace ... root handle 200: mqprio ...` where an mqprio with handle 100: stands succeeds, and tc shows the new qdisc with its
# classes and queues. But the kernel makes the new one first, which gives the device its classes, and then destroys the old one, whose
# last act is to take the device's classes away. Frames of all priorities then go to queues by their hash: sysfs says traffic class 0
# of each queue, and skb->priority decides nothing. One would expect replace to do what delete and add do, or to fail, as it does with the same
# handle ("Change operation not supported by specified qdisc").
#
# Seen with Linux 6.1.192 and 6.12.117, iproute2 6.1.0, also for taprio over mqprio, mqprio over taprio, and taprio with another handle:
#   added: queue 1 has class 1; replaced: queue 1 has class 0; deleted and added: queue 1 has class 1
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
for module in veth sch_mqprio_lib sch_mqprio; do
	find root -name "$module.ko*" -exec cp {} guest/m/ \;
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /m/*; do insmod "$module"; done
/real/ip link add d0 numtxqueues 2 type veth peer name d1
mqprio="mqprio num_tc 2 map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0"
class() { echo "result $1: queue 1 has class $(cat /sys/class/net/d0/queues/tx-1/traffic_class)"; }
/real/tc qdisc add dev d0 root handle 100: $mqprio
class added
/real/tc qdisc replace dev d0 root handle 200: $mqprio && class replaced
/real/tc qdisc del dev d0 root
/real/tc qdisc add dev d0 root handle 100: $mqprio
class "deleted and added"
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | ../root/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo root/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result added: .*class 1' log && grep -q '^result replaced: .*class 0' log && grep -q '^result deleted and added: .*class 1' log
