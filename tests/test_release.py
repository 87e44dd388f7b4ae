# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/release says of the packages it has collected: SBOM and checksums. That they are
built is part of test_packages.py.
"""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


Names = dict[str, Any]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Names:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return runpy.run_path(str(ROOT / "scripts/release"))


def package(folder: Path, metadata: dict[str, str]) -> None:
    """A package keepon into which pip has installed what has this metadata."""
    tree = folder / "tree"
    for name, text in metadata.items():
        path = tree / f"usr/lib/keepon/lib/python3.11/site-packages/{name}.dist-info/METADATA"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tree / "DEBIAN").mkdir()
    words = "Package: keepon\nVersion: 1\nArchitecture: amd64\nMaintainer: a@b\nDescription: x\n"
    (tree / "DEBIAN/control").write_text(words)
    out = folder / "release"
    out.mkdir()
    command = ["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, out / "keepon_1_amd64.deb"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("fields", "licences"),
    [
        ("License-Expression: MIT\nLicense: of old\n", [{"expression": "MIT"}]),
        (
            "Classifier: Topic :: Any\nClassifier: License :: OSI Approved :: BSD License\n",
            [{"license": {"name": "BSD License"}}],
        ),
        ("License: Apache 2.0\n  and its text\n", [{"license": {"name": "Apache 2.0"}}]),
        ("Summary: says nothing\n", None),
    ],
)
def test_the_sbom_has_what_pip_has_installed(
    release: Names, tmp_path: Path, fields: str, licences: list[dict[str, object]] | None
) -> None:
    some = f"Metadata-Version: 2.4\nName: Some_Thing\nVersion: 1.2\n{fields}\n"
    package(tmp_path, {"some_thing": some, "keepon": "Name: keepon\nVersion: 1\n\n"})
    release["sbom"](tmp_path / "release", "1")
    found = json.loads((tmp_path / "release/keepon_1.cdx.json").read_text())
    parts = {part["purl"].partition("@")[0]: part for part in found["components"]}
    assert set(parts) == {"pkg:pypi/some-thing", "pkg:pypi/nanobind"}
    assert parts["pkg:pypi/some-thing"]["version"] == "1.2"
    assert parts["pkg:pypi/some-thing"].get("licenses") == licences


def test_a_package_without_python_packages_is_refused(release: Names, tmp_path: Path) -> None:
    package(tmp_path, {"keepon": "Name: keepon\nVersion: 1\n\n"})
    with pytest.raises(Exception, match="has no package keepon with Python packages in it"):
        release["sbom"](tmp_path / "release", "1")


def test_sha256sum_reads_the_checksums(release: Names, tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("x")
    release["checksums"](tmp_path)
    check = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "a b").write_text("y")
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 1
