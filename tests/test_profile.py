"""Where the time of a step goes: parts, counts and limits."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._C._autograd import DeviceType

from gridsum.benchmark import profiles
from gridsum.benchmark.counts import count
from gridsum.benchmark.limits import limits
from gridsum.benchmark.parts import ATTENTION, BETWEEN, CONTEXT, FEED_FORWARD, MARK, NORMS, OTHER, PARTS, RANDOM, Parts
from gridsum.benchmark.profiles import attributed, profile, undisturbed
from gridsum.benchmark.tables import tables
from gridsum.cli import main
from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.data.streams import Stream
from gridsum.training.discovery import draw
from gridsum.training.phases import at_step, recurrent_steps, total_steps
from tests.training.test_discovery import TINY
from tests.training.test_gradients import tiny

CPU = torch.device("cpu")


@pytest.fixture
def rates(monkeypatch):
    """The machine's limits, without the seconds that measuring them takes; every step is looked at once."""
    monkeypatch.setattr(profiles, "_TIMES", 1)
    for name, value in (("product_rate", 1e11), ("copy_rate", 1e10), ("call_seconds", 1e-6)):
        monkeypatch.setattr(profiles, name, lambda *_, value=value: value)


def test_what_a_gradient_computes_belongs_to_who_asked_for_it():
    """A product of n³ forwards is two backwards, in the part that it was made in."""
    parts, size = Parts(), 8
    x, w, v = (torch.randn(size, size, requires_grad=True) for _ in range(3))

    def work() -> None:
        with parts.part("first"):
            y = x @ w
        with parts.part("second"):
            z = (y @ v).sum()
        torch.autograd.grad(z, (x, w, v))

    counts = count(work, parts)
    assert {name: counted.flops for name, counted in counts.items() if counted.flops} == {
        "first": 6 * size**3,
        "second": 6 * size**3,
    }
    # y = x w reads two and writes one; so do its two gradients
    assert counts["first"].bytes == 9 * 4 * size**2


def test_what_is_only_looked_at_moves_nothing():
    x = torch.randn(4, 6)

    def work() -> None:
        x.t()[:2].expand(2, 4)
        torch.empty(100)
        x[:, :1].expand(4, 6).add(1)

    counted = count(work, Parts())[OTHER]
    assert counted.flops == 0
    assert counted.bytes == 4 * 4 + 4 * 24, "the sum alone: of an expanded tensor, what is there"


def test_parts_are_told_apart_only_while_someone_looks():
    before = vars(Stream)["bits"]
    with Parts().watching():
        assert vars(Stream)["bits"] is not before
    assert vars(Stream)["bits"] is before


@pytest.mark.usefixtures("rates")
@pytest.mark.parametrize(
    ("config", "absent"),
    [
        pytest.param(tiny("base"), set(), marks=pytest.mark.slow),
        pytest.param(tiny("fixedTime"), {CONTEXT}, marks=pytest.mark.slow),
        (TINY, {CONTEXT}),
    ],
)
def test_a_profile_has_every_part_of_a_step(config: Config | ExactConfig, absent: set[str]):
    record = profile(config, 1, CPU, steps=2)
    if config is TINY:
        check_products(record)
    shares = {part["part"]: part["share"] for part in record["parts"]}
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    missing = set(PARTS) - set(shares)
    assert missing == absent | (set() if config is TINY else {"bits of a cell"})
    counted = {part["part"]: part for part in record["parts"]}
    assert all(counted[name]["flops"] > 0 for name in (FEED_FORWARD, ATTENTION))
    assert counted[NORMS]["flops"] == counted[RANDOM]["flops"] == counted[BETWEEN]["calls"] == 0
    assert (record["runs"], record["variant"]) == (1, config.variant)
    (table,) = tables([record], "a machine")
    assert [row[0] for row in table.rows] == list(shares)


def check_products(record: dict[str, Any]) -> None:
    """Those of FFN_3 of `exact`, on the cells inside its grids: forward, and twice that for the gradient."""
    total, rule, flops = total_steps(TINY), TINY.rule, 0
    for number in (total // 4, 3 * total // 4):
        _, phase, _ = at_step(TINY, number)
        inside = draw(phase, TINY.discovery, Stream.of_seeds([0]).fold(number)).inside
        products = 2 * rule.width * rule.hidden + rule.hidden**2
        flops += 6 * int(inside.sum()) * recurrent_steps(phase, number) * products
    found = {part["part"]: part["flops"] for part in record["parts"]}
    assert found[FEED_FORWARD] == flops / 2


def test_kernels_belong_to_the_part_that_launched_them():
    """On a GPU the time is that of kernels; marks come back as such, and some kernels are known by their names."""
    parts = Parts()
    with parts.part("first"):
        made = torch.ones((), requires_grad=True) * 2
    assert made.grad_fn is not None

    def event(name, parent=None, kernels=(), sequence=-1, device=DeviceType.CPU):
        launched = [SimpleNamespace(name=kernel, duration=duration) for kernel, duration in kernels]
        return SimpleNamespace(
            name=name,
            cpu_parent=parent,
            kernels=launched,
            sequence_nr=sequence,
            device_type=device,
            self_cpu_time_total=5,
            time_range=SimpleNamespace(elapsed_us=lambda: 8),
        )

    mark = event(MARK + ATTENTION, kernels=[(MARK + ATTENTION, 99), ("_forward", 2)])
    product = event("aten::bmm", mark, [("gemm", 4), ("_leave", 64)])
    back = event(
        "autograd::engine::evaluate_function: X", kernels=[("backward", 16)], sequence=made.grad_fn._sequence_nr()
    )
    loose = event("aten::zeros", kernels=[("fill", 32)])
    on_gpu = [event(name, device=DeviceType.CUDA) for name in ("gemm", "_leave")]
    events = [mark, product, back, loose, *on_gpu]
    assert attributed(events, parts, True) == [
        (ATTENTION, 2e-6), (ATTENTION, 4e-6), ("first", 16e-6), (OTHER, 32e-6), (CONTEXT, 8e-6)
    ]  # fmt: skip
    assert [part for part, _ in attributed(events[:2], parts, False)] == [BETWEEN, ATTENTION]


def test_other_work_on_a_machine_is_left_out():
    calm, busy = [("a", 1.0), ("b", 5.0)], [("a", 9.0), ("b", 2.0)]
    assert undisturbed([calm, busy]) == [("a", 1.0), ("b", 2.0)]
    assert undisturbed([calm, [("a", 1.0)]]) == [("a", 1.0)], "other operations: the fastest of all"


def test_the_highest_limit_is_what_bounds_a_part():
    record = {"product_rate": 1e9, "copy_rate": 1e9, "call_seconds": 1e-3}
    part = {"flops": 4e9, "bytes": 2e9, "calls": 1000}
    assert limits(record, part) == {"arithmetic": 4.0, "memory": 2.0, "launches": 1.0}


@pytest.mark.usefixtures("rates")
def test_a_profile_is_printed_kept_and_shown_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gridsum.config.variants.exact_for", lambda **_: TINY)
    path = tmp_path / "profile.json"
    assert (
        main(["bench", "--profile", "--variants", "exact-small", "--steps", "1", "--device", "cpu", "--out", str(path)])
        == 0
    )
    line, shown = capsys.readouterr().out.split("\n\n", 1)
    assert line.startswith("profile of exact-small, 1 runs")
    (record,) = json.loads(path.read_text())["records"]
    assert record["measure"] == "profile"
    assert main(["bench", "--from", str(path)]) == 0
    assert capsys.readouterr().out.strip() == shown.strip()
    assert main(["bench", "--from", str(path), "--markdown"]) == 0
    assert "| local attention " in capsys.readouterr().out
    assert main(["bench", "--variants", "exact"]) == 2
    assert "--profile" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.parametrize("config", [tiny("base"), tiny("fixedTime"), TINY], ids=["base", "fixedTime", "exact"])
def test_a_profile_on_a_gpu_is_of_kernels(config: Config | ExactConfig):
    record = profile(config, 2, torch.device("cuda"), steps=2)
    parts = {part["part"]: part for part in record["parts"]}
    assert {FEED_FORWARD, ATTENTION, "optimiser", "placement"} <= set(parts)
    assert BETWEEN not in parts
    assert all(part["calls"] > 0 for part in parts.values())
    assert record["kernel_ms_per_step"] > 0
    assert parts[ATTENTION]["bytes"] > 0
