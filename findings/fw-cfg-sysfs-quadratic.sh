#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Linux's qemu_fw_cfg driver reads a file of n bytes in a time that grows with n^2.
#
# QEMU can give a guest files through fw_cfg; Linux shows them below /sys/firmware/qemu_fw_cfg/by_name. One would expect
# `cat raw` to take as long for each megabyte of a large file as of a small one. But sysfs hands a driver one page at a time
# with an offset, and drivers/firmware/qemu_fw_cfg.c has no way to go to an offset but to select the file again and read,
# byte by byte, all that is before it. Twice the size takes four times as long; 24 MB take hours.
#
# Seen with QEMU 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18) and Linux 6.1.192, virtual time of one instruction = 2 ns:
#   256 KiB: 0.23 s, 512 KiB: 0.85 s, 1024 KiB: 3.29 s (14 times the first).
#
# Needs apt of Debian 12 and qemu-system-x86. Exit code 0 while it is so, 1 when reading has become linear.
set -eu

kernel=linux-image-6.1.0-56-cloud-amd64=6.1.192-2
busybox=busybox-static=1:1.35.0-4+deb12u1+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

qemu-system-x86_64 --version | head -1
apt-get -q download "$kernel" "$busybox" >/dev/null
for package in *.deb; do
	echo "package $package"
	dpkg-deb -x "$package" root
done
image=$(echo root/boot/vmlinuz-*)
mkdir -p guest/bin guest/proc guest/sys
cp root/bin/busybox guest/bin/
cp "$(find root -name 'qemu_fw_cfg.ko*')" guest/
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox insmod /qemu_fw_cfg.ko
for size in 256 512 1024; do
	/bin/busybox cat /proc/uptime | /bin/busybox sed "s/ .*/ before $size/"
	/bin/busybox cat /sys/firmware/qemu_fw_cfg/by_name/opt/test/$size/raw | /bin/busybox md5sum
	/bin/busybox cat /proc/uptime | /bin/busybox sed "s/ .*/ after $size/"
done
/bin/busybox poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | ../root/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
files=
for size in 256 512 1024; do
	head -c $((size * 1024)) /dev/zero >"file$size"
	files="$files -fw_cfg name=opt/test/$size,file=file$size"
done
# shellcheck disable=SC2086
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$image" -initrd initrd $files \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null >log
tr -d '\r' <log | awk '/ before / { begin[$3] = $1 } / after / { took[$3] = $1 - begin[$3]; printf "%s KiB: %.2f s\n", $3, took[$3] }
	END {
		printf "four times the size: %.1f times as long\n", took[1024] / took[256]
		exit !(took[1024] > 8 * took[256])
	}'
