"""A neural network that does column addition on a grid: solve sums with it, train it, measure it, and see it work.

'gridsum COMMAND --help' says more about each.

examples:
  gridsum solve 523+102+9416
  gridsum train --variant exact --setting small --out runs/small
  gridsum evaluate --model base noGroups --suite 2x100 --out records.jsonl
  gridsum table scores --records records.jsonl
"""

# This file imports nothing heavy and each command is a module of its own, so that help and mistyped commands are
# answered at once and a command loads only what it needs.

import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from gridsum.cli.options import Parser, UsageError
from gridsum.cli.output import print_text
from gridsum.io.names import MODELS, did_you_mean, printable
from gridsum.io.signals import Stopped, stoppable
from gridsum.io.version import __version__

GROUPS = {
    "use trained networks": {
        "solve": "answer sums, or show step by step how they are worked out",
        "models": "list the models that come with gridsum, and what each is for",
        "serve": "open a page on which the network can be watched at work",
        "page": "write the page as files that run anywhere, without a server",
        "export": "write a model for the Hugging Face Hub, as ONNX, or as JSON",
    },
    "look at what they do, and why it is right": {
        "figure": "draw a figure of the paper or of one sum, or make a film of it",
        "rule": "show the rule that a network of bits has learned, as a table",
        "prove": "check that a learned rule is right for problems of any size",
    },
    "train networks of your own, and measure them": {
        "train": "train networks from one or several seeds; resume if interrupted",
        "watch": "show the progress of a training run, a reproduction or a sweep",
        "evaluate": "measure models on suites of problems, with intervals",
        "table": "print a table of the paper from the records of evaluations",
    },
    "run whole studies, here or on a cluster": {
        "reproduce": "reproduce the paper, from training to the report",
        "sweep": "train many configurations, on this machine or on a cluster",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}

USAGE, INTERRUPTED, BROKEN_PIPE, STOPPED, FAILED = 2, 130, 141, 143, 1
"""Exit statuses; those of an interrupt, a closed pipe and a signal to stop are what a shell reports for them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    # Python has no streams where they are closed; a letter that a terminal cannot show, such as λ, becomes a '?'.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    keep_freed_memory_for_a_while()
    status = 0
    try:
        with stoppable(), suppress(SystemExit):  # argparse has printed help
            status = _dispatch(list(sys.argv[1:] if argv is None else argv))
        print_text("")
        return status
    except KeyboardInterrupt as stop:
        _close_quietly()
        return STOPPED if isinstance(stop, Stopped) else INTERRUPTED
    except BrokenPipeError:
        _close_quietly()
        return BROKEN_PIPE
    except OSError as error:
        return _complain(_explain(error), USAGE)
    except (ValueError, RuntimeError, MemoryError, OverflowError) as error:
        if _out_of_memory(error):
            return _complain("there is not enough memory for this; ask for less at once", FAILED)
        if type(error).__module__.split(".")[0] != "gridsum":
            raise  # the errors that gridsum defines are written for users; any other is a bug and keeps its traceback
        return _complain(str(error), USAGE if isinstance(error, ValueError) else FAILED)


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        return run(*arguments)
    if arguments and not arguments[0].startswith("-"):
        hint = did_you_mean(arguments[0], COMMANDS, f"the commands are {', '.join(COMMANDS)}")
        if arguments[0][0].isdecimal() or arguments[0] in MODELS:
            given = arguments[0] if arguments[0][0].isdecimal() else f"--model {arguments[0]} 12+34"
            hint = f"to solve a sum, write: gridsum solve {given}"
        raise UsageError(f"unknown command {arguments[0]!r}; {hint}")
    parser = Parser("", __doc__ or "", arguments)
    parser.explain(GROUPS)
    parser.option("--version", "show the version and exit")
    if parser.read().version:
        print_text(f"gridsum {__version__}\n")
        return 0
    sys.stderr.write(parser.format_help())
    return USAGE


def run(name: str, *arguments: str) -> int:
    """A command with its arguments. It returns its status, where that is not 0."""
    options = parser_of(name, arguments).read()
    try:
        return importlib.import_module(f"gridsum.cli.{name}").run(options) or 0
    except OSError as error:
        error.filename = error.filename or getattr(options, "out", None)
        raise


def parser_of(name: str, arguments: Sequence[str] = ()) -> Parser:
    """What reads the arguments of a command, and knows its help."""
    command = importlib.import_module(f"gridsum.cli.{name}")
    parser = Parser(name, command.__doc__ or "", arguments)
    command.add_options(parser)
    return parser


def keep_freed_memory_for_a_while() -> None:
    """To be called before torch is loaded: built for ARM, it has an allocator of its own, which gives memory back 10 ms
    after it is freed. Elsewhere see `gridsum.training.process`."""
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")


_NO_MEMORY = re.compile(
    r"(not enough|out of|allocate) memory|cannot allocate|DefaultCPUAllocator|multiplication overflow"
    r"|storage size calculation overflowed|invalid buffer size",
    re.IGNORECASE,
)


def _out_of_memory(error: Exception) -> bool:
    # Torch has a class of its own for a GPU's memory, and for the CPU's a plain RuntimeError whose words differ from
    # system to system. A size that does not even fit an integer overflows.
    if isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)):
        return True
    return isinstance(error, MemoryError | OverflowError) or type(error).__name__ == "OutOfMemoryError"


_HINTS = {
    errno.ENOENT: "check the path",
    errno.ENOSPC: "make room, or choose another place",
    errno.EEXIST: "that is a file; name a folder",
    errno.ENOTDIR: "a file stands where a folder is needed; choose another place",
}


def _explain(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    what = error.strerror or str(error)
    return f"{where}{what[:1].lower()}{what[1:]}; {_HINTS.get(error.errno or 0, 'choose another place')}"


def _complain(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        _close_quietly()  # it may be stdout that cannot be written
    sys.stderr.write(f"gridsum: error: {printable(message)}\n")
    return status


def _close_quietly() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not raise again when Python exits."""
    with suppress(OSError, ValueError):  # stdout may have been replaced by something without a descriptor
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
