# SPDX-License-Identifier: BSD-3-Clause
"""cpio archives in "newc" format (kernel:
Documentation/driver-api/early-userspace/buffer-format.rst).

Written without times, owners and inode numbers of the host, so that equal contents give equal
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from keepon_host.errors import TraceError

MAGIC = b"070701"
HEADER_BYTES = 110
TRAILER = "TRAILER!!!"
FOLDER, FILE, LINK = 0o040000, 0o100000, 0o120000
KIND_MASK = 0o170000
BLOCK_BYTES = 512


@dataclass(frozen=True)
class Entry:
    """One member: `path` relative without leading slash, `mode` with its kind bits, `data` =
    content or link target.
    """

    path: str
    mode: int
    data: bytes = b""

    @property
    def kind(self) -> int:
        return self.mode & KIND_MASK


def clean_path(path: str) -> str:
    """`path` relative to the archive's root; ValueError if it leads out of it or is the root
    itself.
    """
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", ".")]
    if not parts or ".." in parts or "\0" in path:
        raise ValueError(f"path {path!r} of an archive member must name something below the root")
    return "/".join(parts)


def file_entry(path: str, data: bytes, permissions: int = 0o755) -> Entry:
    return Entry(clean_path(path), FILE | permissions, data)


def link_entry(path: str, target: str) -> Entry:
    return Entry(clean_path(path), LINK | 0o777, target.encode())


def folder_entry(path: str) -> Entry:
    return Entry(clean_path(path), FOLDER | 0o755)


def with_folders(entries: Iterable[Entry]) -> list[Entry]:
    """Entries sorted by path, the last of equal paths kept, with every parent folder in front of
    its members.
    """
    members: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(PurePosixPath(entry.path).parents):
            if str(parent) != ".":
                members.setdefault(str(parent), folder_entry(str(parent)))
        members[entry.path] = entry
    return [members[path] for path in sorted(members)]


def _padding(length: int, multiple: int) -> bytes:
    return b"\0" * (-length % multiple)


def _member(inode: int, path: str, mode: int, data: bytes) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if mode & KIND_MASK == FOLDER else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = MAGIC + b"".join(b"%08x" % field for field in fields) + name
    return head + _padding(len(head), 4) + data + _padding(len(data), 4)


def write(entries: Iterable[Entry]) -> bytes:
    """The archive of `entries` with their folders, padded to 512 bytes: archives may be joined end
    to end.
    """
    members = [
        _member(inode, entry.path, entry.mode, entry.data)
        for inode, entry in enumerate(with_folders(entries), start=1)
    ]
    archive = b"".join([*members, _member(0, TRAILER, 0, b"")])
    return archive + _padding(len(archive), BLOCK_BYTES)


def read(archive: bytes) -> Iterator[Entry]:
    """Members of one archive in order; TraceError when it is damaged or ends before its trailer."""
    offset = 0
    while True:
        head = archive[offset : offset + HEADER_BYTES]
        if len(head) < HEADER_BYTES or head[:6] != MAGIC:
            raise TraceError(
                f"cpio archive of {len(archive)} bytes is damaged or cut off at byte {offset}"
            )
        try:
            mode, size, name_size = (int(head[start : start + 8], 16) for start in (14, 54, 94))
        except ValueError as error:
            raise TraceError(f"cpio archive: header at byte {offset} is not hexadecimal") from error
        data_offset = offset + HEADER_BYTES + name_size
        data_offset += -data_offset % 4
        name = (
            archive[offset + HEADER_BYTES : offset + HEADER_BYTES + name_size]
            .rstrip(b"\0")
            .decode(errors="replace")
        )
        if name == TRAILER:
            return
        data = archive[data_offset : data_offset + size]
        if len(data) < size:
            raise TraceError(f"cpio archive: {name} is cut off, {len(data)} of {size} bytes")
        yield Entry(name.removeprefix("./"), mode, data)
        offset = data_offset + size
        offset += -offset % 4
