"""Options: how they are declared, read and explained when they are wrong."""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from gridsum.io.names import DEFAULT_MODEL, did_you_mean, meant, resolve

_SEED_LIMIT = 2**63
_HALTING = ("sampled", "median", "fixed")
_PLACEMENT = ("auto", "soft", "hard")
HELP_WIDTH = 79


class UsageError(ValueError):
    """Something that the user can mend; the message says how."""


class Parser(argparse.ArgumentParser):
    """argparse, but mistakes are raised as `UsageError`, and a wrong option is told the nearest right one."""

    def __init__(self, command: str, description: str, usage: str, epilog: str) -> None:
        super().__init__(
            prog=f"gridsum {command}".strip(),
            usage=usage,
            description=textwrap.fill(description, HELP_WIDTH),
            epilog=epilog,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=26),
            allow_abbrev=False,
            add_help=False,
        )
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help and exit")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        # A number with a sign is never an option: behind a space, argparse takes it for the value it is.
        shielded = [f" {text}" if re.match(r"-[\d.]", text) else text for text in arguments]
        options, unknown = self.parse_known_intermixed_args(shielded)
        if unknown:
            raise UsageError(self._explain(unknown))
        return options

    def _explain(self, unknown: list[str]) -> str:
        option = next((text for text in unknown if text.startswith("-")), None)
        if option is None:
            return f"{unknown[0].strip()!r} is one argument too many (see {self.prog} --help)"
        name = option.split("=")[0]
        mend = did_you_mean(name, self._option_string_actions, f"see {self.prog} --help")
        return f"there is no option {name}; {mend}"


def columns(meanings: Mapping[str, str], indent: int = 2, width: int | None = None) -> str:
    """Names and what they mean, one a line, or folded to a width."""
    wide = max(map(len, meanings)) + 2
    lines = (f"{'':{indent}}{name:<{wide}}{meaning}" for name, meaning in meanings.items())
    if width is None:
        return "\n".join(lines)
    return "\n".join(textwrap.fill(line, width, subsequent_indent=" " * (indent + wide)) for line in lines)


def one_of(what: str, known: Sequence[str], aliases: dict[str, str] | None = None) -> Callable[[str], str]:
    """A name out of a few; `aliases` are what people write instead, each with what it should be."""

    def read(text: str) -> str:
        if text in known:
            return text
        advice = f"use {', '.join(known[:-1])} or {known[-1]}"
        usual = (aliases or {}).get(text.lower())
        mend = meant(usual, advice) if usual else did_you_mean(text, known, advice)
        raise argparse.ArgumentTypeError(f"there is no {what} {text!r}; {mend}")

    return read


def whole_number(low: int, below: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        # Not int() alone, which takes 1_0 and the digits of other scripts; 40 digits are beyond any limit.
        if re.fullmatch(r"[0-9]{1,40}", text) and low <= int(text) < below:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a whole number from {low} to {below - 1}")

    return read


def seconds(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text) and float(text) > 0:
        return float(text)
    raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a length of time; write a number such as 2.5")


def device_name(text: str) -> str:
    if re.fullmatch(r"cuda:[0-9]+", text):
        return text
    return one_of("device", ("auto", "cpu", "cuda"), {"gpu": "cuda", "nvidia": "cuda"})(text)


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


def add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--seed", type=whole_number(0, _SEED_LIMIT), default=0, metavar="N", help=f"{what} (default: 0)"
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """How a network halts and how its input is placed. The names stand here too, to be told without torch."""
    parser.add_argument(
        "--halting",
        type=one_of("halting rule", _HALTING),
        metavar="RULE",
        help="when to stop. sampled: at step n with probability λ_n, as the paper does (seeded); median: at "
        "the first step where having halted is more likely than not; fixed: after the number of steps the "
        "model was trained with (default: what the model was trained for: fixed or sampled)",
    )
    parser.add_argument(
        "--placement",
        type=one_of("placement", _PLACEMENT),
        default="auto",
        metavar="RULE",
        help="how symbols get onto the grid. soft: spread as the action probabilities say, as in training; "
        "hard: by the most probable action, in time linear in the length; auto: soft, but hard for sums too "
        "long for it (default: auto)",
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


def task_name(text: str) -> str:
    """The name of a task that there is."""
    from gridsum.tasks import TaskError, find

    try:
        return find(text).name
    except TaskError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_model(parser: argparse.ArgumentParser, default: str = DEFAULT_MODEL) -> None:
    parser.add_argument(
        "--model",
        default=default,
        metavar="MODEL",
        help="a shipped model's name (see gridsum models), the folder of one trained seed, or a weights file "
        f"(default: {default})",
    )


def pick_device(name: str) -> Any:
    """The torch device of a name that `device_name` let pass."""
    from gridsum.ops.devices import pick_device as pick

    try:
        return pick(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_halting(network: Any, rule: str | None, model: str) -> None:
    from gridsum.model.inference import check_rule

    if rule is not None:
        try:
            check_rule(network, rule)
        except ValueError as error:
            raise UsageError(f"{model}: {error}") from None


def called_now(name: str) -> str:
    """The name that a model has now; a person who uses another one is told."""
    model, note = resolve(name)
    if note:
        sys.stderr.write(f"gridsum: {note}\n")
    return model


def load_single(name: str, device: str) -> Any:
    """The model of one run that `name` means; of several, the user has to choose."""
    from gridsum.model.store import load_runs, locate

    name = called_now(name)
    paths = locate(name)
    if len(paths) > 1:
        folders = [str(path.parent) for path in paths]
        shown = ", ".join(folders[:12]) + (f" and {len(folders) - 12} more" if len(folders) > 12 else "")
        raise UsageError(f"{name} holds {len(paths)} trained seeds; choose one with --model: {shown}")
    return load_runs(name, paths, pick_device(device))


def folder_name(text: str) -> str:
    """The name of a folder as an option's value; what is kept elsewhere has to be mounted as one."""
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is an address, and a folder is wanted; mount that storage as one")
    return text


def _workers_name(text: str) -> str:
    """Who does pieces: a cluster's address, or a number of processes."""
    kind, _, most = text.partition(":")
    if kind == "processes" and not (most.isdecimal() and int(most) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} does not say how many processes; write processes:4 for four")
    return text


def add_cluster(parser: Parser) -> None:
    """Options for work in pieces that several machines can do."""
    parser.add_argument(
        "--on",
        type=_workers_name,
        metavar="WHERE",
        help="let others do the pieces, several at once: processes:N of this machine, which share its GPU, or a Ray "
        "cluster, ray for one on this machine, ray://HOST:10001 or HOST:6379 for one elsewhere; --out must be a folder "
        "that all of them see, or an address such as s3://BUCKET/NAME (default: this process)",
    )
    parser.add_argument(
        "--gpus-per-piece",
        type=float,
        default=None,
        metavar="X",
        help="what share of a GPU a piece asks the cluster for (default: 1 where it has GPUs, else 0)",
    )
