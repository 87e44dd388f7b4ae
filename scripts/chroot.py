# SPDX-License-Identifier: BSD-3-Clause
"""Minimal Debian systems in a folder, for what has to be tried elsewhere than on this machine.

Mirror, proxy, certificates and pip configuration are this machine's own. All mounts live in a mount
namespace of their own, so they are gone when the process is, however it ends. A bootstrapped system
is kept as out/fresh/SUITE.tar for the next time. Needs root.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common import EXIT_ENVIRONMENT, OUT, ROOT, StageError, must, run, run_quiet, say

PACKAGES = ["git", "python3", "gcc", "make", "ca-certificates"]
SUITES = ("bookworm", "trixie")
FRESH = OUT / "fresh"
INSIDE = "/srv/try"
NAMESPACE_MARK = "KEEPON_FRESH_NAMESPACE"
KEYRINGS = [Path("/usr/share/keyrings"), Path("/etc/apt/keyrings"), Path("/etc/apt/trusted.gpg.d")]
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
APT_SETTING = re.compile(
    r"^Acquire::(https?|ftp|Check-|Retries|ForceIPv|AllowInsecure|Max-)", re.IGNORECASE
)
PASSED_ENVIRONMENT = re.compile(
    r"^(PIP_|https?_proxy|no_proxy|all_proxy|SSL_CERT_|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Source:
    """One archive of apt's configuration: a uri and the suites and components taken from it."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


# --- apt's own configuration
# --------------------------------------------------------------------------------------


def parse_one_line(text: str) -> list[Source]:
    """`deb [option=value ...] uri suite component...` lines."""
    sources = []
    for line in text.splitlines():
        match = re.match(r"^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match:
            pairs = [part.split("=", 1) for part in (match[1] or "").split() if "=" in part]
            options = tuple((key.lower(), value) for key, value in pairs)
            sources.append(Source(match[2], (match[3],), tuple(match[4].split()), options))
    return sources


def parse_deb822(text: str) -> list[Source]:
    """Paragraphs of `Field: value` lines with continuation lines."""
    sources = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = {
            key.lower(): " ".join(value.split())
            for key, value in re.findall(
                r"^([A-Za-z0-9-]+):((?:.*)(?:\n[ \t]+.*)*)", paragraph, re.MULTILINE
            )
        }
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in (
            "no",
            "false",
            "0",
        ):
            continue
        signed = fields.get("signed-by", "")
        options = (("signed-by", signed),) if signed.startswith("/") else ()
        for uri in fields["uris"].split():
            suites, components = fields["suites"].split(), fields.get("components", "").split()
            sources.append(Source(uri, tuple(suites), tuple(components), options))
    return sources


def apt_sources() -> list[Source]:
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    sources = []
    for path in files:
        if path.is_file() and path.suffix == ".list":
            sources += parse_one_line(path.read_text())
        elif path.is_file() and path.suffix == ".sources":
            sources += parse_deb822(path.read_text())
    return sources


def host_codename() -> str:
    fields = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text().splitlines()
        if "=" in line
    )
    return fields.get("VERSION_CODENAME", "").strip('"')


def debian_sources(suite: str) -> list[Source]:
    """The Debian archives of this machine, with its code name replaced by `suite`."""
    host = host_codename()
    found = []
    for source in apt_sources():
        suites = tuple(
            name.replace(host, suite, 1)
            for name in source.suites
            if re.fullmatch(f"{host}(-updates|-security)?", name)
        )
        if suites and "main" in source.components:
            found.append(Source(source.uri, suites, ("main",), source.options))
    return found


def mirror(sources: list[Source], suite: str) -> str:
    """The archive that holds the suite itself."""
    for source in sources:
        if suite in source.suites:
            return source.uri
    raise StageError(
        f"apt has no Debian archive for this machine's own release, so the mirror for {suite} is"
        " unknown"
    )


def apt_settings() -> list[str]:
    """Proxy, certificate and validity settings of this machine's apt."""
    return [
        line
        for line in run_quiet(["apt-config", "dump"]).stdout.splitlines()
        if APT_SETTING.match(line)
    ]


def network_environment() -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if PASSED_ENVIRONMENT.match(key)}
    for line in apt_settings():
        match = re.match(r'^Acquire::(https?)::Proxy "(.+)";', line, re.IGNORECASE)
        if match:
            env.setdefault(f"{match[1].lower()}_proxy", match[2])
    return env


# --- the chroot
# --------------------------------------------------------------------------------------------------


def bootstrap(suite: str, uri: str) -> Path:
    """Tar file of the minimal system; made once for each suite, package list and mirror."""
    key = hashlib.sha256(" ".join([suite, uri, *PACKAGES]).encode()).hexdigest()[:12]
    archive = FRESH / f"{suite}-{key}.tar"
    if archive.is_file():
        say(f"using {archive.relative_to(ROOT)}")
        return archive
    say(f"debootstrap {suite} (minbase and {', '.join(PACKAGES)})")
    root = FRESH / f"{suite}.bootstrap"
    shutil.rmtree(root, ignore_errors=True)
    FRESH.mkdir(parents=True, exist_ok=True)
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        suite,
        root,
        uri,
    ]
    must(command, env=dict(os.environ) | network_environment())
    pack(root, archive)
    shutil.rmtree(root)
    return archive


def pack(root: Path, archive: Path) -> None:
    """Keep a system; what is mounted in it stays out."""
    draft = archive.with_suffix(".draft")
    leave_out = ["--one-file-system", "--exclude=./var/cache/apt/archives/*.deb"]
    must(["tar", "--numeric-owner", *leave_out, "-C", root, "-cf", draft, "."])
    draft.replace(archive)


def copy_into(root: Path, path: Path) -> None:
    """Copy a file or folder of this machine to the same place in the chroot, links resolved."""
    if not path.exists():
        return
    target = root / path.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        target.unlink(missing_ok=True)
        shutil.copy(path, target)


def configure(root: Path, sources: list[Source]) -> None:
    """Give the chroot this machine's way to the network: names, certificates, apt and pip
    configuration.
    """
    for path in [
        *KEYRINGS,
        Path("/etc/resolv.conf"),
        Path("/etc/hosts"),
        Path("/etc/pip.conf"),
        Path("/etc/xdg/pip"),
    ]:
        copy_into(root, path)
    for path in [LOCAL_CERTIFICATES, CERTIFICATES]:
        copy_into(root, path)
    for value in os.environ.get("PIP_FIND_LINKS", "").split():
        if value.startswith("/"):
            copy_into(root, Path(value))
    lines = []
    for source in sources:
        options = " ".join(f"{key}={value}" for key, value in source.options)
        bracket = f"[{options}] " if options else ""
        lines += [
            f"deb {bracket}{source.uri} {suite} {' '.join(source.components)}"
            for suite in source.suites
        ]
    (root / "etc/apt/sources.list").write_text("\n".join(lines) + "\n")
    (root / "etc/apt/apt.conf.d/90host").write_text("\n".join(apt_settings()) + "\n")


def mount_system(root: Path) -> None:
    """proc, sys and dev inside the chroot, whose root becomes a mount as `ip netns` asks for; this
    mount namespace is private, nothing has to be unmounted.
    """
    must(["mount", "--bind", root, root])
    must(["mount", "-t", "proc", "proc", root / "proc"])
    must(["mount", "--rbind", "--make-rslave", "/sys", root / "sys"])
    must(["mount", "--rbind", "--make-rslave", "/dev", root / "dev"])


def unpack(suite: str, root: Path, more: Sequence[str] = ()) -> None:
    """A fresh minimal system in the folder, which is emptied; with this machine's way to the
    network, and with more packages, which are installed once for each list.
    """
    sources = debian_sources(suite)
    archive = bootstrap(suite, mirror(sources, suite))
    key = hashlib.sha256(" ".join([archive.name, *more]).encode()).hexdigest()[:12]
    furnished = FRESH / f"{suite}-{key}.tar"
    if furnished.is_file():
        archive = furnished
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    must(["tar", "--numeric-owner", "-C", root, "-xf", archive])
    configure(root, sources)
    mount_system(root)
    if more and archive != furnished:
        say(f"installing in it, this time only: {' '.join(more)}")
        for words in (["update"], ["install", "-y", "--no-install-recommends", *more]):
            must(command_inside(root, "/", ["apt-get", "-q", *words]), env=environment_inside())
        pack(root, furnished)


def remove(root: Path) -> None:
    """Take the mounts away, then the folder."""
    must(["umount", "-R", root])
    shutil.rmtree(root)


def command_inside(root: Path, folder: str, command: Sequence[str]) -> list[str | Path]:
    """What runs a command in a folder of the chroot; its environment is environment_inside()."""
    return ["chroot", root, "/bin/sh", "-c", f'cd {folder} && exec "$@"', "sh", *command]


def environment_inside() -> dict[str, str]:
    return network_environment() | {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/srv",
        "LANG": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
    }


def inside(root: Path, folder: str, *command: str) -> tuple[int, float]:
    """Run a command in a folder of the chroot, its output shown; (exit code, seconds)."""
    start = time.monotonic()
    code = run(command_inside(root, folder, command), env=environment_inside())
    return code, time.monotonic() - start


def enter_namespace(script: str) -> int:
    """Run this script again in mount and process namespaces that end with it."""
    if shutil.which("debootstrap") is None:
        must(["apt-get", "-q", "update"])
        must(["apt-get", "install", "-y", "--no-install-recommends", "debootstrap"])
    env = dict(os.environ) | {NAMESPACE_MARK: "1"}
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return run([*unshare, sys.executable, script, *sys.argv[1:]], env=env)


# --- a script in one
# ----------------------------------------------------------------------------------------------


def try_script(suite: str, folder: Path, script: str) -> int:
    """Run a shell script of the folder in a fresh system, where a copy of the folder is INSIDE; its
    `out` is brought back. The exit code.
    """
    root = FRESH / f"{suite}.{folder.name}"
    unpack(suite, root)
    inner = root / INSIDE.lstrip("/")
    shutil.copytree(folder, inner)
    code, _ = inside(root, INSIDE, "/bin/sh", script)
    if (inner / "out").is_dir():
        shutil.copytree(inner / "out", folder / "out", symlinks=True, dirs_exist_ok=True)
    remove(root)
    return code


def main() -> int:
    """`chroot.py SUITE FOLDER SCRIPT`: see try_script()."""
    suite, folder, script = sys.argv[1:]
    try:
        if NAMESPACE_MARK not in os.environ:
            return enter_namespace(__file__)
        return try_script(suite, Path(folder).resolve(), script)
    except (StageError, OSError) as error:
        print(f"keepon: chroot: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
