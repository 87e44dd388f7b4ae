# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link`: words to attributes and back, the same words as iproute2's plugin, and the bytes
of messages.
"""

from __future__ import annotations

import errno
import re
import runpy
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon_host.cli import main
from keepon_host.link import commands, netlink, options, slots

KERNEL = Path(__file__).parents[3] / "kernel"
PLUGIN = (KERNEL / "plugin" / "link_keepon.c").read_text()
UAPI = (KERNEL / "include" / "uapi" / "keepon_link.h").read_text()


# ---- the same words and numbers as the plugin and the kernel's header ----


def test_options_are_the_rows_that_the_compiler_reads() -> None:
    make = runpy.run_path(str(KERNEL.parent / "scripts" / "make_fields.py"))
    assert make["FIELDS"].read_text() == make["made"](), "run `make fields`"


def test_other_numbers_and_words_are_those_of_the_kernel() -> None:
    names = re.findall(r"^\t(IFLA_KEEPON_\w+),", UAPI, re.MULTILINE)
    assert len(names) == 44
    for name in ("PARTITION_SLOTS", "ALLOWED", "CLASSES", "RATE_BPS", "TABLE"):
        assert getattr(options, name) == names.index(f"IFLA_KEEPON_{name}")
    assert f'lates[] = "{"|".join(options.LATES)}"' in PLUGIN
    assert f'roundings[] = "{"|".join(options.ROUNDINGS)}"' in PLUGIN
    assert re.findall(r"CLASS_COUNT (\d+)", UAPI) == [str(slots.CLASS_COUNT)]
    assert re.findall(r"at most (\d+) masks", UAPI) == [str(options.MASKS_MAX)]
    header = (KERNEL / "plugin" / "slots.h").read_text()
    assert f"SLOTS_MAX = {options.PARTITION_SLOTS_MAX}" in header
    assert f"CLASS_KEEP = {options.CLASS_KEEP:#x}" in header


def test_the_documentation_has_every_option_and_its_default() -> None:
    """Of numbers whose default follows from no other field, and of words."""
    page = (KERNEL.parent / "docs" / "kernel.md").read_text()
    cells = {
        name: default
        for names, default in re.findall(
            r"^\| (`[^|]*`)[^|]*\|.*\| ([^|]*) \|$", page, re.MULTILINE
        )
        for name in re.findall("`([^`]+)`", names)
    }
    derived = {
        "slot_bytes",
        "batch",
        "depth",
        "frame_bytes",
        "tolerance_ns",
        "placeholder",
        "padding",
        "rx_poll_cpu",
    }
    for option in options.OPTIONS:
        default = option.words[option.default] if option.words else str(option.default)
        assert option.name in derived or default in cells[option.name], option.name
    assert derived <= cells.keys()


# ---- lists and options, there and back ----

PARTITIONS = st.integers(1, 300)


@given(st.data(), PARTITIONS)
def test_a_list_printed_is_read_back(data: st.DataObject, end: int) -> None:
    numbers = sorted(data.draw(st.sets(st.integers(0, end - 1))))
    text = slots.list_text(numbers, end)
    special = {"all": set(range(end)), "none": set()}
    assert (special[text] if text in special else slots.parse_list(text, end)) == set(numbers)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0, 1, 2, 3, 10], "0-3,10"),
        (range(0, 241, 10), "0-240/10"),
        ([3, 5, *range(21, 31)], "3,5,21-30"),
        ([4, 5], "4-5"),
        ([], "none"),
        (range(250), "all"),
    ],
)
def test_lists_are_written_as_a_reader_would(numbers: list[int], text: str) -> None:
    assert slots.list_text(list(numbers), 250) == text


@pytest.mark.slow
@given(st.data())
def test_a_description_given_back_sets_the_same(data: st.DataObject) -> None:
    attributes: dict[int, bytes] = {}
    for option in options.OPTIONS:
        any_value = st.integers(
            option.least, len(option.words) - 1 if option.words else option.most
        )
        value = data.draw(PARTITIONS if option.name == "partition" else any_value)
        attributes[option.attribute] = struct.pack({1: "=B", 4: "=I", 8: "=Q"}[option.size], value)
    (partition,) = struct.unpack("=I", attributes[options.PARTITION_SLOTS])
    masks = data.draw(st.lists(st.integers(0, 0xFFFF), min_size=partition, max_size=partition))
    attributes[options.ALLOWED] = slots.pack_masks(masks)
    settings = [
        (data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1)))
        for _ in range(slots.CLASS_COUNT)
    ]
    attributes[options.CLASSES] = bytes(setting for pair in settings for setting in pair)
    assert options.parse(options.as_words(options.describe(attributes))) == attributes


def test_limits_are_shown_but_no_words_to_give_back() -> None:
    attributes = {
        limit.attribute: (7 + limit.attribute).to_bytes(limit.size, sys.byteorder)
        for limit in options.LIMITS
    }
    description = options.describe({3: struct.pack("=I", 64)} | attributes)
    assert options.as_words(description) == ["ring", "64"]
    assert (
        options.limits_text(description)
        == "most of one call: frames 41 trims 42 rearms 43 words 44 stall_ns 45 rx_frames 46"
    )
    assert options.limits_text(options.describe({})) == ""


def test_the_example_of_the_documentation() -> None:
    line = "slot_bytes 1230 partition 250 class 7 slots 0-240/10 late strict"
    assert line in options.HELP
    attributes = options.parse(line.split())
    assert attributes.pop(2) == struct.pack("=I", 1230)
    assert attributes.pop(options.PARTITION_SLOTS) == struct.pack("=I", 250)
    assert attributes.pop(options.ALLOWED) == struct.pack("=10H", 1 << 7, *[1] * 9)
    assert attributes.pop(options.CLASSES) == bytes([255] * 14 + [0] + [255] * 17)
    assert attributes == {}


@pytest.mark.parametrize(
    ("line", "masks"),
    [
        ("class 7 slots 1", [1, 1 << 7, 1]),
        ("class 7 slots 1 class 0 slots none", [0, 1 << 7, 0]),
        ("class 7 slots 1 class 0 slots 0", [1, 1 << 7, 0]),
        ("class 7 slots 1 class 3 slots rest", [1 << 3, 1 << 7, 1 << 3]),
        ("class 7 slots all", [1 << 7]),
        ("class 7 slots none", [1]),
    ],
)
def test_slots_nobody_names_are_those_of_class_0(line: str, masks: list[int]) -> None:
    """Or ARP would have none."""
    attributes = options.parse(["partition", "3", *line.split()])
    assert attributes[options.ALLOWED] == struct.pack(f"={len(masks)}H", *masks)


@given(st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=8), st.integers(1, 9))
def test_a_table_is_sent_as_the_part_that_repeats(masks: list[int], times: int) -> None:
    table = slots.pack_masks(masks * times)
    assert len(table) <= 2 * len(masks)
    assert table * (2 * len(masks) * times // len(table)) == struct.pack(
        f"={len(masks) * times}H", *masks * times
    )


def test_a_partition_of_the_largest_table() -> None:
    """Longer than a message: it goes in parts, but is worked out as a whole."""
    odd = ",".join(str(slot) for slot in range(65_536) if slot * slot % 7919 % 2)
    attributes = options.parse(
        ["partition", "65536", "class", "5", "slots", odd, "class", "0", "slots", "rest"]
    )
    assert len(attributes[options.ALLOWED]) == 2 * 65_536


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ring x", 'ring "x" is no number from 8 to 4096'),
        ("ring -1", 'ring "-1" is no number'),
        ("ring 4294967296", "ring 4294967296 is not within 0 to 4294967295"),
        ("poll_fifo 256", "poll_fifo 256 is not within 0 to 255"),
        ("mode fast", 'mode "fast" is not known; choose phase-locked or paper'),
        ("foo 1", 'no option "foo"'),
        ("limit_frames 1", "limit_frames follows from the rest and cannot be set; leave it out"),
        ("ring", "ring without a value"),
        ("late strict", "late without a class"),
        ("class", "class without a class"),
        (
            "class 16 late strict",
            r"class \"16\" goes beyond the last number there is \(classes are 0 to 15\)",
        ),
        ("class 0 slots", "slots without a value"),
        ("class 0 late never", "choose strict or relaxed or reschedule"),
        (
            "class 3 slots 1",
            'class 3: slots "1" goes beyond .* slots 0 to 0, the option partition says how many',
        ),
        ("class 3 slots 1-", "range without an end"),
        ("class 3 slots 0/", "range without a step"),
        ("class 3 slots 0/0", "range without a step"),
        ("partition 9 class 3 slots 5-2", "ends before it begins"),
        ("partition 9 class 3 slots 5;2", "separate its terms by commas"),
        ("partition 9 class 3 slots 1,", "is no list"),
        ("partition 9 class 3 slots " + "9" * 5000, "goes beyond"),
        ("partition 70000 class 3 slots 1", "partition 70000 is not within 1 to 65536"),
        ("partition 0 class 3 slots 1", "partition 0 is not within 1 to 65536"),
    ],
)
def test_wrong_words_get_one_sentence(line: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        options.parse(line.split())


def test_numbers_are_read_as_ip_reads_them() -> None:
    assert [options.parse(["ring", text])[3] for text in ("0x40", "0100", "64")] == [
        struct.pack("=I", 64)
    ] * 3
    assert options.parse(["ring", "0"])[3] == bytes(4)


# ---- class tables in parts ----

TABLE_UAPI = (KERNEL / "include" / "uapi" / "keepon_table.h").read_text()


def test_numbers_of_class_tables_are_those_of_the_kernel() -> None:
    commands_of = re.findall(r"^\tKEEPON_CMD_(\w+),", TABLE_UAPI, re.MULTILINE)
    assert [commands_of.index(name) for name in ("TABLE_GET", "TABLE_PUT")] == [
        commands.TABLE_GET,
        commands.TABLE_PUT,
    ]
    names = re.findall(r"^\tKEEPON_TABLE_(\w+),", TABLE_UAPI, re.MULTILINE)
    assert [names.index(name) for name in ("ID", "SLOTS", "OFFSET", "MASKS")] == [
        commands.TABLE_ID, commands.TABLE_SLOTS, commands.TABLE_OFFSET, commands.TABLE_MASKS,
    ]  # fmt: skip
    assert re.findall(r'KEEPON_TABLE_FAMILY "(\w+)"', TABLE_UAPI) == [commands.TABLE_FAMILY]
    module = (KERNEL / "keepon" / "table.c").read_text()
    assert re.findall(r"PART_SLOTS = (\d+)", module) == [str(commands.PART_SLOTS)]


# ---- messages ----


@pytest.mark.slow
@given(st.dictionaries(st.integers(1, 0x3FFF), st.binary(max_size=40), max_size=8))
def test_attributes_are_read_back(wanted: dict[int, bytes]) -> None:
    data = b"".join(netlink.attribute(kind, payload) for kind, payload in wanted.items())
    assert len(data) % 4 == 0
    assert netlink.parse_attributes(data) == wanted
    assert netlink.parse_attributes(netlink.nested(9, data)) == {9: data}


def test_a_request_is_laid_out_as_the_kernel_reads_it() -> None:
    body = netlink.about_link(3, netlink.text(netlink.IFLA_IFNAME, "rt0"))
    data = netlink.message(netlink.RTM_NEWLINK, netlink.NLM_F_ACK, 7, body)
    assert data == (
        struct.pack("=IHHII", 40, 16, 0x5, 7, 0)  # struct nlmsghdr
        + struct.pack("=BBHiII", 0, 0, 0, 3, 0, 0)  # struct ifinfomsg
        + struct.pack("=HH4s", 8, 3, b"rt0\0")  # struct rtattr
    )
    assert list(netlink.split(data + data)) == [(16, 0x5, 7, data[16:])] * 2


def test_the_mtu_is_an_attribute_of_the_device_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    request = netlink.Route.request

    def recorded(
        route: netlink.Route, kind: int, flags: int, index: int, *attributes: bytes
    ) -> list[netlink.Link]:
        if kind != netlink.RTM_NEWLINK:
            return request(route, kind, flags, index, *attributes)
        asked.extend(attributes)
        return []

    monkeypatch.setattr(netlink.Route, "request", recorded)
    commands.add("lo", "rt0", ["mtu", "1400", "ring", "64"])
    decoded = netlink.parse_attributes(b"".join(asked))
    assert decoded[netlink.IFLA_MTU] == struct.pack("=I", 1400)
    info = netlink.parse_attributes(decoded[netlink.IFLA_LINKINFO])
    assert netlink.parse_attributes(info[netlink.IFLA_INFO_DATA]) == {3: struct.pack("=I", 64)}


def test_an_attribute_that_is_too_long_is_refused() -> None:
    assert len(netlink.attribute(1, bytes(65_531))) == 65_536
    with pytest.raises(ValueError, match="can hold 65531"):
        netlink.attribute(1, bytes(65_532))


@pytest.mark.parametrize("data", [b"\x03\0\1\0", b"\x09\0\1\0\0\0\0\0"])
def test_attributes_cut_short_are_refused(data: bytes) -> None:
    with pytest.raises(EnvironmentProblemError, match="does not fit its message"):
        netlink.parse_attributes(data)


@pytest.mark.parametrize("echoed", [b"", bytes(13)])
def test_the_kernels_sentence_is_found(echoed: bytes) -> None:
    """With and without the request in the acknowledgement (NLM_F_CAPPED)."""
    header = struct.pack("=IHHII", 16 + len(echoed), 16, 5, 1, 0)
    body = struct.pack("=i", -errno.EINVAL) + header + echoed + bytes(-len(echoed) % 4)
    flags = netlink.NLM_F_ACK_TLVS | (0 if echoed else netlink.NLM_F_CAPPED)
    answer = netlink.acknowledgement(flags, body + netlink.text(1, "ring_slots 7"))
    assert answer == (errno.EINVAL, "ring_slots 7")
    assert netlink.acknowledgement(0, body) == (errno.EINVAL, "")
    assert netlink.acknowledgement(0, bytes(20)) == (0, "")


def test_a_warning_beside_success_is_found() -> None:
    """The request is never repeated then."""
    flags = netlink.NLM_F_ACK_TLVS | netlink.NLM_F_CAPPED
    body = bytes(20) + netlink.text(1, "mtu 1192")
    assert netlink.acknowledgement(flags, body) == (0, "mtu 1192")


def test_a_link_is_read_from_its_description() -> None:
    body = netlink.about_link(
        5,
        netlink.text(netlink.IFLA_IFNAME, "rt0"),
        netlink.nested(
            netlink.IFLA_LINKINFO, netlink.text(netlink.IFLA_INFO_KIND, "keepon"),
            netlink.nested(netlink.IFLA_INFO_DATA, netlink.attribute(3, struct.pack("=I", 64))),
        ),
    )  # fmt: skip
    link = netlink.Link(body)
    assert (link.index, link.name, link.kind, options.describe(link.data)) == (
        5,
        "rt0",
        "keepon",
        {"ring": 64},
    )


# ---- this machine's kernel, as far as it goes without keepon.ko and without a change ----


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("show lo", "lo is no keepon link"),
        ("del lo", "lo is no keepon link"),
        ("set no-such-device ring 8", 'there is no device "no-such-device"'),
        ("add no-such-device rt0", 'there is no device "no-such-device"'),
        (
            "add lo a-name-that-is-too-long",
            '"a-name-that-is-too-long" is none: write 1 to 15 bytes',
        ),
        ("set lo", "nothing to set"),
        ("add lo rt0 ring x", 'ring "x" is no number'),
    ],
)
def test_wrong_input_ends_with_2_and_a_sentence(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["link", *line.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_links_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", "show", "--json"]) == 0
    assert capsys.readouterr().out.startswith("[")


@pytest.mark.parametrize(
    ("number", "sentence", "code", "said"),
    [
        (errno.EPERM, "", 3, "not permitted; run as root"),
        (errno.EOPNOTSUPP, "Unknown device type", 3, "modprobe keepon"),
        (errno.EOPNOTSUPP, "the lower device of a link cannot be changed", 2, "cannot be changed"),
        (
            errno.EINVAL,
            "ring_slots 7 (allowed: 8 to 4096): resize.",
            2,
            r"x: ring_slots 7 \(allowed: 8 to 4096\): resize$",
        ),
        (errno.EEXIST, "", 2, "File exists"),
        (errno.ENOMEM, "", 3, "Cannot allocate memory"),
    ],
)
def test_refusals_of_the_kernel(number: int, sentence: str, code: int, said: str) -> None:
    error = commands.explained(netlink.RefusedError(number, sentence), "x")
    assert error.exit_code == code
    assert re.search(said, str(error))
