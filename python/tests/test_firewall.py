# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a firewall that name the card and not the link on it, whose traffic passes them by."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon.errors import EnvironmentProblemError
from keepon.linux import firewall, ruleset

RULES = """table inet filter {
	chain input {
		type filter hook input priority filter; policy accept;
		iifname "lo" accept
		%s
	}
}
"""


def listed(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str, text: str) -> None:
    """The program lists these rules; there is no other."""
    alone(monkeypatch, folder)
    (folder / "rules").write_text(text)
    lines = f"while read -r line; do printf '%s\\n' \"$line\"; done <{folder}/rules"
    stand_in(folder / program, lines)


def stand_in(program: Path, commands: str) -> None:
    program.write_text(f"#!/bin/sh\n{commands}\n")
    program.chmod(0o755)


def alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No program of the machine is found, and its firewall has no table of nftables."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(firewall, "ADMINISTRATORS_PATH", str(folder))
    monkeypatch.setattr(firewall, "_tables", list)
    monkeypatch.setattr(firewall, "_read", lambda path: "")


@pytest.mark.parametrize(
    ("rules", "first"),
    [
        ('iifname "eth0" tcp dport 22 drop', 'iifname "eth0" tcp dport 22 drop'),
        ('oifname { "wlan0", "eth0" } masquerade', 'oifname { "wlan0", "eth0" } masquerade'),
        ('iifname "eth*" drop', 'iifname "eth*" drop'),
        ('"eth0" : goto filter_IN_public', '"eth0" : goto filter_IN_public'),
        ('iifname "eth0" tcp dport 22 drop\n\tiifname "eth0" accept\n\tiifname "rt0" accept',
         'iifname "eth0" tcp dport 22 drop'),
        ('iifname "eth0" tcp dport 22 drop\n\tiifname "rt0" udp dport 9 accept',
         'iifname "eth0" tcp dport 22 drop'),
        ('iifname "eth0" accept\n\tiifname "eth0" drop\n\tiifname "rt0" drop\n\tiifname "rt0"'
         " accept", 'iifname "eth0" accept'),
        ('iifname "eth0" drop\n\t}\n\tchain other {\n\tiifname "rt0" drop', 'iifname "eth0" drop'),
        ('iifname "eth*" drop\n\tiifname "rt*" drop', 'iifname "eth*" drop'),
        ('iifname "eth0" tcp dport 22 drop\n\ttcp dport 22 accept\n'
         '\tiifname "rt0" tcp dport 22 drop', 'iifname "eth0" tcp dport 22 drop'),
        ('iifname != "eth0" accept', 'iifname != "eth0" accept'),
        ('iifname { "eth0", "w0" } oifname { "rt0", "x" } drop',
         'iifname { "eth0", "w0" } oifname { "rt0", "x" } drop'),
        ('type filter hook egress devices = { eth0, far0 } priority 0; policy accept;',
         'type filter hook egress devices = { "eth0", "far0" } priority 0; policy accept;'),
        ('}\n\tflowtable f {\n\thook ingress priority filter\n\tdevices = { eth0, wlan0 }',
         'devices = { "eth0", "wlan0" }'),
        ('}\n\tflowtable f {\n\thook ingress priority filter\n\tdevices = { "rt0" }',
         'devices = { "rt0" }'),
        ('type filter hook ingress devices = { eth0, rt0 } priority 0; policy accept;\n'
         '\tiifname "rt0" tcp dport 22 drop', 'iifname "rt0" tcp dport 22 drop'),
        ('type filter hook ingress device "eth0" priority 0; policy accept;\n'
         '\t}\n\tchain other {\n\tiifname "eth0" drop', 'iifname "eth0" drop'),
        ('type filter hook ingress device "wlan0" priority 0; policy accept;\n\tdup to "eth0"',
         'dup to "eth0"'),
        ('dup to 10.0.0.9 device ip saddr map { 10.0.0.1 : "eth0" }',
         'dup to 10.0.0.9 device ip saddr map { 10.0.0.1 : "eth0" }'),
        ('iifname "eth0" fwd to "wlan0"', 'iifname "eth0" fwd to "wlan0"'),
        ('iifname vmap { "eth0" : drop, "rt0" : accept }',
         'iifname vmap { "eth0" : drop, "rt0" : accept }'),
        ('iifname "eth0" quota name "eth0" drop\n\tiifname "rt0" quota name "rt0" drop',
         'iifname "eth0" quota name "eth0" drop'),
        ('iifname "eth0" limit name "eth0" accept\n\tiifname "rt0" limit name "rt0" accept',
         'iifname "eth0" limit name "eth0" accept'),
        ('quota name iifname map { "eth0" : "eth0", "rt0" : "rt0" } drop',
         'quota name iifname map { "eth0" : "eth0", "rt0" : "rt0" } drop'),
        ('what is new "eth0" drop\n\twhat is new "rt0" drop', 'what is new "eth0" drop'),
        ('}\n\tmap m {\n\ttype ipv4_addr : iface_index\n\telements = { 10.0.0.1 : "rt0" }',
         '10.0.0.1 : "rt0"'),
        ('}\n\tset s {\n\ttypeof ct helper . iifname\n\telements = { "rt0" . "eth0" }',
         '"rt0" . "eth0"'),
        ('log prefix "x\\" iifname "eth0" drop', 'iifname "eth0" drop'),
        ('iifname { "w0" comment "}", "eth0" } drop comment "and"',
         'iifname { "w0", "eth0" } drop'),
        ('}\n\tset s {\n\ttype ifname\n\telements = { "w0" comment "a\\", "eth0" comment "b" }',
         '"eth0"'),
    ],
)  # fmt: skip
def test_a_card_with_rules_of_its_own_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: str, first: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rules)
    with pytest.raises(EnvironmentProblemError) as caught:
        firewall.check_twins("eth0", "rt0")
    assert str(caught.value) == (
        f"the firewall treats rt0 otherwise than eth0, first by `{first}` (nft list ruleset): have"
        " rules that name one of them name both, or the same for rt0 next to them"
    )


@pytest.mark.parametrize(
    "rules",
    [
        'iifname { "eth0", "rt0" } tcp dport 22 drop',
        'iifname "eth0" drop\n\tiifname "rt0" drop',
        'iifname != "lo" tcp dport 22 drop',
        'tcp dport 22 drop comment "as on eth0, \\"eth0\\""',
        'iifname "eth01" drop',
        'iifname "eth0" counter packets 5 bytes 300 drop\n\tiifname "rt0" counter packets 0 bytes 0'
        " drop",
        'iifname vmap { "eth0" : jump a, "rt0" : jump a }',
        'type filter hook ingress device "eth0" priority 0; policy accept;',
        'iifname "eth0" quota over 9 mbytes used 3 mbytes drop\n\t'
        'iifname "rt0" quota over 9 mbytes used 0 bytes drop',
        'type filter hook ingress device "eth0" priority 0; policy drop;\n\tiifname "eth0" accept',
        'type filter hook ingress device "wlan0" priority 0; policy drop;\n\tiifname "rt0" drop',
        "type filter hook ingress devices = { eth0, rt0 } priority 0; policy accept;\n"
        '\tudp dport 9 drop\n\tiifname { "eth0", "rt0" } tcp dport 9 drop',
        'type filter hook ingress device "*" priority 0; policy accept;\n\tudp dport 9 drop',
        "}\n\tflowtable f {\n\thook ingress priority filter\n\tdevices = { rt0, eth0, wlan0 }",
        'iifname != { "eth0", "rt0" } drop',
        'iifname "eth0" oifname "eth0" drop\n\tiifname "eth0" oifname "rt0" drop\n\t'
        'iifname "rt0" oifname "rt0" drop\n\tiifname "rt0" oifname "eth0" drop',
        "type filter hook egress devices = { eth0, rt0 } priority 0; policy accept;",
        'counter name "eth0"\n\tquota name "rt0" drop\n\tlimit name "eth0" drop',
        'ct helper set "eth0"\n\tct timeout set "rt0"\n\tct expectation set "eth0"',
        'synproxy name "eth0"\n\tmeta secmark set "rt0"\n\tct helper "eth0" accept',
        'quota name iifname map { "eth0" : "rt0", "rt0" : "rt0" } drop',
        'counter name tcp dport map { 80 : "eth0" }',
        '}\n\tmap m {\n\ttype ipv4_addr : quota\n\telements = { 10.0.0.1 : "eth0" }',
        '}\n\tmap m {\n\ttype ifname : quota\n\telements = { "eth0" : "rt0", "rt0" : "rt0" }',
        'log prefix "on eth0, \\" drop\n\tlog prefix "eth0" drop',
        'drop comment "as "iifname "eth0" says"',
        '}\n\tmap m {\n\ttype ifname : verdict\n\telements = { "eth0" : goto a,\n\t"rt0" : goto a,'
        '\n\t"wlan0" : goto b }',
    ],
)
def test_rules_that_count_for_both_are_none_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rules)
    firewall.check_twins("eth0", "rt0")


def test_iptables_of_old_is_asked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "*filter\n-A INPUT -i eth+ -p tcp -j DROP\n-A FORWARD ! -o eth0 -j ACCEPT\nCOMMIT\n"
    listed(monkeypatch, tmp_path, "iptables-legacy-save", text)
    with pytest.raises(EnvironmentProblemError, match=r"first by `-A INPUT -i eth\+ -p tcp"):
        firewall.check_twins("eth0", "rt0")
    firewall.check_twins("wlan0", "rt0")


@pytest.mark.parametrize(
    ("program", "rules", "is_told"),
    [
        ("nft", RULES % "ip saddr 172.17.0.0/16 masquerade", True),
        ("nft", RULES % "masquerade to :1024-2048 fully-random", True),
        ("nft", RULES % 'snat to 10.0.0.1 comment "no masquerade"', False),
        ("nft", RULES % "drop", False),
        ("iptables-legacy-save", "*nat\n-A POSTROUTING -s 10.9.0.0/16 -j MASQUERADE\n", True),
        ("iptables-legacy-save", "*nat\n-A POSTROUTING -j SNAT --to-source 10.0.0.1\n", False),
    ],
)  # fmt: skip
def test_rules_that_masquerade_are_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, rules: str, is_told: bool
) -> None:
    listed(monkeypatch, tmp_path, program, rules)
    assert firewall.check_twins("eth0", "rt0") == is_told


def test_without_a_firewall_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone(monkeypatch, tmp_path)
    firewall.check_twins("eth0", "rt0")


def test_tables_of_nftables_without_nft_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those of iptables, too, which can have been changed by what iptables does not know."""
    alone(monkeypatch, tmp_path)
    monkeypatch.setattr(firewall, "_tables", lambda: ["filter"])
    with pytest.raises(EnvironmentProblemError, match=r"no nft to tell .* apt install nftables$"):
        firewall.check_twins("eth0", "rt0")


def test_old_tables_that_no_program_lists_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone(monkeypatch, tmp_path)
    monkeypatch.setattr(firewall, "_read", lambda path: "filter\n" if "ip6" in path else "")
    with pytest.raises(EnvironmentProblemError, match=r"no ip6tables-legacy-save to tell"):
        firewall.check_twins("eth0", "rt0")


def test_programs_are_found_though_the_path_does_not_lead_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % 'iifname "eth0" tcp dport 22 drop')
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentProblemError, match=r"first by `iifname \"eth0\" tcp"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize("rule", ["iifgroup 10 drop", "oifgroup { 10 } drop"])
def test_rules_for_the_cards_group_are_for_the_links_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rule)
    groups = {"eth0": "10", "rt0": "default"}
    monkeypatch.setattr(firewall, "ip", lambda *words: f'[{{"group": "{groups[words[-1]]}"}}]')
    with pytest.raises(EnvironmentProblemError, match=r": ip link set dev rt0 group 10 first$"):
        firewall.check_twins("eth0", "rt0")
    groups["rt0"] = "10"
    firewall.check_twins("eth0", "rt0")


def test_a_firewall_that_cannot_be_listed_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone(monkeypatch, tmp_path)
    stand_in(tmp_path / "nft", "echo Error: Could not process rule >&2\nexit 1")
    firewall.check_twins("eth0", "rt0")  # the kernel has no such firewall
    monkeypatch.setattr(firewall, "_tables", lambda: ["filter"])
    with pytest.raises(EnvironmentProblemError, match=r"^nft list ruleset fails \(Error: Could"):
        firewall.check_twins("eth0", "rt0")
    old = (tmp_path / "nft").rename(tmp_path / "ebtables-legacy-save")
    monkeypatch.setattr(firewall, "_tables", list)
    with pytest.raises(EnvironmentProblemError, match=r"^ebtables-legacy-save fails \(Error: Co"):
        firewall.check_twins("eth0", "rt0")
    stand_in(old, "echo The kernel does not support: Protocol not supported >&2\nexit 1")
    firewall.check_twins("eth0", "rt0")


def test_rules_that_nft_cannot_tell_whole_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It lists the rest of them, with exit code 0."""
    alone(monkeypatch, tmp_path)
    stand_in(tmp_path / "nft", "echo XT match devgroup not found >&2")
    with pytest.raises(EnvironmentProblemError, match=r"^nft list ruleset cannot tell all"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize("program", ["iptables-nft-save", ""])
def test_rules_that_are_of_iptables_alone_are_asked_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    """nft lists a match of an extension without its words."""
    listed(monkeypatch, tmp_path, "nft", RULES % 'xt match "physdev" tcp dport 22 drop')
    if program:
        rule = "-A INPUT -m physdev --physdev-in eth0 -p tcp -j DROP"
        stand_in(tmp_path / program, f"echo '*filter'; echo '{rule}'")
    with pytest.raises(EnvironmentProblemError, match="physdev-in eth0" if program else "no iptab"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize("negated", ["-i ! eth0", "! -i eth0"])
def test_a_negation_stands_before_the_option_or_the_name(negated: str) -> None:
    """As ebtables writes it, and as the others do."""
    units = ruleset.units(f"*filter\n-A FORWARD {negated} -j DROP", "ebtables-legacy-save")
    assert list(firewall._otherwise(units, "ebtables-legacy-save", "eth0", "rt0"))


def test_rules_for_kinds_of_devices_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % 'meta iifkind "keepon" accept')
    with pytest.raises(EnvironmentProblemError, match="rules for kinds of devices"):
        firewall.check_twins("eth0", "rt0")


def test_what_is_quoted_is_no_condition_of_iptables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rule = '-A INPUT -i eth0 -m string --string "said \\"x\\", as -i rt0 has it" -j DROP'
    listed(monkeypatch, tmp_path, "iptables-legacy-save", f"*filter\n{rule}\nCOMMIT\n")
    with pytest.raises(EnvironmentProblemError, match=r"first by `-A INPUT -i eth0"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    "rule",
    [
        '-A INPUT -m string --string "eth0" --algo bm -j DROP',
        '-A INPUT -m comment --comment "of eth0, -i eth0" -j DROP',
        "-A INPUT -m comment --comment -i -j DROP",
        "-A INPUT -j LOG --log-prefix eth0",
        '-A INPUT -j NFLOG --nflog-prefix "iifname \\"eth0\\" -i eth0"',
        "-A INPUT -i eth0 -m comment --comment eth0 -j DROP\n"
        "-A INPUT -i rt0 -m comment --comment rt0 -j DROP",
    ],
)
def test_texts_of_iptables_are_no_devices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    listed(monkeypatch, tmp_path, "iptables-legacy-save", f"*filter\n{rule}\nCOMMIT\n")
    firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize("rule", ['log prefix "a"b " drop', 'drop comment "a\n\tb"'])
def test_a_text_whose_end_nobody_can_tell_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rule)
    with pytest.raises(EnvironmentProblemError, match=r"a quotation mark or a line break .* text$"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    "rule",
    [
        'iif & "lo" == "lo" drop',
        'iifname & "eeee" == "eeee" drop',
        'oifname > "a" drop',
        'iif <= "wlan0" drop',
        'iif "lo"-"wlan0" drop',
        "oif != 40-50 drop",
        'iif { "lo"-"wlan0", 90 } drop',
        "tcp dport . iif { 22 . 40-50 } drop",
        "jhash iif . ip saddr mod 2 0 drop",
        "meta mark set jhash oifname mod 2",
        "}\n\tset s {\n\ttype iface_index\n\tflags interval\n\telements = { 40-50 }",
    ],
)
def test_rules_for_numbers_of_devices_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    """Also where none is listed by the name of one of the two: theirs lie between, or beside."""
    listed(monkeypatch, tmp_path, "nft", RULES % rule)
    with pytest.raises(EnvironmentProblemError, match=r"^the firewall asks for numbers of devices"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    "rule",
    [
        "iif 40 drop",
        "iif != { 40, 41 } tcp dport 1-1023 drop",
        'iifname "br-lan" ip saddr & 255.0.0.0 == 10.0.0.0 drop',
        'iifname . tcp dport { "br-lan" . 1-1023 } drop',
        "jhash ip saddr mod 2 0 iif 40 drop",
    ],
)
def test_numbers_of_something_else_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rule)
    firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    ("program", "is_refused"),
    [
        ('-m bpf --bytecode "4,32 0 0 4294963208,21 0 1 2,6 0 0 65535,6 0 0 0"', True),
        ('-m bpf --bytecode "2,40 0 0 4294963228,6 0 0 65535"', True),
        ("-m bpf --object-pinned /sys/fs/bpf/own", True),
        ('-m bpf --bytecode "4,48 0 0 9,21 0 1 17,6 0 0 1,6 0 0 0"', False),
        ('-m bpf --bytecode "4,32 0 0 12,84 0 0 4294967040,21 0 1 9,6 0 0 4294967295"', False),
        ('-m bpf --bytecode "2,32 0 0 4293918720,6 0 0 1"', False),  # of the network header
    ],
)
def test_programs_that_may_ask_for_a_device_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, is_refused: bool
) -> None:
    text = f"*raw\n-A PREROUTING {program} -j DROP\nCOMMIT\n"
    listed(monkeypatch, tmp_path, "iptables-legacy-save", text)
    if not is_refused:
        firewall.check_twins("eth0", "rt0")
        return
    with pytest.raises(EnvironmentProblemError, match=r"^the firewall asks for numbers of devices"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ('iifname "rt0" drop\nudp dport 22 accept', 'iifname "rt0" drop'),
        ('udp dport 22 accept\niifname "rt0" drop', 'iifname "rt0" drop'),
        (
            'meta mark 1 iifname "rt0" return\noifname { "eth0", "rt0" } accept',
            'meta mark 1 iifname "rt0" return',
        ),
        ('iifname "eth0" drop\nudp dport 22 accept', 'iifname "eth0" drop'),
    ],
)
def test_the_rule_that_is_told_names_one_of_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: str, named: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rules)
    with pytest.raises(EnvironmentProblemError) as caught:
        firewall.check_twins("eth0", "rt0")
    assert f"first by `{named}` (" in str(caught.value)


@pytest.mark.parametrize(
    ("devices", "rule"),
    [
        ('device "rt0"', "udp dport 9 drop"),
        ('device "rt*"', "udp dport 9 drop"),
        ("devices = { rt0, wlan0 }", ""),
        ('devices = { "rt0", "wlan0" }', ""),
        ("devices = { eth0, rt0 }", "limit rate over 9/second drop"),
        ("devices = { eth0, rt0 }", 'dup to "wlan0"'),
        ("devices = { eth0, rt0 }", "meta random < 1000 drop"),
        ('device "*"', "jump other"),
    ],
)
def test_a_chain_at_the_ingress_of_the_link_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, devices: str, rule: str
) -> None:
    """What comes in by the card alone does not meet it, or would not twice."""
    hook = f"type filter hook ingress {devices} priority 0; policy drop;\n\t{rule}"
    listed(monkeypatch, tmp_path, "nft", RULES % hook)
    with pytest.raises(EnvironmentProblemError, match=r"what comes in by rt0 .* take rt0 out"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    "rule",
    [
        'fwd to "eth0"\n\tfwd to "rt0"',
        'fwd ip to 10.0.0.9 device "eth0"',
        'fwd to ip saddr map { 10.0.0.1 : "eth0" }',
        'type filter hook ingress device "wlan0" priority 0; policy accept;\n\tfwd to "eth0"',
    ],
)
def test_a_rule_that_forwards_to_the_card_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    """And its twin behind it would never be met; one for the link alone is as it is meant."""
    listed(monkeypatch, tmp_path, "nft", RULES % rule)
    with pytest.raises(EnvironmentProblemError, match=r"^the firewall forwards packets to eth0"):
        firewall.check_twins("eth0", "rt0")
    listed(monkeypatch, tmp_path, "nft", RULES % rule.replace("eth0", "rt0"))
    firewall.check_twins("eth0", "rt0")


def test_copies_go_by_the_link_as_they_go_by_the_card(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each rule sends one, and the packet goes on: the next one sends one as well."""
    tee = "-A PREROUTING -p icmp -j TEE --gateway 10.0.0.9 --oif %s\n"
    dup = 'icmp type echo-request dup to 10.0.0.9 device "%s"\n\t'
    for program, rules, rule in (
        ("iptables-legacy-save", "*mangle\n%sCOMMIT\n", tee),
        ("nft", RULES, dup),
        ("nft", RULES, dup.replace('"', "")),  # as nft lists that of iptables
    ):
        listed(monkeypatch, tmp_path, program, rules % rule % "eth0")
        with pytest.raises(EnvironmentProblemError, match=r"10\.0\.0\.9 .* next to them$"):
            firewall.check_twins("eth0", "rt0")
        listed(monkeypatch, tmp_path, program, rules % (rule % "eth0" + rule % "rt0"))
        firewall.check_twins("eth0", "rt0")
        (tmp_path / program).unlink()


INGRESS = 'type filter hook ingress device "eth0" priority 0; policy accept;'


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("nft", "fib daddr . iif type != { local, broadcast, multicast } drop"),
        ("nft", "fib saddr . mark . iif type local drop"),
        ("nft", "fib daddr . oif type local drop"),
        ("nft", "fib daddr . oif oif missing drop"),
        ("nft", f"{INGRESS}\n\tfib saddr . iif oif missing drop"),
        ("nft", f"fib saddr . iif oif missing drop\n\t}}\n\tchain other {{\n\t{INGRESS}"),
        ("nft", "iifname vmap { lo : accept } fib saddr . iif type vmap { local : drop }"),
        ("iptables-legacy-save", "-A INPUT -m addrtype --dst-type LOCAL --limit-iface-in -j DROP"),
        ("iptables-legacy-save", "-A OUTPUT -m addrtype --src-type LOCAL --limit-iface-out"),
        ("iptables-legacy-save", "-A PREROUTING -m rpfilter --accept-local --invert -j DROP"),
    ],
)
def test_what_asks_for_addresses_of_one_device_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, rule: str
) -> None:
    """Those of the link are the card's first: packets for it would be dropped."""
    listed(monkeypatch, tmp_path, program, RULES % rule if program == "nft" else f"*raw\n{rule}\n")
    with pytest.raises(EnvironmentProblemError, match=r"asks what an address is to one device"):
        firewall.check_twins("eth0", "rt0")


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("nft", "fib daddr type local accept"),
        ("nft", "fib saddr . mark . iif oif missing drop"),
        ("nft", "fib saddr . iif oif 0 drop\n\tfib saddr oif != 0 accept"),
        ("nft", "fib saddr . iif check missing drop"),
        ("nft", f"{INGRESS}\n\tfib saddr oif missing drop"),
        ("nft", f"fib saddr . iif oif missing drop\n\t}}\n}}\ntable netdev t {{\n{INGRESS}"),
        ("nft", 'fib saddr oifname "eth0" accept\n\tfib saddr oifname "rt0" accept'),
        ("iptables-legacy-save", "-A INPUT -m addrtype --dst-type LOCAL -j DROP"),
        ("iptables-legacy-save", "-A PREROUTING -m rpfilter --validmark --invert -j DROP"),
        ("iptables-legacy-save", "-A PREROUTING -m rpfilter --loose --accept-local --invert"),
    ],
)
def test_what_asks_for_routes_or_for_all_devices_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, rule: str
) -> None:
    """firewalld and Docker have such rules."""
    listed(monkeypatch, tmp_path, program, RULES % rule if program == "nft" else f"*raw\n{rule}\n")
    firewall.check_twins("eth0", "rt0")


SET = "create x hash:net,iface family inet hashsize 1024 timeout 30 counters comment\n"


@pytest.mark.parametrize(
    ("elements", "first"),
    [
        ("", ""),
        ('add x 10.0.0.0/24,eth0 timeout 9 packets 1 bytes 60 comment "a, rt0"\n'
         "add x 10.0.0.0/24,rt0 timeout 30 packets 0 bytes 0", ""),
        ("add x 10.0.0.0/24,wlan0\nadd x 10.0.0.0/24,et\nadd x 0.0.0.0/0,eth01", ""),
        ("create y hash:net\nadd y 10.0.0.0/24,eth0", ""),
        ("add x 10.0.0.0/24,eth0", '10.0.0.0/24 . "eth0"'),
        ("add x 10.0.0.0/24,eth0\nadd x 10.0.0.0/24,rt0 nomatch", '10.0.0.0/24 . "eth0"'),
        ("add x 10.0.0.0/24,eth0\nadd x 10.0.0.0/24,physdev:rt0", '10.0.0.0/24 . "eth0"'),
        ("add x 10.0.0.0/24,et wildcard", '10.0.0.0/24 wildcard . "et*"'),
        ("add x fd00::/64,rt0", 'fd00::/64 . "rt0"'),
    ],
)  # fmt: skip
def test_devices_in_sets_of_ipset_are_compared_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, elements: str, first: str
) -> None:
    """A rule names the set, and not the devices in it."""
    rule = "-A INPUT -m set --match-set x src,src -j DROP"
    listed(monkeypatch, tmp_path, "iptables-legacy-save", f"*filter\n{rule}\nCOMMIT\n")
    with pytest.raises(EnvironmentProblemError, match=r"sets of ipset, .* apt install ipset$"):
        firewall.check_twins("eth0", "rt0")
    stand_in(tmp_path / "ipset", f"echo '{SET}{elements}'")
    if not first:
        firewall.check_twins("eth0", "rt0")
        return
    with pytest.raises(EnvironmentProblemError) as caught:
        firewall.check_twins("eth0", "rt0")
    assert f"first by `{first}` (ipset save): have" in str(caught.value)


def test_the_kernel_says_which_tables_it_has() -> None:
    """Of a namespace of its own, where the kernel has nftables: a list, of nothing or of names."""
    assert all(firewall._tables())


def test_a_firewall_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(tmp_path / "nft", "while :; do :; done")
    alone(monkeypatch, tmp_path)
    monkeypatch.setattr(firewall, "TIMEOUT_S", 0.2)
    with pytest.raises(EnvironmentProblemError, match=r"^nft list ruleset does not answer"):
        firewall.check_twins("eth0", "rt0")


NAMES = ("eth0", "rt0", "wlan0", "e*")
CONDITIONS = st.none() | st.tuples(
    st.booleans(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
)
RULE = st.tuples(CONDITIONS, st.sampled_from([None, 22, 80]), st.sampled_from(["accept", "drop"]))
Rule = tuple[tuple[bool, list[str]] | None, int | None, str]


def as_nft(rule: Rule) -> str:
    condition, port, action = rule
    words = []
    if condition is not None:
        negated, names = condition
        quoted = [f'"{name}"' for name in names]
        told = quoted[0] if len(quoted) == 1 else "{ " + ", ".join(quoted) + " }"
        words += ["iifname", *(["!="] if negated else []), told]
    return " ".join([*words, *([f"tcp dport {port}"] if port else []), action])


def verdict(rules: list[Rule], device: str, port: int) -> str:
    """What becomes of a packet, rule by rule."""
    for condition, own_port, action in rules:
        named = condition is None or condition[0] != any(
            device.startswith(name[:-1]) if name.endswith("*") else device == name
            for name in condition[1]
        )
        if named and own_port in (None, port):
            return action
    return "policy"


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.lists(RULE, max_size=5))
def test_what_is_not_refused_lets_the_same_pass_from_both(rules: list[Rule]) -> None:
    """By following packets through the rules."""
    text = RULES % "\n\t".join(map(as_nft, rules))
    if ruleset.first_apart(ruleset.units(text, "nft"), "eth0", "rt0"):
        return
    for port in (22, 80, 443):
        assert verdict(rules, "eth0", port) == verdict(rules, "rt0", port), text


@given(st.lists(RULE, max_size=5))
def test_rules_that_always_name_both_are_never_refused(rules: list[Rule]) -> None:
    both = [
        ((rule[0][0], sorted({*rule[0][1], "eth0", "rt0"})), *rule[1:]) if rule[0] else rule
        for rule in rules
    ]
    text = RULES % "\n\t".join(map(as_nft, both))
    assert ruleset.first_apart(ruleset.units(text, "nft"), "eth0", "rt0") == ""
