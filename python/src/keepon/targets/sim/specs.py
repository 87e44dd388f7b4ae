# SPDX-License-Identifier: BSD-3-Clause
"""A station as input of the simulator, from scenario and plan, and the origin of its numbers."""

from __future__ import annotations

from keepon._sim import (
    CpuSpec,
    GuestSpec,
    HostSpec,
    KeeponSpec,
    LatencySpec,
    NicSpec,
    PortSpec,
    StationSpec,
)
from keepon.model import foreign, guests
from keepon.model.driverfields import driver_fields
from keepon.model.hosts import (
    ETF_DELTA_NS,
    Sourced,
    Stage,
    chosen,
    etf_delta,
    etf_delta_ns,
    host_of,
)
from keepon.model.plan import Plan, PlannedStation
from keepon.model.scenario import NicOptions, Scenario, Station
from keepon.model.wire import FRAME_BYTES_MAX, JUMBO_BYTES_MAX
from keepon.targets.sim import qdiscs, timesync

CLASS_COUNT = 16


def _classes(planned: PlannedStation, paper: bool) -> dict[int, tuple[str, str]]:
    """Late policy and rounding per class; the paper rounds down whatever the class, also those
    nobody uses.
    """
    classes: dict[int, tuple[str, str]] = {
        int(tc): (entry["late"], entry["round"]) for tc, entry in planned["classes"].items()
    }
    if paper:
        return {tc: (classes.get(tc, ("strict", ""))[0], "floor") for tc in range(CLASS_COUNT)}
    return classes


def nic_spec(station: Station, driver: str) -> tuple[NicSpec, list[Sourced]]:
    """A station's NIC as input of the simulator, and the values that matter to its driver; all of
    them chosen.
    """
    own = station.nic
    ring = ["prefetch_slots", "fetch_ns", "restart_ns", "index_read_ns"]
    matters = {
        "keepon": ring + (["rx_lag_ns"] if station.keepon.clock == "dual" else []),
        "standard": ["fetch_ns", "coalesce_ns", "coalesce_frames"],
        "launchtime": ["fetch_ns"],
    }[driver]
    # A ring that is kept full fetches from the start on, the others when a frame has passed the
    # driver.
    stage = "" if driver == "keepon" else "driver"
    used = [
        chosen(
            f"nic: {key}",
            getattr(own, key),
            "no published value"
            if getattr(own, key) == NicOptions.model_fields[key].default
            else "scenario",
            stage,
        )
        for key in matters
    ]
    spec = NicSpec(
        prefetch_slots=own.prefetch_slots,
        fetch_ns=own.fetch_ns,
        # of driver keepon alone, and no shorter than a fetch
        restart_ns=max(own.restart_ns, own.fetch_ns if driver != "keepon" else 0),
        index_read_ns=own.index_read_ns,
        coalesce_ns=own.coalesce_ns,
        coalesce_frames=own.coalesce_frames,
        rx_lag_ns_min=own.rx_lag_ns,
        rx_lag_ns_max=own.rx_lag_ns,
        fragments_max=own.fragments_max,
        frame_bytes_max=FRAME_BYTES_MAX if driver == "keepon" else JUMBO_BYTES_MAX,
    )
    return spec, used


def cpu_spec(scenario: Scenario, station: Station) -> tuple[CpuSpec, list[Sourced]]:
    """The cores of a host whose software contends for them, all chosen; nothing if it does not."""
    own = station if station.guest is None else scenario.station_named(station.guest.host)
    host, cores = own.host, guests.cores(scenario, station)
    if isinstance(host, str) or not cores:
        return CpuSpec(), []
    spec = CpuSpec(cores=cores, irq_ns=host.irq_ns, softirq_ns=host.softirq_ns)
    used = [
        chosen(f"host: {key}", value, "scenario: host table")
        for key, value in (
            ("cores", cores),
            ("irq_ns", host.irq_ns),
            ("softirq_ns", host.softirq_ns),
        )
    ]
    return spec, used


def keepon_spec(station: Station, planned: PlannedStation) -> KeeponSpec:
    """A port with driver "keepon"."""
    fields = driver_fields(station, planned)
    fields.pop("backend", None)  # the simulator's ring is its own
    if not fields["frame_bytes_max"]:
        del fields["frame_bytes_max"]  # stated, it costs a larger budget
    return KeeponSpec(
        partition=planned["allowed"],
        classes=_classes(planned, station.keepon.mode == "paper"),
        **fields,
    )


def station_spec(
    scenario: Scenario,
    station: Station,
    run: str,
    plan: Plan,
    ports: list[str],
) -> tuple[StationSpec, list[Sourced]]:
    """A station as input of the simulator, and the sources of its host's numbers.

    Args:
        scenario, station, run, plan: whose, and in which run.
        ports: names of the station's ports, one at least.
    """
    driver = scenario.driver_of(station, run)
    is_foreign = driver == foreign.DRIVER
    if is_foreign:
        driver, station = "standard", station.model_copy(update={"host": "ideal"})
    stages, sources = host_of(station.host, driver, scenario.host_tail_scale)
    # Neither other driver orders frames by txtime: ETF is the conventional driver's timing control
    # and sorts for the launch-time NIC, whose queue is a FIFO (KeepON paper section 6.1; the RFC's
    # "current limitations").
    release = "etf" if driver != "keepon" and station.release == "txtime" else station.release
    if is_foreign:
        release, jitter_ns = "sleep", station.jitter_ns
        stages["wakeup"] = Stage(0, 0, 0.0, 1.0 if jitter_ns else 0.0, jitter_ns // 2, jitter_ns)
        sources = [chosen("jitter_ns (foreign)", jitter_ns, "scenario", "wakeup")]
    delta_ns = ETF_DELTA_NS if station.etf_delta_ns == "auto" else int(station.etf_delta_ns)
    own_qdiscs = qdiscs.spec_of(scenario, station, driver)
    if own_qdiscs is not None:
        release = "sleep" if station.release == "sleep" else "txtime"
        if own_delta_ns := etf_delta_ns(station):
            entry = chosen(f"qdisc: delta ({driver})", own_delta_ns, "scenario", "timer")
            sources = [*sources, entry]
    if release == "etf":
        if station.etf_delta_ns == "auto":
            delta = etf_delta(driver)
        else:
            delta = chosen(f"etf_delta_ns ({driver})", delta_ns, "scenario", "timer")
        sources = [*sources, delta]
    nic, nic_sources = nic_spec(station, driver)
    cpu, cpu_sources = cpu_spec(scenario, station)
    way, way_sources = guests.stages(station)
    stages, sources = stages | way, [*sources, *way_sources]
    host = HostSpec(**{name: LatencySpec(**vars(stage)) for name, stage in stages.items()})
    spec = StationSpec(
        driver=driver,
        release=release,
        host=host,
        cpu=cpu,
        occupancy_ns=stages["driver"].base_ns + stages["driver"].median_ns,
        etf_delta_ns=delta_ns,
        nic_ppm=station.clock_ppm,
        cpu_ppm=station.cpu_ppm,
        cpu_tick_ns=station.cpu_tick_ns,
        wander_ppb_per_s=station.wander_ppb_per_s,
        sync=scenario.sync.mode,
        stamp_resolution_ns=station.stamp_resolution_ns,
        nic=nic,
        qdisc=own_qdiscs,
    )
    if station.guest is not None:
        spec.guest = GuestSpec(
            host=[each.name for each in scenario.station].index(station.guest.host),
            clock_error_ns=guests.clock_error_ns(station.guest),
            clock_interval_ns=guests.CLOCK_INTERVAL_NS,
        )
    ptp_sources = timesync.set_by_ptp(spec, scenario, station)
    if driver == "keepon":
        slots = [keepon_spec(station, plan["stations"][port]) for port in ports]
        spec.keepon = slots[0]
        if len(slots) > 1:
            spec.ports = [PortSpec(keepon=own) for own in slots]
    return spec, [*sources, *nic_sources, *cpu_sources, *ptp_sources]
