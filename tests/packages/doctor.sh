# SPDX-License-Identifier: BSD-3-Clause
# Sourced by life.sh, with RUNNING said to run: `keepon doctor` of an installed command, and the commands it prints, run
# where this system lets them run, and else read by the programs that they name.

# examine [IFACE]: a line for each check in /tmp/checks: name, state, command; what was found in /tmp/found
examine() {
	keepon doctor "$@" --json >/tmp/doctor.json
	/usr/bin/python3 -c 'import json
for check in json.load(open("/tmp/doctor.json"))["checks"]:
    print(check["name"], check["state"], check["remedy"], check["found"], sep="\t")' >/tmp/checks
}

field() { awk -F '\t' -v name="$1" -v which="$2" '$1 == name { print $which; exit }' /tmp/checks; }
state() { field "$1" 2; }
remedy() { field "$1" 3; }
found() { field "$1" 4; }

# mended CHECK: its command runs, and then it is ok
mended() {
	remedy "$1" >/tmp/remedy
	run "$1: its command runs" sh /tmp/remedy
	examine
	is "$(state "$1")" ok "$1: gone" || cat /tmp/remedy /tmp/checks
}

# tried CHECK: apt would do what its command says
tried() {
	remedy "$1" | sed 's/apt-get install/& -s/' >/tmp/remedy
	like "$(cat /tmp/remedy)" "apt-get install -s" "$1: a command for apt" || cat /tmp/checks
	run "$1: apt knows what it names" sh /tmp/remedy
}

# read_by WORDS PROGRAM ...: a program that fails, as there is no such card here, and not because it knows no such option
read_by() {
	_usage=$1
	shift
	command -v "$1" >/dev/null || not_ok "there is a program $1"
	timeout 5 "$@" >/tmp/said 2>&1
	like "$(grep -cE "$_usage" /tmp/said)" "^0$" "$* is understood" || cat /tmp/said
}

cp "/lib/modules/$RUNNING/build/.config" "/boot/config-$RUNNING"
examine
is "$(state keepon)" ok "doctor sees what dkms has built"
is "$(field gcc 2)" "" "doctor asks an installed command for no compiler"
is "$(state keepon-talk)" ok "but for its tools"
tried tools
tried "kernel extras"
install ethtool linuxptp mokutil openssl systemd systemd-timesyncd >/tmp/tools.log || tail -5 /tmp/tools.log
examine
is "$(state tools)" ok "the tools are there"
read_by "[Uu]sage|bad command line|invalid option" ethtool --set-eee lo eee off
read_by "[Uu]sage|bad command line|invalid option" ethtool -s lo duplex full autoneg on
read_by "[Uu]sage|bad command line|invalid option" ethtool -A lo autoneg off rx off tx off
read_by "[Uu]sage|bad command line|invalid option" ethtool -K lo rx-all off
read_by "[Uu]sage|invalid option" ptp4l -i nobody -m
read_by "[Uu]sage|invalid option" phc2sys -a -r -m
read_by "[Uu]sage|invalid option|[Uu]nknown" journalctl -u systemd-timesyncd.service -n 20
# Nothing that was started could be stopped: systemd does not run here.
like "$(systemctl disable --now systemd-timesyncd.service 2>&1)" "Removed .*systemd-timesyncd.service" \
	"a clock's writer is not started any more, as doctor says"
read_by "No such option|[Uu]sage" keepon hwcheck lo --peer lo --backend generic
read_by "No such option|[Uu]sage" keepon start nobody

# --- Secure Boot, as its variable says; of the firmware nothing more is here
mount -t tmpfs firmware /sys/firmware
mkdir -p /sys/firmware/efi/efivars
printf '\006\000\000\000\001' >/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
examine
is "$(state "Secure Boot")" ok "modules of dkms are signed" || cat /tmp/checks
for file in /lib/modules/"$RUNNING"/updates/dkms/keepon*; do
	case $file in *.xz) xz -d "$file" && file=${file%.xz} ;; esac
	strip -g "$file"
done
depmod "$RUNNING"
examine
is "$(state "Secure Boot")" problem "modules without a signature are a problem"
mended "Secure Boot"
is "$(modinfo -k "$RUNNING" -F signer keepon)" "$(openssl x509 -inform DER -in /var/lib/dkms/mok.pub -noout -subject -nameopt multiline | sed -n 's/ *commonName *= //p')" \
	"the key of dkms has signed them"
umount /sys/firmware
rm -f /lib/modules/"$RUNNING"/updates/dkms/keepon*
run "dkms has its own again" dkms install --force "keepon/$OLD" -k "$RUNNING"
