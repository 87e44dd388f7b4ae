# SPDX-License-Identifier: GPL-2.0-only
"""Both modules for long: loading, attaching, random configurations, wrong requests. No warning, no
leak, every frame accounted for.

The same four scripts at two sizes: a fiftieth as ordinary tests, the whole as `make soak`. Times
on two cores are in the docstrings of the long ones. Four senders on two CPUs, steps and flaps: some
seconds, and a minute on each kernel.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import PLUGIN, compiled, plugin
from keepon.targets.vm import observations
from keepon.targets.vm import programs as target
from keepon_guests import (
    GuestResult,
    Kernel,
    build_modules,
    get_kernel,
    later_families,
    offered_families,
    run_guest,
)
from repeats import checked
from test_kernel_flavours import WIRE

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
FAMILY = "6.1"
CONFIGS_PER_BOOT = 20_000
REQUESTS_PER_BOOT = 20_000
LONG_S = 3600
ALL_MODULES = (
    "native", "keepon", "hwsim", "generic", "hwcheck", "guard",
    "nics/intel", "nics/genet", "nics/gem",
)  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Guest path -> the iproute2 plugin and the storm of configurations, built for the host's
    libraries.
    """
    folder = tmp_path_factory.mktemp("soak")
    storm, fuzz = (
        sorted(path.name for path in HERE.glob(f"{name}*.c"))
        for name in ("config_storm", "netlink_fuzz")
    )
    return {
        PLUGIN: plugin(folder),
        "/usr/bin/config_storm": compiled(folder, "config_storm", *storm),
        "/usr/bin/netlink_fuzz": compiled(folder, "netlink_fuzz", "config_storm_netlink.c", *fuzz),
    }


def modules_for(kernel: Kernel) -> list[Path]:
    return build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])


def boot(
    script: str,
    programs: dict[str, Path],
    rounds: int,
    seed: int = 1,
    timeout_s: float = 1200,
    family: str = FAMILY,
) -> GuestResult:
    kernel = get_kernel(family)
    modules = modules_for(kernel)
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/soak.sh": HERE / "soak_common.sh",
        **programs,
    }

    def run() -> GuestResult:
        return run_guest(
            kernel,
            HERE / script,
            files,
            modules=modules,
            environment={"ROUNDS": str(rounds), "SEED": str(seed)},
            timeout_s=timeout_s,
            virtual_limit_s=100_000,
        )

    result = run().check() if timeout_s == LONG_S else checked(run)
    print(
        f"{script} {rounds}: {result.wall_seconds:.0f} s, {result.virtual_seconds} s in the"
        f" guest\n{result.stdout}"
    )
    assert result.tap.problems() == []
    return result


def by_turns(seed: int) -> str:
    """Half of the boots on each kernel."""
    families = offered_families()
    return families[seed % len(families)]


@pytest.mark.each_kernel
@pytest.mark.parametrize("family", offered_families())
def test_the_modules_build_without_a_warning(family: str) -> None:
    names = [path.name for path in modules_for(get_kernel(family))]
    assert names == ["keepon_native.ko", "keepon_hwsim.ko", "keepon.ko"]


@pytest.mark.full
def test_every_module_builds_on_every_kernel_of_debian() -> None:
    """In the flavour that has what drivers of cards need."""
    later = later_families("amd64")
    assert later
    for family in (*offered_families("amd64"), *later):
        modules = build_modules(
            get_kernel(family, "amd64"), [KERNEL / name for name in ALL_MODULES]
        )
        assert len(modules) == len(ALL_MODULES), family


@pytest.mark.parametrize(
    ("script", "rounds"),
    [
        pytest.param("soak_reload.sh", 20, marks=pytest.mark.full),
        ("soak_attach.sh", 20),
        pytest.param("soak_configs.sh", 2000, marks=pytest.mark.full),
        pytest.param("soak_netlink.sh", 2000, marks=pytest.mark.full),
    ],
)
def test_a_fiftieth(script: str, rounds: int, programs: dict[str, Path]) -> None:
    boot(script, programs, rounds)


@pytest.mark.soak
@pytest.mark.parametrize("script", ["soak_reload.sh", "soak_attach.sh"])
def test_a_thousand_rounds(script: str, programs: dict[str, Path]) -> None:
    boot(script, programs, 1000, timeout_s=LONG_S)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_hundred_thousand_configurations_in_five_boots(
    seed: int, programs: dict[str, Path]
) -> None:
    family = by_turns(seed)
    boot("soak_configs.sh", programs, CONFIGS_PER_BOOT, seed, timeout_s=LONG_S, family=family)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_hundred_thousand_requests_nobody_should_make(
    seed: int, programs: dict[str, Path]
) -> None:
    family = by_turns(seed)
    boot("soak_netlink.sh", programs, REQUESTS_PER_BOOT, seed, timeout_s=LONG_S, family=family)


def four_senders(flavour: str, span_s: int, timeout_s: float) -> None:
    """Two CPUs in the host's time: nothing repeats but the laws."""
    kernel = get_kernel(offered_families(flavour)[0], flavour)
    files = {**target.guest_files(), "/lib/keepon/common.sh": HERE / "keepon_common.sh"}
    result = run_guest(
        kernel, HERE / "soak_senders.sh", files, modules=modules_for(kernel), tools=target.tools(),
        mode="smp",
        environment={"SPAN_S": str(span_s)}, memory_mb=1024, timeout_s=timeout_s,
        virtual_limit_s=100_000,
    )  # fmt: skip
    print(f"{kernel.version}: {result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.check().tap.problems() == []
    if flavour == "kcsan":
        watched = observations.read_counters(result.files["kcsan"].decode())
        assert watched["enabled"] == 1
        assert watched["setup_watchpoints"] > 1000 * span_s
    upper, nic = (
        observations.read_counters(result.files[name].decode()) for name in ("upper", "nic")
    )
    talks = [
        observations.load_json(result.files, f"talk{number}.json")["counters"]
        for number in range(4)
    ]
    verdicts = {
        name.removeprefix("verdict_"): value
        for name, value in upper.items()
        if name.startswith("verdict_")
    }
    assert upper["submitted"] == sum(verdicts.values())
    # frames that a sender did not get to the device were not reported to it either
    refused = sum(talk["missed"] + talk["invalid"] for talk in talks)
    assert refused <= upper["submitted"] <= sum(talk["submitted"] for talk in talks)
    sent = sum(verdicts[name] for name in ("on_time", "moved", "best_effort", "sent_stale"))
    wire = sum(nic[name] for name in WIRE)
    assert 0 < sent <= wire <= sent + verdicts["flushed"] + verdicts["in_doubt"]


def test_four_senders_on_two_cpus_lose_no_frame_from_the_books() -> None:
    four_senders("cloud", 2, timeout_s=1200)


@pytest.mark.soak
@pytest.mark.parametrize("flavour", ["cloud", "rt", "debug", "kcsan"])
def test_four_senders_for_a_minute(flavour: str) -> None:
    four_senders(flavour, 60, timeout_s=LONG_S)
