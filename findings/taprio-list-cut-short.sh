#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tc sets a gate list without its end when the list is longer than tc's own message, and exits with 0.
#
# `tc qdisc add ... taprio ... sched-entry ...` puts the list into a netlink message of 1024 bytes. Of what does not fit it says "addattr_l
# ERROR: message exceeded bound of 1024", goes on, and sends what did fit. The kernel takes that: another schedule than the one asked for,
# with a shorter cycle. One would expect an error with nothing set, as after a wrong word. The kernel has no such limit, and gate lists of
# IEEE Std 802.1Qbv can have hundreds of entries.
#
# Here lists of 20, 30, 31 and 40 entries of 1 ms are set, and those that the kernel has are counted.
# Seen with Linux 6.1.192, iproute2 6.1.0:
#   asked 20, exit code 0, set 20, bounds exceeded 0
#   asked 30, exit code 0, set 30, bounds exceeded 0
#   asked 31, exit code 0, set 31, bounds exceeded 0
#   asked 40, exit code 0, set 32, bounds exceeded 35
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
	dpkg-deb -x "$package" packages
done
mkdir -p guest/bin guest/dev guest/proc guest/sys guest/m guest/real
cp packages/bin/busybox guest/bin/
cp packages/bin/ip packages/sbin/tc guest/real/
ldd packages/bin/ip packages/sbin/tc | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
	mkdir -p "guest$(dirname "$library")"
	cp -L "$library" "guest$library"
done
for module in dummy sch_taprio; do
	find packages -name "$module.ko*" -exec cp {} guest/m/$module.ko \;
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in dummy sch_taprio; do insmod /m/$module.ko; done
/real/ip link add port numtxqueues 2 type dummy
/real/ip link set port up
for entries in 20 30 31 40; do
	list=""
	number=0
	while [ $number -lt $entries ]; do
		number=$((number + 1))
		list="$list sched-entry S 0$((number % 2 + 1)) 1000000"
	done
	code=0
	/real/tc qdisc add dev port root handle 100: taprio num_tc 2 map 0 1 queues 1@0 1@1 base-time 0 $list \
		clockid CLOCK_TAI 2>/errors || code=$?
	echo "result asked $entries, exit code $code, set $(/real/tc qdisc show dev port | grep -c 'index ')," \
		"bounds exceeded $(grep -c 'message exceeded bound of 1024' /errors)"
	/real/tc qdisc del dev port root 2>/dev/null
done
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | "$folder/packages/bin/busybox" cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo packages/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result asked 31, exit code 0, set 31,' log && grep -q '^result asked 40, exit code 0, set 32,' log
