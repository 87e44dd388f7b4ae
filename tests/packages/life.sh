# SPDX-License-Identifier: BSD-3-Clause
# In a minimal Debian, as root: packages are installed, used, upgraded, removed and purged. Beside this script: old/ and new/
# with packages, expected.sh with OLD, NEW (versions) and KERNELS (linux-headers-... that are installed; the first one's
# kernel is said to run), test.sh, doctor.sh, capture.pcap. Left in out/: modules/KERNEL that dkms has built; that kernel's
# image package, unpacked; programs, with all libraries they need.
. ./expected.sh
. ./test.sh
# apt gives dpkg a terminal, whose lines end with a return.
install() { apt-get install -y -q --no-install-recommends "$@" 2>&1 | tr -d '\r'; }

apt-get -q update >/dev/null
# Documents and pages are what is looked at here; minimal systems leave them out.
rm -f /etc/dpkg/dpkg.cfg.d/*
install man-db bash bash-completion zsh fish kmod iproute2 >/dev/null
before=$(mktemp)
# What man keeps of pages that were read is its own affair.
ours() { find / -xdev \( -path /proc -o -path /sys -o -path /srv -o -path /tmp -o -path /var/cache/man \) -prune -o -iname '*keepon*' -print | sort; }
ours >"$before"
# dkms asks uname which kernel runs; here the host's would, of which this system knows nothing.
uname=$(command -v uname)
real=$(readlink -f "$uname")
foreign=$(uname -r)
running() {
	printf '#!/bin/sh\n[ "$1" = -r ] && { echo %s; exit; }\nexec %s.real "$@"\n' "$1" "$real" >"$real.new"
	chmod 755 "$real.new"
	[ -e "$real.real" ] || mv "$real" "$real.real"
	mv "$real.new" "$real"
	# Of mounts of this process alone (scripts/chroot.py).
	echo "$1" >/tmp/osrelease
	mount --bind /tmp/osrelease /proc/sys/kernel/osrelease
}

# --- the tools alone, as on a station
run "tools install" apt-get install -y -q --no-install-recommends ./old/keepon-tools_*.deb
is "$(keepon --version)" "keepon $OLD" "keepon has a version"
refuse "without numpy" /usr/bin/python3 -c "import numpy"
keepon doctor lo --json >/tmp/doctor.json
like "$(cat /tmp/doctor.json)" '"keepon.doctor/' "the command looks at a card"
is "$(keepon status 2>&1)" "no keepon link is here; keepon start makes one" "and for links"
answer=$(keepon plan my.toml 2>&1)
is "$?" 3 "a plan needs package keepon"
like "$answer" '^keepon: command "plan" is of package keepon, which is not installed here .*; run apt-get install \./keepon_\*\.deb; ' \
	"and one sentence says so"
printf 'schema = "keepon.machine/1"\niface = "eth0"\n[plan]\nfile = "p.json"\nscenario = "s.toml"\nstation = "a"\n' \
	>/etc/keepon/cell.toml
like "$(keepon start --boot cell 2>&1)" "is of package keepon, .*; run apt-get install \./keepon_\*\.deb$" "so does a file in /etc/keepon"
rm /etc/keepon/cell.toml
run "there is a folder for links" test -d /etc/keepon

# --- the whole command
run "keepon installs" apt-get install -y -q --no-install-recommends ./old/keepon_*.deb
is "$(keepon --version)" "keepon $OLD" "keepon is the same command"
is "$(keepon-talk --version)" "keepon-talk $OLD" "keepon-talk tells its version"
is "$(dpkg-query -W -f '${Version}' keepon | cut -d- -f1)" "$OLD" "the package has the version"
like "$(keepon-talk --help)" "SO_TXTIME" "keepon-talk has help"
like "$(keepon-listen --help)" "usage: keepon-listen" "keepon-listen has help"
like "$(ip link add type keepon help 2>&1)" "slot_bytes BYTES" "ip finds the plugin"
like "$(dpkg-query -W -f '${Depends}' keepon-tools)" "iproute2 \(>= 5\.9\)(,|\$)" "and may be of any version that has its layout"
install tshark >/tmp/tshark.log || tail -5 /tmp/tshark.log
is "$(tshark -r capture.pcap -T fields -e keepon.stream -e keepon.seq -e keepon.delay 2>/tmp/tshark.log)" \
	"$(printf '0x%s\t7\t40000' "$STREAM")" "Wireshark shows a test frame by itself" || cat /tmp/tshark.log
run "an example that came with the package has a plan" keepon plan /usr/share/doc/keepon/examples/three-stations.toml
run "an example is run" keepon run /usr/share/doc/keepon/examples/three-stations.toml --duration 0.1 --out /tmp/run
run "its report is there" test -s /tmp/run/report.html
cd /tmp
run "an example is copied" keepon examples gptp mine.toml
schema=$(sed -n '1s/^#:schema //p' mine.toml)
run "and names the schema where it is" test -f "$schema"
cd - >/dev/null
run "the schemas have a place of their own" test -f /usr/share/keepon/schemas/scenario.schema.json
run "the README is there" test -s /usr/share/doc/keepon/README.md
for page in keepon.8 keepon.7 keepon-scenario.5 keepon-talk.1 keepon-listen.1; do
	like "$(MANWIDTH=80 man -P cat "${page##*.}" "${page%.*}" 2>&1)" "^NAME" "man ${page##*.} ${page%.*}"
done
is "$(head -1 /usr/lib/keepon/bin/keepon)" "#!/usr/lib/keepon/bin/python" "what designs has an environment of its own"
like "$(/usr/lib/keepon/bin/python -c 'import sys; print(sys.base_prefix)')" "^/usr$" "on the system's Python"
keepon plan /nowhere.toml >/dev/null 2>&1
is "$(find /usr/lib/keepon -name '*.pyc' -newer "$before" | head -1)" "" "using it leaves nothing behind"

# --- completion
cat >/tmp/bash.sh <<'EOF'
. /usr/share/bash-completion/bash_completion
_completion_loader keepon
COMP_WORDS=(keepon pl); COMP_CWORD=1; _keepon_completion keepon; echo "${COMPREPLY[@]}"
COMP_WORDS=(keepon run --tar); COMP_CWORD=2; _keepon_completion keepon; echo "${COMPREPLY[@]}"
EOF
is "$(bash /tmp/bash.sh | tr '\n' ' ')" "plan --target " "bash completes"
cat >/tmp/zsh.sh <<'EOF'
zmodload zsh/zpty
press() {
	zpty shell zsh -f -i
	zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u; bindkey "^I" complete-word'
	sleep 3
	zpty -w -n shell "$1"$'\t'
	sleep 10
	zpty -w -n shell $'\C-a: \C-e\n'
	sleep 1
	local all= line
	while zpty -rt shell line; do all+=$line; done
	zpty -d shell
	print -r -- "$all"
}
press "keepon pl"
press "keepon run --tar"
EOF
zsh /tmp/zsh.sh >/tmp/zsh.out 2>&1
like "$(tr -d '\r' </tmp/zsh.out)" "keepon plan" "zsh completes a command"
like "$(tr -d '\r' </tmp/zsh.out)" "keepon run --target" "zsh completes an option"
like "$(fish -c 'complete -C "keepon pl"')" "^plan" "fish completes a command"
like "$(fish -c 'complete -C "keepon run --tar"')" "^--target" "fish completes an option"

# --- modules
printed=$(install ./old/keepon-dkms_*.deb)
like "$printed" "no modules for the running kernel $foreign, as its headers are not here; run: apt-get install linux-headers-$foreign$" \
	"without headers one sentence says so"
run "and the package is installed" dpkg-query -W keepon-dkms
run "systemd-networkd leaves links alone" grep -qx Kind=keepon /usr/lib/systemd/network/00-keepon.network
run "NetworkManager leaves links alone" grep -qx managed=0 /usr/lib/NetworkManager/conf.d/keepon.conf
for kernel in $KERNELS; do install "linux-headers-$kernel" >/tmp/headers.log || tail -5 /tmp/headers.log; done
KERNELS=$(ls /lib/modules)
RUNNING=${KERNELS%%[!a-z0-9.+-]*}
running "$RUNNING"
for kernel in $KERNELS; do
	run "modules build for $kernel" dkms autoinstall -k "$kernel"
	is "$(modinfo -k "$kernel" -F version keepon)" "$OLD" "and have the version"
	wanted="keepon keepon_generic keepon_hwcheck keepon_hwsim keepon_native sch_guard"
	if grep -q '^CONFIG_MII=[ym]' "/lib/modules/$kernel/build/include/config/auto.conf"; then
		wanted="keepon keepon_gem keepon_generic keepon_genet keepon_hwcheck keepon_hwsim keepon_intel keepon_native sch_guard"
	fi
	is "$(ls /lib/modules/"$kernel"/updates/dkms | sed 's/\.ko.*//' | sort | tr '\n' ' ')" "$wanted " "all that $kernel can have"
	like "$(modinfo -k "$kernel" -F depends keepon)" "keepon_native" "and know each other"
	like "$(modinfo -k "$kernel" -F sig_key keepon)" "^[0-9A-F:]+$" "and are signed with the key of dkms"
	mkdir -p "out/modules/$kernel"
	cp /lib/modules/"$kernel"/updates/dkms/*.ko* "out/modules/$kernel"
	xz -dq out/modules/"$kernel"/*.xz 2>/dev/null
done
run "the key that Secure Boot has to know is there" test -s /var/lib/dkms/mok.pub
# apt keeps what it downloads away from its own user here.
(cd /tmp && apt-get -q download -o APT::Sandbox::User=root "linux-image-$RUNNING") >/tmp/image.log 2>&1 || tail -5 /tmp/image.log
mkdir -p out/image out/programs
dpkg-deb -x /tmp/linux-image-*.deb out/image
for program in $(command -v ip) /usr/bin/keepon-talk; do
	cp "$program" $(ldd "$program" | grep -o '/[^ ]*') out/programs
done
. ./doctor.sh

# --- a build that fails: the compiler is gone
gcc=$(readlink -f "$(command -v gcc)")
dkms uninstall keepon/"$OLD" -k "$RUNNING" >/dev/null 2>&1
dkms unbuild keepon/"$OLD" -k "$RUNNING" >/dev/null 2>&1
mv "$gcc" "$gcc.away"
printed=$(dpkg-reconfigure keepon-dkms 2>&1)
# A plus in the kernel's name is no operator.
like "$printed" "^keepon-dkms: the modules do not build for the running kernel $(echo "$RUNNING" | sed 's/[+.]/\\&/g'); read /var/lib/dkms/keepon/" \
	"a failing build is one sentence"
mv "$gcc.away" "$gcc"
examine
like "$(found keepon)" "why dkms could not build it is in /var/lib/dkms/keepon/$OLD/build/make.log" "doctor says where to read why"
is "$(remedy keepon)" "dkms autoinstall -k $RUNNING" "and the command that builds them again"
mended keepon

# --- a kernel that this version does not know
mkdir -p /lib/modules/99.0.0/build/include
touch /lib/modules/99.0.0/build/Makefile /lib/modules/99.0.0/modules.dep
run "apt configures the headers of an unknown kernel" /etc/kernel/header_postinst.d/dkms 99.0.0
running 99.0.0
printed=$(dpkg-reconfigure keepon-dkms 2>&1)
like "$printed" "^keepon: no modules for kernel 99.0.0, as this version knows" "one sentence says why there are no modules"
is "$(echo "$printed" | grep -c "do not build")" 0 "and none that a build has failed" || echo "$printed"
run "and the package is configured" dpkg-query -W keepon-dkms
examine
like "$(found keepon)" "this version of Keepon knows kernels" "doctor says it, too"
is "$(remedy keepon)" "" "and tells nobody to build"
rm -r /lib/modules/99.0.0
running "$RUNNING"

run "repeating it builds again" dpkg-reconfigure keepon-dkms
is "$(modinfo -k "$RUNNING" -F version keepon)" "$OLD" "the modules are there again"

# --- upgrade
run "everything is upgraded" apt-get install -y -q --no-install-recommends ./new/*.deb
is "$(keepon --version)" "keepon $NEW" "keepon is of the new version"
is "$(keepon-talk --version)" "keepon-talk $NEW" "keepon-talk is"
is "$(modinfo -k "$RUNNING" -F version keepon)" "$NEW" "the modules are"
is "$(dkms status keepon | grep -c "$OLD")" 0 "nothing is left of the old modules"
is "$(ls -d /usr/src/keepon-*)" "/usr/src/keepon-$NEW" "nor of their sources"
run "and a plan is made" keepon plan /usr/share/doc/keepon/examples/two-stations.toml

# --- removal, of what was switched on, too
units=/etc/systemd/system
mkdir -p $units/multi-user.target.wants
ln -s /lib/systemd/system/keepon@.service $units/multi-user.target.wants/keepon@eth0.service
run "what designs is removed" apt-get remove -y -q keepon
is "$(keepon --version)" "keepon $NEW" "the command stays"
run "everything is removed" apt-get remove -y -q keepon-tools keepon-dkms
is "$(find $units -name 'keepon*')" "" "units go"
for kernel in $KERNELS; do
	is "$(find /lib/modules/"$kernel" -name 'keepon*')" "" "no module is left for $kernel"
done
refuse "ip does not know the plugin any more" sh -c 'ip link add type keepon help 2>&1 | grep slot_bytes'
# Nothing of them is configuration, so apt knows them no more; dpkg is content either way.
run "everything is purged" dpkg --purge keepon keepon-tools keepon-dkms
ours | diff "$before" - >/tmp/left
is "$(cat /tmp/left)" "" "and nothing is left"
done_testing
