"""Each baseline's core equation against an oracle that is written plainly, cell by cell and number by number."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from gridsum.baselines.baseline import BaselineConfig, find_baseline
from gridsum.baselines.deep_thinking import DeepThinking
from gridsum.baselines.dngpu import DiagonalUnit
from gridsum.baselines.grid_lstm import GridLSTM
from gridsum.baselines.layers import Attention, Convolution, pondered
from gridsum.baselines.layout import table_of, tape_of, terms_of
from gridsum.baselines.lstm_act import PonderingLSTM
from gridsum.baselines.position_coupling import CoupledDecoder
from gridsum.baselines.s2g_cnn import GRU, SequenceToGrid
from gridsum.baselines.universal_transformer import coordinates
from gridsum.config.fields import override
from gridsum.data.problems import Space, batch_of, sample
from gridsum.data.streams import Stream
from gridsum.tasks import find

DIGITS = find()


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def sized(name: str, setting: str = "matched", **network: int) -> BaselineConfig:
    return override(find_baseline(name).configure(setting), {f"network.{key}": size for key, size in network.items()})


def close(ours: Tensor, oracle: Tensor) -> None:
    torch.testing.assert_close(ours, oracle, rtol=1e-4, atol=1e-5)


def test_the_convolution_is_torchs():
    torch.manual_seed(0)
    grid = torch.randn(2, 4, 5, 3)
    for rows, columns in ((1, 1), (1, 3), (3, 3)):
        ours = Convolution(rows, columns, 3, 7)
        kernel = ours.weight.view(7, rows, columns, 3).permute(0, 3, 1, 2)
        theirs = torch.nn.functional.conv2d(
            grid.permute(0, 3, 1, 2), kernel, ours.bias, padding=(rows // 2, columns // 2)
        )
        close(ours(grid), theirs.permute(0, 2, 3, 1))


def test_the_diagonal_gated_unit():
    """Cell by cell and map by map: maps 2 and 3 come from the left, 4 and 5 from the right."""
    torch.manual_seed(1)
    unit, s = DiagonalUnit(6), torch.randn(1, 1, 5, 6)
    reset, gate = ((0.5 * layer(s) + 0.5).clamp(0, 1)[0, 0] for layer in (unit.reset, unit.gate))
    candidate = unit.candidate(reset * s)[0, 0]
    after = torch.zeros(5, 6)
    for c, m in product(range(5), range(6)):
        source = c + (0, 0, -1, -1, 1, 1)[m]
        moved = s[0, 0, source, m] if 0 <= source < 5 else 0.0
        after[c, m] = gate[c, m] * moved + (1 - gate[c, m]) * candidate[c, m].clamp(-1, 1)
    found, saturated = unit(s, unit.gates(), None)
    close(found[0, 0], after)
    before = torch.cat((unit.reset(s)[0, 0], unit.gate(s)[0, 0], candidate), -1)
    close(saturated[0, 0], (before.abs() - 0.9).clamp(min=0).sum(-1))


def _opened(layer: torch.nn.Linear, both: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """The output gate, and the new memory."""
    i, f, o, g = (layer.weight @ both + layer.bias).chunk(4)
    return torch.sigmoid(o), torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)


def _lstm(layer: torch.nn.Linear, both: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    o, m = _opened(layer, both, memory)
    return o * torch.tanh(m), m


def _grid_lstm(layer: torch.nn.Linear, both: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Kalchbrenner et al. 2015, Eq. 1."""
    o, m = _opened(layer, both, memory)
    return torch.tanh(o * m), m


def test_the_assembly_line_is_layer_by_layer_and_time_by_time():
    torch.manual_seed(3)
    network = GridLSTM(sized("grid-lstm", width=4, layers=3))
    space = Space((2, 2), (1, 2))
    problem = network.encode(sample(space, 2, Stream.of_seeds([5])), space, None)
    inputs = {name: value[0] for name, value in problem.inputs.items()}
    read = network(inputs, None)
    tokens, columns = inputs["tokens"], inputs["columns"].shape[-1]
    for row in range(2):
        state = [(torch.zeros(4), torch.zeros(4)) for _ in range(3)]
        shown = []
        for token in tokens[row]:
            entered = torch.tanh(network.enter.weight[:, token] + network.enter.bias)
            depth = (entered[:4], entered[4:])
            for layer in range(3):
                both = torch.cat((state[layer][0], depth[0]))
                state[layer], depth = (
                    _grid_lstm(network.block.time, both, state[layer][1]),
                    _grid_lstm(network.block.depth, both, depth[1]),
                )
            shown.append(network.output(depth[0]))
        close(read.logits[row], torch.stack(shown[-columns:]))


def test_halting_by_adaptive_computation_time():
    """Graves 2016, Section 2, problem by problem."""
    h = torch.tensor([[0.3, 0.9999, 0.1], [0.3, 0.5, 0.2], [0.5, 0.5, 0.3], [0.6, 0.5, 0.1]])
    found, steps, costs = pondered(h.t())
    for problem in range(3):
        total, p, n = 0.0, [0.0] * 4, 0
        for n in range(4):
            total += float(h[n, problem])
            if total >= 0.99 or n == 3:
                p[n] = 1 - sum(p[:n])
                break
            p[n] = float(h[n, problem])
        close(found[problem], torch.tensor(p))
        assert float(steps[problem]) == n + 1
        assert float(costs[problem]) == pytest.approx(n + 1 + p[n], abs=1e-5)


def test_a_number_is_pondered_as_one_by_one():
    """The state is the mean under p of those of every step."""
    torch.manual_seed(4)
    network = PonderingLSTM(sized("lstm-act", "native", width=6, ponder=3))
    x, h, m = torch.randn(1, network.gates.in_features - 7), torch.randn(1, 6), torch.randn(1, 6)
    ours = network.ponder(x, h, m)
    states, halts, hidden, memory = [], [], h[0], m[0]
    for n in range(3):
        hidden, memory = _lstm(network.gates, torch.cat((x[0], torch.tensor([float(n == 0)]), hidden)), memory)
        states.append((hidden, memory))
        halts.append(float(torch.sigmoid(network.halt(hidden))))
    p = [halts[0], halts[1], 1 - halts[0] - halts[1]] if sum(halts[:2]) < 0.99 else [halts[0], 1 - halts[0], 0.0]
    if halts[0] >= 0.99:
        p = [1.0, 0.0, 0.0]
    for part in range(2):
        oracle = torch.stack([share * state[part] for share, state in zip(p, states, strict=True)]).sum(0)
        close(ours[part][0], oracle)


def test_coordinates_are_sines_of_position_and_step():
    ours = coordinates(3, 2, 8, torch.zeros(1))
    for position in range(3):
        for j in range(4):
            rate = 10000 ** (2 * j / 8)
            assert float(ours[position, 2 * j]) == pytest.approx(
                math.sin(position / rate) + math.sin(2 / rate), abs=1e-5
            )
            assert float(ours[position, 2 * j + 1]) == pytest.approx(
                math.cos(position / rate) + math.cos(2 / rate), abs=1e-5
            )


def test_attention_is_torchs():
    torch.manual_seed(6)
    ours, theirs, x = (
        Attention(4, 2),
        torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True),
        torch.randn(1, 3, 4),
    )
    theirs.load_state_dict({"in_proj_weight": ours.enter.weight, "out_proj.weight": ours.leave.weight})
    sees = torch.tensor([[[1, 0, 0], [1, 1, 0], [1, 0, 1]]]).bool()
    expected, _ = theirs(x, x, x, attn_mask=~sees[0])
    close(ours(x, sees), expected)
    close(ours(x, sees[:, 1:]), expected[:, 1:])


def test_coupled_positions_are_the_places():
    """58+7= with its result: digits of one place have one number; signs have that before the units."""
    network = CoupledDecoder(sized("position-coupling", width=8, hidden=8))
    space = Space((2, 3), (1, 3))
    problem = network.encode(batch_of([("58", "7")]), space, None)
    tokens, ids = problem.inputs["terms"][0, 0].tolist(), problem.inputs["positions"][0, 0].tolist()
    start = int(problem.inputs["start"][0, 0])
    shown = [
        (DIGITS.alphabet.symbols[code], place - start + 1) for code, place in zip(tokens, ids, strict=True) if code
    ]
    assert shown == [("5", 3), ("8", 2), ("+", 1), ("0", 3), ("7", 2)]
    assert DIGITS.decode(problem.targets[0, 0].tolist()).strip() == "56"
    assert start == 1 + (network.shape.positions - 1 - 4) // 2  # the middle; = has it, and the units come after it
    batch = sample(space, 200, Stream.of_seeds([0]))
    moved = network.encode(batch, space, Stream.of_seeds([1]))
    longest = moved.inputs["start"] + moved.targets.shape[-1] - 1
    assert int(moved.inputs["start"].min()) == 1
    assert 120 <= int(longest.max()) <= network.shape.positions


def test_the_controllers_recurrence_is_torchs():
    torch.manual_seed(7)
    ours, theirs = GRU(3, 4), torch.nn.GRU(3, 4, batch_first=True)
    theirs.load_state_dict(
        {
            "weight_ih_l0": ours.enter.weight,
            "bias_ih_l0": ours.enter.bias,
            "weight_hh_l0": ours.back.weight,
            "bias_hh_l0": ours.back.bias,
        }
    )
    x = torch.randn(2, 5, 3)
    close(ours(x), theirs(x)[0])


def test_behind_the_end_the_controller_does_nothing():
    network, symbols = SequenceToGrid(sized("s2g-cnn", width=8, layers=1)), torch.eye(13)[torch.tensor([[1, 2, 0]])]
    assert network.actions(symbols)[0, 2].tolist() == [0, 0, 1]


def test_steps_without_a_gradient_and_after_the_last():
    """A problem with n steps without gradient and k with one is read as after n + k steps, and learns from k."""
    torch.manual_seed(8)
    network, space = DeepThinking(sized("deep-thinking", width=8, steps=5, blocks=1)), Space((1, 2), (1, 2))
    problem = network.encode(sample(space, 1, Stream.of_seeds([0])), space, Stream.of_seeds([0]))
    inputs = {name: value[0] for name, value in problem.inputs.items()}
    inputs |= {"without": torch.tensor([2]), "last": torch.tensor([4])}
    seen = (inputs["grid"][..., None] == torch.arange(13)).float()
    state = network.enter(seen).relu()
    for _ in range(4):
        state = network.blocks(network.recall(torch.cat((state, seen), -1)).relu())
    for layer in network.head:
        state = layer(state).relu()
    oracle = network.output(state)[:, 0]
    with torch.enable_grad():
        ours = network(inputs, Stream.of_seeds([0])).logits
        ours.sum().backward()
    close(ours, oracle)
    assert network.recall.weight.grad.any()
    assert network.enter.weight.grad is None or not network.enter.weight.grad.any()


def test_symbols_know_their_term_and_place():
    batch = batch_of([("507", "12", "9"), ("8",)])
    table = table_of(batch, Space((1, 3), (1, 3)))
    assert [DIGITS.decode(row.flip(0).tolist()).strip() for row in table[0, 0]] == ["507", "12", "9"]
    assert [DIGITS.decode(row.tolist()).strip() for row in table[0, 1]] == ["8", "", ""]
    assert terms_of(batch).tolist() == [[3, 1]]
    tape, length = tape_of(batch)
    assert DIGITS.decode(tape[0, 0].tolist()) == "9+21+705"
    assert length[0].tolist() == [8, 1]
