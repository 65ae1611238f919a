"""The Triton kernels and CUDA graphs against the plain definitions.

Without a GPU, Triton's interpreter computes the kernels on the CPU, so slowly that only small shapes are tried.
`pytest -m gpu` tries the large ones and the graphs on a GPU.
"""

import importlib.util
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.data.streams import Stream
from gridsum.model.paper import ContextTransformer, Transition
from gridsum.model.rollout import Network, Start, unroll
from gridsum.model.runs import generators
from gridsum.ops.attention import plain as definition
from gridsum.ops.devices import Replayed
from gridsum.ops.dropout.plain import Dropout, bits_at
from gridsum.ops.forms import computed_in
from gridsum.ops.grids import GridSize, linear, only_inside
from gridsum.ops.placement import cpu as placement
from gridsum.training.gradients import EagerGradients, part_gradient
from gridsum.training.loop import Fleet
from gridsum.training.optimiser import AdamW
from tests.oracles.sizes import SMALLEST, undecided

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed here (Linux on x86 has it)", allow_module_level=True)

from gridsum.ops.attention.triton import KernelAttention, packed_encodings
from gridsum.ops.context.triton import KernelContext, Readings
from gridsum.ops.kernels.cells import everyone, leave
from gridsum.ops.placement.triton import KernelEnds
from gridsum.ops.transition import products
from gridsum.ops.transition import triton as transition
from gridsum.ops.transition.triton import KernelTransition, packed_transition

gpu, slow = pytest.mark.gpu, pytest.mark.slow
INTERPRETED = not torch.cuda.is_available()
DEVICE = "cpu" if INTERPRETED else "cuda"


@pytest.fixture(autouse=True)
def exact_products():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


@pytest.fixture(autouse=True, scope="module")
def few_shares():
    """An interpreter computes the shares of a product one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (products, transition) if INTERPRETED else ():
            patch.setattr(module, "SHARES", 2)
        yield


@pytest.fixture
def no_number_in_fresh_memory():
    """What lies in memory that is never written is no number."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


def random(*shape, seed=0):
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
    return values.requires_grad_()


def drops_of(count, *cells):
    """Dropout at so many sites."""
    numbers = torch.arange(math.prod(cells), device=DEVICE).view(cells)
    return [Dropout(stream, numbers, 0.1) for stream in Stream.of_seeds((0, 1), DEVICE).children(count)]


def assert_zero_for_those_who_left(size, gradient):
    """The step before, in which they were present, adds this to its own."""
    assert torch.equal(only_inside(size.size, gradient), only(size, gradient))


KINDS = ("whole", "masked", "left")


def present():
    """Which of the three samples of two runs are still there, where some have left."""
    return torch.tensor([[True, False, True], [False, False, True]], device=DEVICE)


@dataclass(frozen=True)
class Sized:
    """The grids of two runs of three samples, and what the kernels are told of them."""

    size: GridSize
    sizes: torch.Tensor | None


def sized(height, width, kind):
    """Each run with a grid of its own if `masked`; if `left`, some samples have left, too."""
    own = torch.tensor([[max(1, height - 2), width], [height, max(1, width - 3)]], dtype=torch.int32, device=DEVICE)
    if kind == "whole":
        return Sized(GridSize(height, width), None)
    sizes = own
    if kind == "left":
        sizes, _ = leave(
            own, present().float(), torch.zeros(2, 3, device=DEVICE), torch.full((2, 3), 0.5, device=DEVICE)
        )
    return Sized(GridSize(height, width, own), sizes)


def only(given, x):
    """x [R,B,H,W,...] without what lies outside each run's own grid, and without the samples that have left."""
    return only_present(given, only_inside(given.size, x))


def only_present(given, x):
    """x [R,B,...] without the samples that have left."""
    if given.sizes is None or given.sizes.shape[1] == 2:
        return x
    return torch.where(present().view(2, 3, *[1] * (x.dim() - 2)), x, 0.0)


def assert_same(plain, fast, inputs, size=None, relative=None):
    """Equal results, and equal gradients of a random function of them; within `relative` of their norm, if given."""
    weight = random(*plain.shape, seed=9).detach()
    if size is not None:
        plain, fast, weight = only(size, plain), only(size, fast), only(size, weight)
    expected = torch.autograd.grad(plain, inputs, weight, retain_graph=True)
    found = torch.autograd.grad(fast, inputs, weight, retain_graph=True)
    for ours, theirs in zip((fast, *found), (plain, *expected), strict=True):
        if size is not None and ours.shape[:4] == plain.shape[:4]:
            ours, theirs = only(size, ours), only(size, theirs)
        if relative is None:
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
        else:
            assert float((ours - theirs).detach().norm() / theirs.detach().norm()) < relative


@pytest.mark.usefixtures("no_number_in_fresh_memory")
@pytest.mark.parametrize(
    ("width", "heads", "kernel", "shape", "kind"),
    [
        (16, 16, 3, (1, 1), "whole"),
        (16, 4, 3, (2, 4), "left"),
        *(pytest.param(16, 16, 3, (3, 5), kind, marks=slow) for kind in ("whole", "masked")),
        pytest.param(16, 4, 5, (2, 3), "masked", marks=slow),
        (16, 16, 1, (2, 5), "left"),
        *(
            pytest.param(*sizes, shape, kind, marks=gpu)
            for sizes in [(64, 64, 3), (64, 8, 3), (16, 4, 5), (32, 32, 1)]
            for shape in [(1, 1), (3, 7), (7, 15)]
            for kind in KINDS
        ),
    ],
)
def test_local_attention(width, heads, kernel, shape, kind):
    size = sized(*shape, kind)
    qkv, query = random(2, 3, *shape, 3 * width), random(2, width, seed=1)
    relative = random(2, kernel, kernel, width, seed=2)
    plain = definition.attend(only(size, qkv), query, relative, heads)
    encodings = packed_encodings(query, relative, 3 * math.prod(shape))
    fast, _ = KernelAttention.apply(qkv, *encodings, heads, size.sizes)
    assert_same(plain, fast, (qkv, query, relative), size)
    assert_zero_for_those_who_left(size, torch.autograd.grad(only(size, fast).sum(), qkv)[0])


@pytest.mark.parametrize(("length", "height", "width"), [(2, 1, 1), (5, 3, 4), pytest.param(44, 7, 15, marks=gpu)])
def test_placement(length, height, width):
    logits = random(2, 3, length, 3)
    actions = logits.softmax(-1)
    plain, _ = placement.run_back(actions, placement.last_state(actions, height, width))
    assert_same(plain, KernelEnds.apply(actions, height, width), (logits,))


def test_samples_leave():
    own = torch.tensor([[4, 12], [5, 13]], dtype=torch.int32, device=DEVICE)
    running = torch.tensor([[0.5, 0.04, 0.05, 1.0, 0.0], [0.01, 0.02, 0.03, 0.04, 0.9]], device=DEVICE)
    halting = torch.linspace(0, 1, 10, device=DEVICE).view(2, 5)
    thresholds = torch.full_like(running, 0.05)
    assert everyone(own, 5).tolist() == [[4, 12, 5, 0, 1, 2, 3, 4], [5, 13, 5, 0, 1, 2, 3, 4]]
    sizes, after = leave(own, running, halting, thresholds)
    assert sizes.tolist() == [[4, 12, 2, 0, 3, 1, 2, 4], [5, 13, 0, 0, 1, 2, 3, 4]]
    assert torch.equal(after, running * (1 - halting))
    sizes, _ = leave(sizes, after, halting, thresholds)
    assert sizes[:, :3].tolist() == [[4, 12, 2], [5, 13, 0]]
    thresholds[0, 0], thresholds[1, 3] = 0.6, 0.001  # each sample has its own
    sizes, _ = leave(own, running, halting, thresholds)
    assert sizes.tolist() == [[4, 12, 1, 3, 0, 1, 2, 4], [5, 13, 1, 3, 0, 1, 2, 4]]


@pytest.mark.usefixtures("no_number_in_fresh_memory")
@pytest.mark.parametrize(
    ("shape", "name", "kind", "dropout"),
    [
        ((1, 1), "small", "whole", False),
        pytest.param((3, 5), "small", "masked", True, marks=slow),
        ((3, 5), "small", "left", True),
        *(pytest.param((7, 15), "base", kind, dropout, marks=gpu) for kind in KINDS for dropout in (False, True)),
    ],
)
def test_context(shape, name, kind, dropout):
    """Two readings, one after the other; some samples leave between them, if `left`."""
    config = override(variant("base"), {} if name == "base" else SMALLEST | {"model.context_hidden": 32}).model
    # Triton's interpreter has no products of bfloat16.
    close = 1e-5 if INTERPRETED else 2e-2
    reader = ContextTransformer(generators((0, 1)), config)
    with torch.no_grad():
        for index, parameter in enumerate(reader.parameters()):
            parameter += 0.1 * random(*parameter.shape, seed=index).cpu()
    reader.to(DEVICE)
    sizes = [sized(*shape, part) for part in ("masked" if kind == "left" else kind, kind)]
    context, *given = (
        random(2, 3, config.context_length, config.width),
        *(random(2, 3, *shape, config.width, seed=seed) for seed in (1, 2)),
    )
    drops = drops_of(4, 3, config.context_length) if dropout else []
    with torch.autocast("cuda", torch.bfloat16, enabled=not INTERPRETED):
        readings = Readings.of(reader, 4, 3)
    ledger, plain, fast, before = readings.begin(), context, context, context
    found, expected, shown = [], [], []
    for n, (size, grid, drop) in enumerate(zip(sizes, given, (drops[:2], drops[2:]), strict=True), 1):
        before = fast
        plain, halting = reader(plain, only(size, grid), size.size, drop or None)
        expected.append(only_present(size, halting)[..., None])
        shown.append(only(size, grid))
        reading = n, size.sizes, bits_at(drop, (config.width, config.context_hidden))
        fast, halting, *ledger = KernelContext.apply(fast, shown[-1], readings, reading, *ledger)
        found.append(only_present(size, halting)[..., None])
    expected, found = (
        torch.cat([*parts, only_present(sizes[1], last).flatten(2)], -1)
        for parts, last in ((expected, plain), (found, fast))
    )
    parameters = [parameter for name, parameter in reader.named_parameters() if name != "initial"]
    assert_same(expected, found, (context, *given, *parameters), relative=close)
    if kind == "left":
        assert torch.equal(fast[~present()], before[~present()])
    assert_zero_for_those_who_left(sizes[1], torch.autograd.grad(found.sum(), shown[1], retain_graph=True)[0])


def test_packed_dropout_drops_the_same():
    numbers = torch.randperm(3 * 7 * 15, generator=torch.Generator().manual_seed(0)).view(3, 7, 15).to(DEVICE)
    dropout = Dropout(Stream.of_seeds((3, 4), DEVICE), numbers, 0.1)
    for features in (8, 64, 256):
        x = random(2, 3, 7, 15, features).detach()
        expected = dropout(x)
        with computed_in("triton"):
            assert torch.equal(dropout(x), expected)
        assert 0.05 < float((expected == 0).float().mean()) < 0.15


@pytest.mark.usefixtures("no_number_in_fresh_memory")
@pytest.mark.parametrize(
    ("shape", "features", "hidden", "kind", "dropout"),
    [
        ((2, 5), 16, 32, "whole", False),
        pytest.param((2, 5), 16, 32, "masked", True, marks=slow),
        ((2, 5), 16, 32, "left", True),
        *(pytest.param((7, 15), 64, 256, kind, dropout, marks=gpu) for kind in KINDS for dropout in (False, True)),
    ],
)
def test_transition(shape, features, hidden, kind, dropout):
    # Triton's interpreter has no products of bfloat16.
    low, close = (torch.float32, 1e-5) if INTERPRETED else (torch.bfloat16, 2e-2)
    module = Transition(generators((0, 1)), features, hidden)
    with torch.no_grad():
        for index, parameter in enumerate(module.parameters()):
            parameter += 0.1 * random(*parameter.shape, seed=index).cpu()
    module.to(DEVICE)
    size = sized(*shape, kind)
    given = random(2, 3, *shape, features), random(2, 3, *shape, features, seed=1)
    grid, attended = (only(size, part) for part in given)
    drops = drops_of(3, 3, *shape) if dropout else []
    bits, factor = bits_at(drops, (features, hidden, hidden))
    matrix = random(2, features, 3 * features, seed=2)
    with torch.autocast("cuda", low, enabled=low != torch.float32):
        ways, parameters = packed_transition(module, matrix, 3 * math.prod(shape))
    given_all = (grid, attended, *ways, *parameters, hidden, size.sizes, bits, factor)
    *readers, _, _ = KernelTransition.apply(*given_all, (torch.zeros_like(grid[:, :, 0]),), False)
    plain = module(grid, attended, size.size, drops)
    inputs = (*given, *module.parameters())
    # All readers together, each with another weight.
    fast, projected, seen, top = readers
    fast, seen = only(size, fast), only(size, seen)
    together = fast + only(size, projected.float()).unflatten(-1, (3, -1)).sum(-2) + 3 * seen
    together = torch.cat((together[:, :, :1] + 4 * top[:, :, None], together[:, :, 1:]), 2)
    expected = 4 * plain + linear(plain, matrix).unflatten(-1, (3, -1)).sum(-2)
    expected = torch.cat((expected[:, :, :1] + 4 * plain[:, :, :1], expected[:, :, 1:]), 2)
    assert_same(expected, together, (*inputs, matrix), size, relative=close)
    assert_zero_for_those_who_left(size, torch.autograd.grad(seen.sum(), grid, retain_graph=True)[0])
    # Of a last step, the top row alone.
    *_, last, _, _ = KernelTransition.apply(*given_all, (torch.zeros_like(grid[:, :, 0]),), True)
    assert_same(only_present(size, plain[:, :, 0]), last, inputs, relative=close)


def test_a_compiler_reads_the_kernels():
    """The interpreter forgives what a compiler does not, such as a name that changes its shape in a loop."""
    script = Path(__file__).with_name("compile_kernels.py")
    told = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    said = subprocess.run([sys.executable, script, "base"], env=told, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr[-2000:]
    names = "_forward _backward _back_to_second _back_to_input _product _products_of_a_step _keep _leave"
    names += " read_context read_context_back"
    for name in names.split():
        assert name in said.stdout


SMALL = SMALLEST | {
    "model.max_steps": 2,
    "task.digits": (1, 1),
    "task.spare_columns": 1,
    "task.random_rows": 1,
    "task.random_columns": 1,
    "task.terms": (1, 2),
    "task.bucket_bounds": (1,),
}


LARGE = {"training.batch": 8, "model.max_steps": 8}


@pytest.mark.usefixtures("no_number_in_fresh_memory")
@pytest.mark.parametrize(
    ("name", "changes", "group", "exactly"),
    [
        ("fixedTime", SMALL | {"model.fixed_steps": 1}, 1, True),
        # Of one rollout, as they have no draw of success; with samples that leave.
        ("ponderReg", SMALL | {"model.epsilon": 0.4}, 1, True),
        pytest.param("ponderReg", SMALL, 1, False, marks=slow),
        pytest.param("base", SMALL | {"model.max_steps": 4, "model.epsilon": 0.4}, 1, True, marks=slow),
        # Sizes that the transition's kernel does not have, and that of the context.
        pytest.param("ponderReg", SMALL | {"model.step_hidden": 24, "model.max_steps": 1}, 1, True, marks=slow),
        pytest.param("ponderReg", SMALL | {"model.context_hidden": 24}, 1, True, marks=slow),
        *(pytest.param("base", LARGE, group, exactly, marks=gpu) for group in (0, 1) for exactly in (True, False)),
        pytest.param("SASA", LARGE, 1, True, marks=gpu),
        pytest.param("fixedTime", LARGE, 1, True, marks=gpu),
        pytest.param("base", LARGE | {"model.width": 48, "model.heads": 48}, 1, True, marks=gpu),  # nor for any other
    ],
)
def test_a_rollout_by_kernels_is_the_plain_one(name, changes, group, exactly):
    """With samples that leave, dropout, and grids of their own for the runs."""
    config = override(variant(name), changes)
    network = undecided(Network(config.model, (0, 1))).to(DEVICE)
    stream = Stream.of_seeds((0, 1), DEVICE).fold(torch.tensor(3, device=DEVICE))
    expected = part_gradient(network, config, stream, group, None, False, "plain")
    steps = config.model.max_steps if exactly and network.context is not None else None
    found = part_gradient(network, config, stream, group, steps, exactly, "triton")
    assert found.truncation is not None
    assert expected.truncation is not None
    assert torch.equal(found.truncation, expected.truncation)
    difference = (found.gradient - expected.gradient).norm(dim=1) / expected.gradient.norm(dim=1)
    assert float(difference.max()) < 1e-4
    torch.testing.assert_close(found.costs["total"], expected.costs["total"])


def one_leaves():
    """The first of two problems, before the second step."""
    going = torch.tensor([[True, True], [False, True]], device=DEVICE)
    return iter(going).__next__


@torch.no_grad()
@pytest.mark.parametrize("hard", [False, True])
def test_solving_by_kernels_is_the_plain_one(hard):
    network = Network(override(variant("base"), SMALL).model, (0, 1)).requires_grad_(False).to(DEVICE)
    symbols = torch.randint(0, 13, (2, 2, 6), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    found, expected = (
        list(unroll(Start(network, symbols, GridSize(2, 5), 2, hard, form=form), going=one_leaves()))
        for form in ("triton", "plain")
    )
    assert [ours.grid.shape[1] for ours in found] == [2, 2, 1]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.grid, theirs.grid, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(ours.halting, theirs.halting, rtol=1e-3, atol=1e-4)


@gpu
@pytest.mark.parametrize(
    ("name", "precision"),
    # Under ponder halting, where a sample is cut off may hang on the last bit of a bfloat16.
    [("base", "fp32"), ("SASA", "fp32"), ("fixedTime", "fp32"), ("ponderReg", "fp32"), ("fixedTime", "bf16")],
)
def test_graphs_give_the_gradients_of_eager_torch(name, precision):
    """Over steps in which the number of recurrent steps changes, so that several graphs share their memory."""
    seeds = (0, 1, 2)
    config = override(variant(name), {"training.batch": 32, "training.precision": precision})
    fleet = Fleet(config, seeds, torch.device("cuda"))
    network = Network(config.model, seeds).cuda()
    eager = EagerGradients(network, config, seeds)
    rate = torch.tensor(fleet.gradients.rate(0), dtype=torch.float64, device="cuda")
    for number in range(8):
        found = fleet.gradients(number)
        network.load_state_dict(fleet.network.state_dict())
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            expected = eager(number)
        difference = (found.gradient - expected.gradient).norm(dim=1) / expected.gradient.norm(dim=1)
        close = 1e-4 if precision == "fp32" else 5e-2
        assert float(difference.max()) < close
        torch.testing.assert_close(found.costs["total"], expected.costs["total"], rtol=close / 10, atol=close / 10)
        fleet.optimiser.update(found.gradient, rate, fleet.alive)


@gpu
def test_an_update_that_is_replayed_is_the_eager_update():
    config = variant("fixedTime")
    networks = [Network(config.model, (0, 1)).cuda() for _ in range(2)]
    optimisers = [AdamW(network, config.training) for network in networks]
    alive = torch.tensor([True, True], device="cuda")
    replayed = Replayed(lambda gradient, step: optimisers[0].update(gradient, step, alive))
    for number in range(6):
        generator = torch.Generator("cuda").manual_seed(number)
        gradient = torch.randn(optimisers[0].weights.shape, device="cuda", generator=generator)
        alive[1] = number < 4
        step = torch.tensor(number * 40, device="cuda")
        norm, expected = replayed(gradient, step), optimisers[1].update(gradient, step, alive)
        torch.testing.assert_close(norm, expected, rtol=0, atol=0)
        torch.testing.assert_close(*(network.state_dict() for network in networks), rtol=0, atol=0)
    assert replayed.graph is not None
