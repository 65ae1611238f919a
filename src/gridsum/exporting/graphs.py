"""A model as ONNX graphs, with any number of problems, rows and columns.

    input.onnx   symbols [B,S] → vectors [B,S,E], actions [B,S,3]
    step.onnx    grid [B,H,W,E], context [B,C,E] → the next grid, the next context, halting [B] and logits [B,H,W,Σ]
                 of the grid given; without context and halting where the network takes a fixed number of steps
                 of bits: symbols of the cells [B,H,W] (digits from 0, the sign, nothing), bits [B,H,W,m] as ±1
                 → the next bits, and logits [B,H,W,Σ] of the bits given

The caller places vectors on the grid by their actions (`gridsum.ops.placement.plain` has the definition) and takes
steps until it halts. Every graph is compared with torch, by onnxruntime, on grids of several sizes before it is kept.
"""

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gridsum.automaton.rule import Rules
from gridsum.io.disk import write_atomically
from gridsum.model.rollout import Network
from gridsum.model.rule import RuleNetwork

_OPSET = 18
_TOLERANCE = 1e-4
_SIZES = ((2, 5, 3, 7), (1, 9, 5, 4), (3, 2, 2, 12))
"""Problems, symbols, rows and columns that a graph is compared on; the first are those it is made with."""


class ExportError(RuntimeError):
    """A graph that could not be made or that differs from its network."""


class _Input(nn.Module):
    def __init__(self, network: Network | RuleNetwork) -> None:
        super().__init__()
        self.vectors = nn.Parameter(network.embedding.weight[0].detach(), requires_grad=False)
        self.actions = nn.Parameter(network.placement(network.embedding.weight)[0].detach(), requires_grad=False)

    def forward(self, symbols: Tensor) -> tuple[Tensor, Tensor]:
        return self.vectors[symbols], self.actions[symbols]


class _Step(nn.Module):
    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, grid: Tensor, context: Tensor | None = None) -> tuple[Tensor, ...]:
        grids = grid[None]
        after, logits = self.network.step(grids)[0], self.network.read(grids)[0]
        if self.network.context is None or context is None:
            return after, logits
        following, halting = self.network.context(context[None], grids)
        return after, following[0], halting[0], logits


class _RuleStep(nn.Module):
    def __init__(self, network: RuleNetwork) -> None:
        super().__init__()
        self.network = network
        cell, query, *_ = Rules(network).prepare()
        self.cell, self.query = (nn.Parameter(part[0].detach(), requires_grad=False) for part in (cell, query))

    def forward(self, symbols: Tensor, bits: Tensor) -> tuple[Tensor, ...]:
        state = bits[None]
        z = self.network.step(self.cell[symbols][None], self.query[symbols][None], state)
        return torch.where(z[0] > 0, 1.0, -1.0), self.network.read(state)[0]


def write_graphs(network: Network | RuleNetwork, folder: Path) -> list[Path]:
    """Write the graphs of a network of one run; returns their files."""
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        why = f"ONNX needs {error.name}, which is not installed; install it with: pip install '.[onnx]'"
        raise ExportError(why) from None
    network = network.float().cpu().eval()
    letters = network.embedding.weight.shape[1]

    def input_of(problems: int, length: int, *_: int) -> dict[str, Tensor]:
        return {"symbols": torch.randint(letters, (problems, length))}

    def step_of(problems: int, _: int, *shape: int) -> dict[str, Tensor]:
        if isinstance(network, RuleNetwork):
            bits = torch.randint(2, (problems, *shape, network.config.bits)) * 2.0 - 1
            return {"symbols": torch.randint(letters - 1, (problems, *shape)), "bits": bits}
        width, length = network.config.width, network.config.context_length
        context = {} if network.context is None else {"context": torch.randn(problems, length, width)}
        return {"grid": torch.randn(problems, *shape, width), **context}

    if isinstance(network, RuleNetwork):
        step, outputs = _RuleStep(network), ["next_bits", "logits"]
    else:
        halting = [] if network.context is None else ["next_context", "halting"]
        step, outputs = _Step(network), ["next_grid", *halting, "logits"]
    return [
        _write(_Input(network), folder / "input.onnx", input_of, ["vectors", "actions"]),
        _write(step, folder / "step.onnx", step_of, outputs),
    ]


def _write(module: nn.Module, path: Path, make: Any, outputs: list[str]) -> Path:
    """Make a graph, and keep it once it was compared with torch on grids of several sizes."""
    with torch.random.fork_rng(), torch.no_grad(), warnings.catch_warnings():
        torch.manual_seed(0)
        warnings.simplefilter("ignore")  # what the exporter says of itself
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        example = make(*_SIZES[0])
        labels = {"context": ["problems"]} if path.stem == "step" else {"symbols": ["problems", "length"]}
        axes = [labels.get(name, ["problems", "rows", "columns"]) for name in example]
        sizes = [{axis: torch.export.Dim(label, min=1, max=1 << 20) for axis, label in enumerate(of)} for of in axes]
        dynamic = dict(zip(example, sizes, strict=True))
        made = torch.onnx.export(
            module, (), kwargs=example, dynamic_shapes=dynamic, dynamo=True, verbose=False,
            input_names=list(example), output_names=outputs, opset_version=_OPSET,
        )  # fmt: skip
        assert made is not None
        graph = made.model_proto.SerializeToString()
        for size in _SIZES:
            compare(module, graph, make(*size))
    write_atomically(path, graph)
    return path


def compare(module: nn.Module, graph: bytes, inputs: dict[str, Tensor]) -> None:
    """Refuse a graph whose answers are not torch's."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    found: Any = session.run(None, {name: value.numpy() for name, value in inputs.items()})
    for name, ours, theirs in zip((item.name for item in session.get_outputs()), module(**inputs), found, strict=True):
        difference = float((ours - torch.from_numpy(theirs)).abs().max())
        if ours.shape != theirs.shape or not difference <= _TOLERANCE:
            raise ExportError(f"the graph differs from torch in {name} by {difference:.2g} on {list(ours.shape)}")
