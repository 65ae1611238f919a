"""Reads every Triton kernel as a compiler for a GPU does, as training and solving call it, and fails where
that refuses it.

The interpreter, by which the other tests run the kernels, forgives what a compiler does not. Run in a process of its
own, as Triton asks once whether to interpret.
"""

import inspect
import sys
from typing import Any

import torch
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction

from gridsum.config.fields import override
from gridsum.config.paper import Config
from gridsum.config.variants import variant
from gridsum.data.streams import Stream
from gridsum.model.rollout import Start, unroll
from gridsum.ops.grids import GridSize
from gridsum.training.gradients import part_gradient
from gridsum.training.loop import Fleet

# Compute capability 9.0, of an H100 or H200.
TARGET = GPUTarget("cuda", 90, 32)
OPTIONS = ("num_warps", "num_stages", "maxnreg")
KINDS = {
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "i1",
}
compiled = set()


def compile_only(kernel, *arguments, grid, warmup, **named):  # noqa: ARG001
    """In the place of a launch: the kernel for arguments like these; what it would have written stays as it is."""
    options = {name: named.pop(name) for name in OPTIONS if name in named}
    parameters = inspect.signature(kernel.fn).parameters
    bound = dict(zip(parameters, arguments, strict=False)) | named
    constant = {name: bound[name] for name, kind in parameters.items() if "constexpr" in str(kind.annotation)}
    signature, aligned = {}, {}
    for index, name in enumerate(kernel.arg_names):
        value = bound[name]
        if name in constant:
            signature[name] = "constexpr"
        elif isinstance(value, torch.Tensor):
            signature[name] = f"*{KINDS[value.dtype]}"
            aligned[index,] = [["tt.divisibility", 16]]
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
    places = {(kernel.arg_names.index(name),): value for name, value in constant.items()}
    key = (kernel.__name__, str(signature), str(places), str(options))
    if key not in compiled:
        compiled.add(key)
        backend: Any = make_backend(TARGET)
        known, context = backend.parse_options(options), ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        written = ASTSource(kernel, signature, places, aligned)
        # The first stage: it checks names, shapes and kinds, in a second. The rest takes a minute a kernel.
        written.make_ir(TARGET, known, backend.get_codegen_implementation(known), backend.get_module_map(), context)


def main() -> None:
    launches: Any = JITFunction
    launches.run = compile_only
    for name in sys.argv[1:]:
        config = override(variant(name), {"training.batch": 4, "model.max_steps": 2, "training.precision": "fp32"})
        for reduced in (True, False):
            compile_variant(config, reduced)
        compile_solving(config)
    sys.stdout.write(f"{len(compiled)} kernels: {', '.join(sorted({key[0] for key in compiled}))}\n")


def compile_variant(config: Config, reduced: bool) -> None:
    """In bf16 as a GPU has it if `reduced`, else in fp32."""
    fleet = Fleet(config, (0, 1), torch.device("cpu"))
    steps = None if config.model.halting == "fixed" else config.model.max_steps
    torch.backends.cuda.matmul.allow_tf32 = reduced
    torch.set_autocast_enabled("cuda", reduced)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16, enabled=reduced):
        part_gradient(fleet.network, config, Stream.of_seeds((0, 1)), 1, steps, static=True, form="triton")


def compile_solving(config: Config) -> None:
    """A grid that is larger than those of training: its placement, and a step."""
    network, size = Fleet(config, (0, 1), torch.device("cpu")).network, GridSize(3, 300)
    symbols = torch.ones(2, 1, 3, dtype=torch.int64)
    with torch.no_grad():
        list(unroll(Start(network, symbols, size, 1, form="triton")))


if __name__ == "__main__":
    main()
