# SPDX-License-Identifier: BSD-3-Clause
"""TAP: the parser, and the guest's shell functions that print it (run here by this machine's
/bin/sh).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from keepon.errors import TraceError

from keepon_guests.initramfs import GUEST_FILES
from keepon_guests.tap import parse_tap


def test_results_comments_and_foreign_lines() -> None:
    report = parse_tap(
        "noise\nTAP version 13\n1..2\nok 1 - loads\nnot ok 2 - sends\r\n# got: 1\n# wanted:"
        " 2\nokay\n"
    )
    assert [(result.number, result.ok, result.text) for result in report.results] == [
        (1, True, "loads"),
        (2, False, "sends"),
    ]
    assert report.results[1].comments == ("got: 1", "wanted: 2")
    assert report.problems() == ["not ok 2 - sends"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no plan"),
        ("ok 1 - a\n", "no plan"),
        ("1..0\n", "nothing was tested"),
        ("1..2\nok 1 - a\n", "planned 2 tests, ran 1"),
        ("1..1\nok 1\nok 2\n", "planned 1 tests, ran 2"),
        ("1..2\nok 1\nok 1\n", "test number 1 stands in place 2"),
        ("1..1\nok 1\nBail out! no module\n", "bail out: no module"),
    ],
)
def test_streams_that_do_not_count_as_passed(text: str, problem: str) -> None:
    assert any(problem in line for line in parse_tap(text).problems())


def test_a_second_plan_is_refused() -> None:
    with pytest.raises(TraceError, match="second plan"):
        parse_tap("1..1\nok 1\n1..0\n")


def shell(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script"
    script.write_text(f". {GUEST_FILES / 'test.sh'}\n{text}\n")
    return subprocess.run(["/bin/sh", script], capture_output=True, text=True, check=False)


def test_the_shell_functions_report_success(tmp_path: Path) -> None:
    done = shell(
        tmp_path,
        "plan 6\nok 'one - two'\nis a a same\nlike abc '^a.c$' like\nrun works echo hidden\nrefuse"
        ' fails false\nrun waits wait_until 1 test -d /\ndiag "all done"',
    )
    report = parse_tap(done.stdout)
    assert (done.returncode, report.problems(), len(report.results)) == (0, [], 6), (
        done.stdout + done.stderr
    )
    assert report.results[0].text == "one - two"
    assert "hidden" not in done.stdout


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("is a b differs", "wanted: b"),
        ("like abc '^b' like", "pattern: ^b"),
        ("run fails sh -c 'echo why >&2; exit 7'", "why"),
        ("refuse 'must fail' true", "exit code 0 from: true"),
        ("refuse 'is there' /nonexistent/program", "exit code 127 from: /nonexistent/program"),
        ("run waits wait_until 0 false", "exit code 1 from: wait_until 0 false"),
    ],
)
def test_the_shell_functions_report_failure_with_the_reason(
    tmp_path: Path, text: str, comment: str
) -> None:
    done = shell(tmp_path, f"{text}\ndone_testing")
    report = parse_tap(done.stdout)
    assert done.returncode == 1
    assert [result.ok for result in report.results] == [False]
    assert comment in report.results[0].comments


@pytest.mark.parametrize(
    "text", ["plan 2\nok one", "ok one", "plan 1\nok one\nok two", "plan 1\nnot_ok one\nexit 0"]
)
def test_a_script_that_ends_early_or_counts_wrong_fails(tmp_path: Path, text: str) -> None:
    assert shell(tmp_path, text).returncode == 1


def test_the_scripts_own_exit_code_is_kept(tmp_path: Path) -> None:
    assert shell(tmp_path, "plan 1\nok one\nexit 5").returncode == 5
