"""Options as commands declare them that are not yet a dataclass (see `gridsum.cli.options`)."""

import argparse
from typing import Any

from gridsum.cli import options as declared
from gridsum.cli.options import HELP_WIDTH, UsageError, columns, one_of
from gridsum.cli.options import _device as device_name
from gridsum.cli.options import _folder as folder_name
from gridsum.cli.options import _seconds as seconds
from gridsum.cli.options import _task as task_name

__all__ = ["HELP_WIDTH", "UsageError", "columns", "folder_name", "one_of", "seconds"]


def whole_number(low: int, below: int) -> Any:
    return declared.whole_number(low, below).read


class Parser(declared.Parser):
    def __init__(self, command: str, description: str, usage: str, epilog: str) -> None:
        super().__init__(command, description, epilog)
        self.usage = usage


def add_device(parser: argparse.ArgumentParser, default: str, why: str = "") -> None:
    parser.add_argument(
        "--device",
        type=device_name,
        default=default,
        metavar="DEVICE",
        help=f"auto (a GPU if there is one), cpu, cuda or cuda:N{why} (default: {default})",
    )


def add_commit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--commit",
        metavar="HASH",
        help="the commit that records name (default: that of the checkout the code runs from, if it is one)",
    )


def add_reading(parser: argparse.ArgumentParser, more: str = "") -> None:
    from gridsum.config.variants import READINGS

    parser.add_argument(
        "--reading",
        type=one_of("reading", tuple(READINGS)),
        metavar="NAME",
        help="read what the paper leaves open in another way than its published code does: text follows the words of "
        f"the paper alone{more}",
    )


def add_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task",
        type=task_name,
        metavar="TASK",
        help="what to learn: add, add:base=B (2 to 36), subtract, or a task of an installed package (default: add)",
    )


def pick_device(name: str) -> Any:
    """The torch device of a name that `device_name` let pass."""
    from gridsum.ops.devices import pick_device as pick

    try:
        return pick(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def called_now(name: str) -> str:
    """The name that a model has now; a person who uses another one is told."""
    return name


def load_single(name: str, device: str) -> Any:
    """The model of one run that `name` means; of several, the user has to choose."""
    from gridsum.model.paper import Network
    from gridsum.model.store import load_runs, locate

    name = called_now(name)
    paths = locate(name)
    if len(paths) > 1:
        folders = [str(path.parent) for path in paths]
        shown = ", ".join(folders[:12]) + (f" and {len(folders) - 12} more" if len(folders) > 12 else "")
        raise UsageError(f"{name} holds {len(paths)} trained seeds; choose one with --model: {shown}")
    return load_runs(name, paths, pick_device(device), Network)


def _workers_name(text: str) -> str:
    """Who does jobs: a cluster's address, or a number of processes."""
    kind, _, most = text.partition(":")
    if kind == "processes" and not (most.isdecimal() and int(most) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} does not say how many processes; write processes:4 for four")
    return text


def add_cluster(parser: Parser) -> None:
    """Options for jobs that several machines can do."""
    parser.add_argument(
        "--on",
        type=_workers_name,
        metavar="WHERE",
        help="let others do the jobs, several at once: processes:N of this machine, which share its GPU, or a Ray "
        "cluster, ray for one on this machine, ray://HOST:10001 or HOST:6379 for one elsewhere; --out must be a folder "
        "that all of them see, or an address such as s3://BUCKET/NAME (default: this process)",
    )
    parser.add_argument(
        "--gpus-per-job",
        type=float,
        default=None,
        metavar="X",
        help="what share of a GPU a job asks the cluster for (default: 1 where it has GPUs, else 0)",
    )
