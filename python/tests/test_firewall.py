# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a firewall that name the card and not the link on it, whose traffic passes them by."""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon.errors import EnvironmentProblemError
from keepon.linux import firewall

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
    (folder / "rules").write_text(text)
    script = folder / program
    script.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done <{folder}/rules\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("rules", "first"),
    [
        ('iifname "eth0" tcp dport 22 drop', 'iifname "eth0" tcp dport 22 drop'),
        ('oifname { "wlan0", "eth0" } masquerade', 'oifname { "wlan0", "eth0" } masquerade'),
        ('iifname "eth*" drop', 'iifname "eth*" drop'),
        ('"eth0" : goto filter_IN_public', '"eth0" : goto filter_IN_public'),
        ('iifname "eth0" tcp dport 22 drop\n\tiifname "eth0" accept\n\tiifname "rt0" accept',
         'iifname "eth0" tcp dport 22 drop'),
    ],
)  # fmt: skip
def test_a_card_with_rules_of_its_own_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: str, first: str
) -> None:
    listed(monkeypatch, tmp_path, "nft", RULES % rules)
    with pytest.raises(EnvironmentProblemError) as caught:
        firewall.check_twins("eth0", "rt0")
    assert f"(nft list ruleset), the first `{first}`" in str(caught.value)
    assert str(caught.value).endswith("have the same rules for rt0 first")


@pytest.mark.parametrize(
    "rules",
    [
        'iifname { "eth0", "rt0" } tcp dport 22 drop',
        'iifname "eth0" drop\n\tiifname "rt0" drop',
        'iifname != "lo" tcp dport 22 drop',
        'tcp dport 22 drop comment "as on eth0, \\"eth0\\""',
        'iifname "eth01" drop',
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
    with pytest.raises(EnvironmentProblemError, match=r"^2 rules of the firewall name eth0"):
        firewall.check_twins("eth0", "rt0")
    firewall.check_twins("wlan0", "rt0")


def test_without_a_firewall_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    firewall.check_twins("eth0", "rt0")


def test_a_firewall_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "nft"
    script.write_text("#!/bin/sh\nwhile :; do :; done\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(firewall, "TIMEOUT_S", 0.2)
    with pytest.raises(EnvironmentProblemError, match=r"^nft list ruleset does not answer"):
        firewall.check_twins("eth0", "rt0")
