# SPDX-License-Identifier: BSD-3-Clause
"""Frame replication and elimination (FRER, IEEE Std 802.1CB-2017): copies in the simulator, two
ways in plans, and what the checker says of others. Recovery alone is in sim/tests/test_frer.cpp.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from helpers import ROBOT_CELL
from keepon._sim import BridgeSpec, RecoverySpec, Simulation, StationSpec
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.checker.steady import Steady
from keepon.planner.verify import problems
from keepon.targets.sim.runner import simulate_build

EXAMPLE = ROBOT_CELL.parent / "tsn" / "redundancy.toml"
GBPS = 1_000_000_000


class Network:
    """A talker "t", a listener "l", and bridges between them; links as "a-b"."""

    def __init__(
        self, links: list[str], far: dict[str, int] | None = None, loss: float = 0
    ) -> None:
        self.sim = Simulation(1, 0)
        self.nodes: dict[str, int] = {}
        standard = StationSpec(driver="standard", host={}, cpu={})
        for link in links:
            for name in link.split("-"):
                if name not in self.nodes:
                    self.nodes[name] = (
                        self.sim.add_station(name, standard)
                        if name in "tl"
                        else self.sim.add_bridge(name, BridgeSpec())
                    )
            a, b = (self.nodes[name] for name in link.split("-"))
            self.sim.add_link(a, b, GBPS, (far or {}).get(link, 0))
            self.sim.set_loss(a, b, loss)

    def stream(self, *ways: str, period_ns: int = 100_000, tagged_by: str = "") -> int:
        """A stream of 64 bytes that goes by these bridges, "a b"."""
        routes = [[self.nodes[name] for name in way.split()] for way in ways]
        self.flow = self.sim.add_stream(
            {
                "id": "S", "talker": self.nodes["t"], "listeners": [self.nodes["l"]],
                "routes": routes[:1], "period_ns": period_ns, "advance_ns": 0,
            }
        )  # fmt: skip
        for route in routes[1:]:
            self.sim.add_way(self.flow, route)
        self.sim.set_generation(self.nodes[tagged_by or ways[0].split()[0]], self.flow)
        return self.flow

    def recover(self, *names: str, **options: Any) -> None:
        for name in names:
            spec = {"stream": self.flow, "history_length": 64, **options}
            self.sim.set_recovery(self.nodes[name], RecoverySpec(**spec))

    def run(self, frames: int, period_ns: int = 100_000) -> Any:
        """The stream half a period after so many frames, each copy of which is in one place."""
        self.sim.run(10_000_000 + frames * period_ns - period_ns // 2)
        found = self.sim.stream(self.flow)
        ended = found["delivered"] + sum(found["lost"].values()) + found["in_flight"]
        assert found["on_wire"] + found["split"] == ended
        return found


RING = ["t-a", "a-b", "b-d", "a-c", "c-d", "d-l"]


def test_success_at_20_percent_loss_is_that_of_inets_validation() -> None:
    # INET tests/validation/tsn/framereplication: each link loses 20 % of its frames, and s2a and
    # s2b send each other what comes from s1. Of a frame at s1 both have one in 0.8 x 0.8
    # + 2 x 0.8 x 0.2 x 0.8 = 0.896 of all cases, one alone in 2 x 0.8 x 0.2 x 0.2 = 0.064. By one
    # of two equal ways of two links it comes with 1 - (1 - 0.64)^2 = 0.8704, by one with 0.64. With
    # the first link that is 0.8 x (0.896 x 0.8704 + 0.064 x 0.64) = 0.65667072. INET has 0.65784.
    network = Network(["t-1", "1-A", "1-B", "A-B", "A-a", "B-b", "a-l", "b-l"], loss=0.2)
    network.stream("1 A a", "1 B b", "1 A B b", "1 B A a")
    network.recover("A", "B", "l")
    frames = 40_000
    found = network.run(frames)
    # Four standard deviations of 40 000 draws: 4 x sqrt(0.657 x 0.343 / 40 000) = 0.0095.
    assert found["on_wire"] == frames
    assert found["delivered"] / frames == pytest.approx(0.65667072, abs=0.0095)
    # As many as its counters say have ended at each.
    for name in "ABl":
        raw = (
            network.sim.station(network.nodes[name])
            if name == "l"
            else network.sim.bridge(network.nodes[name])
        )
        counted = raw["recovery"]["S"]
        assert found["lost"][f"{name} duplicate"] == counted["discarded"] > 0


def test_frames_are_longer_by_the_tag_where_they_have_one() -> None:
    # 64 bytes on the first and the last link, 70 between; by the talker's tag 64 and 58.
    for tagged_by, lengths in (("a", (70, 64)), ("t", (64, 58))):
        network = Network(RING)
        network.stream("a b d", "a c d", tagged_by=tagged_by)
        network.recover("d", untag=True)
        found = network.run(100)
        assert found["delivered"] == found["lost"]["d duplicate"] == found["split"] == 100
        for name, bytes_ in zip("bd", lengths, strict=True):
            (port,) = (
                port for port in network.sim.bridge(network.nodes[name])["ports"].values()
                if port["forwarded"]
            )  # fmt: skip
            assert port["forwarded_bytes"] == bytes_ * 100


def test_copies_far_behind_are_known_as_long_as_the_history_has_them() -> None:
    # By c a frame takes 4.02 ms longer, 40.2 periods: its copy comes behind 40 newer ones, and
    # those of the last 40 of 200 frames are still on their way.
    for options, passed in (
        ({"history_length": 41}, "duplicate"),
        ({"history_length": 40}, "rogue sequence number"),
        ({"algorithm": "match"}, "once more"),
    ):
        network = Network(RING, {"a-c": 2_010_000, "c-d": 2_010_000})
        network.stream("a b d", "a c d")
        network.recover("d", untag=True, **options)
        found = network.run(200)
        place = f"{'l' if passed == 'once more' else 'd'} {passed}"
        assert found["lost"] == {place: 160} and found["delivered"] == 200


def test_numbers_wrap_and_frames_are_recovered_on() -> None:
    network = Network(RING, {"a-c": 5_000})
    network.stream("a b d", "a c d", period_ns=40_000)
    network.recover("d", untag=True, history_length=2, individual=True)
    found = network.run(66_000, 40_000)
    assert found["delivered"] == found["on_wire"] == 66_000
    counted = network.sim.bridge(network.nodes["d"])["recovery"]["S"]
    ways = counted.pop("ports")
    assert counted == {
        "passed": found["on_wire"], "discarded": found["on_wire"], "out_of_order": 0, "rogue": 0,
        "lost": 0, "resets": 1, "latent_errors": 0,
    }  # fmt: skip
    assert [own["passed"] for own in ways.values()] == [found["on_wire"]] * 2


# -- plans
# --------------------------------------------------------------------------------------------------


def scenario(*changes: tuple[str, str]) -> Scenario:
    text = EXAMPLE.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return loading.parse(text, "redundancy.toml")


def behind(text: str, more: str) -> tuple[str, str]:
    return text, f"{text}\n{more}"


def link(one: str, other: str) -> str:
    return f'\n[[link]]\nends = ["{one}", "{other}"]'


A_B, D_DRIVE = 'ends = ["a", "b"]', 'ends = ["d", "drive"]'
TWO_LINKS = behind(D_DRIVE, link("c", "drive"))
OPTION, LOSS = "latent_period_ns = 100_000_000", "loss_probability = 1.0\n"


def test_a_cut_way_costs_nothing() -> None:
    asked = scenario()
    plan = session.planned(asked)
    assert plan["status"] == "feasible" and problems(asked, plan) == []
    stream = plan["streams"]["set"]
    assert (stream["route"], stream["second_route"]) == (["a", "b", "d"], ["a", "c", "d"])
    for seed in (1, 2):
        build, run = simulate_build(asked, plan, "keepon", seed)
        found = run.document["streams"]["set"]
        assert found["outcome"] == "met" and found["delivered"] == found["due"] > 0
        whole = build.simulation.stream(build.streams["set"])
        ((place, lost),) = found["copies"].items()
        assert place == "lossy link b - d" and lost + whole["in_flight"] == whole["on_wire"]
        # Tests each 100 ms from the 17th missing copy on, in 1.2 s and what runs beyond.
        last = run.document["bridges"]["d"]
        recovery, port = last["recovery"]["set"], last["ports"]["drive"]
        assert port["forwarded_bytes"] == 230 * port["forwarded"]  # without the tag
        assert recovery["passed"] == whole["delivered"] and recovery["latent_errors"] == 12


def test_the_bound_is_that_of_the_later_way() -> None:
    # Slots of 250 bytes at the talker, so frames of 230, and of 236 with a tag. From the reference
    # plane: 1840 ns to a, 1888 to each bridge with a tag, and for each hop 2000 of processing, 50
    # of cable, 64 of preamble; the drive is reached after the last cable. By one with 30 us more of
    # cable it comes at 1840 + 2 x 1888 + 3 x 2000 + 4 x 50 + 3 x 64 + 30 000 - 50 = 41 958, and
    # 9 ns late.
    for way in ("b", "c"):
        long = behind(f'ends = ["a", "{way}"]', "propagation_ns = 30_000")
        asked = scenario(long, (LOSS, ""))
        plan = session.planned(asked)
        bounds = plan["streams"]["set"]["bounds"]
        assert bounds["delay_ns"] == bounds["delay_min_ns"] == 41_967 and bounds["jitter_ns"] == 0
        assert problems(asked, plan) == []
        # With a way cut and without: no frame comes outside.
        for change in ([], [(LOSS, "")]):
            _, run = simulate_build(scenario(long, *change), plan, "keepon", 1)
            found = run.document["streams"]["set"]
            assert found["outcome"] == "met" and found["missing"] == 0
            assert found["delay_ns"]["max"] <= 41_967


@pytest.mark.parametrize("gates", ["auto", "none"])
def test_a_listener_with_two_links_drops_copies_itself(gates: str) -> None:
    fault = '[[fault]]\nkind = "link-down"\nnode = "drive.{}"\nat_s = 0.5\nvalue_ns = 400_000_000'
    for port in (0, 1):
        asked = scenario(
            TWO_LINKS, (LOSS, ""), behind("latent_period_ns = 100_000_000", fault.format(port)),
            ("[[bridge]]", f'[[bridge]]\ngates = "{gates}"'),
        )  # fmt: skip
        plan = session.planned(asked)
        stream = plan["streams"]["set"]
        assert {tuple(stream["route"]), tuple(stream["second_route"])} == {
            ("a", "c"), ("a", "b", "d"),
        }  # fmt: skip
        assert plan["status"] == "feasible" and problems(asked, plan) == []
        build, run = simulate_build(asked, plan, "keepon", 1)
        found = run.document["streams"]["set"]
        assert found["outcome"] == "met" and found["missing"] == 0
        whole = build.simulation.stream(build.streams["set"])
        cut = whole["lost"][f"link {'dc'[port]} - drive"]
        copies = whole["lost"]["drive duplicate"] + whole["in_flight"]
        assert cut == 400 and copies == whole["on_wire"] - cut


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([('"c", "d"', '"c", "b"')], 'all ways from "a" to "d" pass bridge "b"'),
        ([('"a", "c"', '"b", "c"')], 'all ways from "a" to "d" pass the link "a" to "b"'),
        ([('"d", "drive"', '"a", "drive"')], 'must be 1: its frames pass "a" alone'),
        (
            [behind(A_B, link("b", "c")), behind("redundancy = 2", 'route = ["a", "b", "c", "d"]')],
            "leaves no second way without its links and bridges",
        ),
        (
            [behind(A_B, "propagation_ns = 5_000"), (OPTION, "reset_ns = 1000")],
            'frer.reset_ns` (stream "set") = 1000: must be above',
        ),
        ([("redundancy = 2", "")], "must be 2 with a table `frer`"),
        (
            [
                ('listeners = ["drive"]', 'listeners = ["drive", "other"]'),
                behind('name = "plc"', 'driver = "standard"\n\n[[station]]\nname = "other"'),
                behind(D_DRIVE, link("d", "other")),
            ],
            "must be one with redundancy = 2",
        ),
        ([behind('name = "c"', 'police = "all"')], 'must be "edge" where copies'),
        ([('driver = "keepon"', 'driver = "standard"')], "keeps no times"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(changes: list[Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        session.planned(scenario(*changes))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_peers_run_on_the_same_plan_and_filters_at_the_edge_pass_its_frames() -> None:
    station = '[[station]]\nname = "plc"\ndriver = '
    compared = f'[compare]\ndrivers = ["keepon", "launchtime"]\n\n{station}"under-test"'
    for change, drivers in (
        ((f'{station}"keepon"', compared), ("keepon", "launchtime")),
        (behind('name = "a"', 'police = "edge"'), ("keepon",)),
    ):
        asked = scenario(change)
        plan = session.planned(asked)
        assert problems(asked, plan) == []
        for driver in drivers:
            _, run = simulate_build(asked, plan, driver, 1)
            assert run.document["streams"]["set"]["missing"] == 0


@pytest.mark.parametrize(
    "changes", [[], [TWO_LINKS], [("[[bridge]]", '[[bridge]]\ngates = "none"')]]
)
def test_following_each_frame_shows_what_port_by_port_does(
    changes: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Steady, "unclear", lambda self, _: iter(self._given.by_place))
    for way in "bc":
        asked = scenario(*changes, behind(f'ends = ["a", "{way}"]', "propagation_ns = 30_000"))
        plan = session.planned(asked)
        assert plan["status"] == "feasible" and problems(asked, plan) == []


# Frames each 8 us. By b and d one takes 27 us more of cable, and 1888 + 2000 + 50 + 64 ns for one
# more bridge: its copy comes 31 us later, behind three newer frames.
FAR = (
    TWO_LINKS, behind(D_DRIVE, "propagation_ns = 27_050"),
    ("period_ns = 1_000_000", "period_ns = 8_000"), ("deadline_ns = 100_000", ""),
)  # fmt: skip


def test_a_copy_that_recovery_would_not_know_is_refused() -> None:
    for key, message in (
        ('algorithm = "match"', '.frer.algorithm` (stream "set") = "match": must be "vector"'),
        ("history_length = 4", '.frer.history_length` (stream "set") = 4: must be above 4'),
        ("history_length = 5", ""),
    ):
        asked = scenario(*FAR, (OPTION, key))
        if message:
            with pytest.raises(ConfigError) as caught:
                session.planned(asked)
            assert message in str(caught.value)
        else:
            assert session.planned(asked)["status"] == "feasible"


def share_a_bridge(entry: Any) -> None:
    entry["second_route"] = list(entry["routes"]["drive"])
    entry["windows"] = [window for window in entry["windows"] if "c" not in window.values()]


def leave_out_the_second(entry: Any) -> None:
    del entry["second_route"]


def forget_a_window(entry: Any) -> None:
    entry["windows"] = [window for window in entry["windows"] if window["bridge"] != "c"]


def promise_the_sooner(entry: Any) -> None:
    entry["bounds"]["delay_ns"] -= 1


def without_tag(entry: Any) -> None:
    for window in entry["windows"]:
        window["length_ps"] -= 48_000 * (window["bridge"] != "d")


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (share_a_bridge, "both its ways pass b"), (leave_out_the_second, "number of ways"),
        (forget_a_window, "windows are not those"), (promise_the_sooner, "delay_ns"),
        (without_tag, "shorter than its frame"),
    ],
)  # fmt: skip
def test_the_checker_refuses_other_ways(wrong: Any, word: str) -> None:
    asked = scenario()
    plan: Plan = copy.deepcopy(session.planned(asked))
    wrong(plan["streams"]["set"])
    (found, *_) = problems(asked, plan)
    assert word in found


def test_the_checker_knows_what_recovery_remembers() -> None:
    asked = scenario(*FAR)
    plan = session.planned(asked)
    assert problems(asked, plan) == []
    for update, word in (
        ({"history_length": 4}, "behind 3 newer"), ({"algorithm": "match"}, "behind 1 newer"),
        ({"reset_ns": 30_000}, "number is forgotten"),
    ):  # fmt: skip
        stream = asked.stream[0]
        other = stream.model_copy(update={"frer": stream.frer.model_copy(update=update)})
        (found,) = problems(asked.model_copy(update={"stream": [other]}), plan)
        assert word in found
