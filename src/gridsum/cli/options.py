"""How a command reads its options: argparse, where a mistake is told the nearest right name.

A command is a module. Its docstring is its help, `add_options` says what it takes, and `run` does it. Here stand the
parser, the options that several commands share, and how values are read.
"""

import argparse
import difflib
import inspect
import re
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from gridsum.data.answers import HALTING_RULES, PLACEMENT_RULES
from gridsum.io.names import DEFAULT_MODEL, did_you_mean, meant
from gridsum.tasks import find

Options = argparse.Namespace
HELP_WIDTH = 79


class UsageError(ValueError):
    """Something that the user can mend; the message says how."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Names the default of every option that has one."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        return f"{action.metavar}..." if action.nargs == "+" else super()._format_args(action, default_metavar)

    def _get_help_string(self, action: argparse.Action) -> str:
        told, default = action.help or "", action.default
        usual = not any(default is none for none in (None, False, argparse.SUPPRESS)) and default != []
        usual = usual and "(default" not in told
        return f"{told} (default: {written(default)})".replace("%", "%%") if usual else told.replace("%", "%%")


class Parser(argparse.ArgumentParser):
    """Reads the arguments of a command. The first paragraph of `text` stands above the options, the others below."""

    def __init__(self, command: str, text: str, arguments: Sequence[str] = ()) -> None:
        above, _, below = inspect.cleandoc(text).partition("\n\n")
        super().__init__(
            prog=f"gridsum {command}".strip(),
            description=textwrap.fill(" ".join(above.split()), HELP_WIDTH),
            epilog=below,
            formatter_class=lambda prog: _Formatter(prog, max_help_position=26),
            allow_abbrev=False,
        )
        self.arguments, self._needed = list(arguments), [self.prog]
        self.usage = f"{self.prog} [options]"
        self._positionals.title = "arguments"

    def option(self, form: str, meaning: str, within: Any = None, **how: Any) -> None:
        """An option in the form that help shows: "--json", "--out FILE", "--placement soft|hard", "--model MODEL..."
        for one or more. Without dashes, "name FORM" is an argument, which may be left out unless it is `required`. What
        help calls a value says how it is read, such as FOLDER or SEEDS."""
        name, _, value = form.partition(" ")
        metavar = value.removesuffix("...")
        about: dict[str, Any] = {"metavar": metavar, "help": meaning, "type": _READERS.get(metavar)}
        if not value:
            about = {"action": "store_true", "help": meaning}
        elif "|" in value:
            about["choices"] = value.split("|")
        if not name.startswith("--"):
            about["nargs"] = "*" if value.endswith("...") else None if how.pop("required", False) else "?"
        elif value.endswith("..."):
            about |= {"nargs": "+", "action": "extend", "default": []}  # and the option may be given again
        shown = f"[{value}]" if about.get("nargs") in ("*", "?") else value
        self._needed += [shown] if not name.startswith("--") else [form] if how.get("required") else []
        self.usage = " ".join([*self._needed, "[options]"])
        (within or self).add_argument(name, **(about | how))

    def explain(self, lists: Mapping[str, Mapping[str, str]]) -> None:
        """Lists of names and what they mean, below the options."""
        wide, told = max(len(name) for names in lists.values() for name in names) + 2, ""
        for title, names in lists.items():
            lines = (f"  {name:<{wide}}{meaning}" for name, meaning in names.items())
            folded = (textwrap.fill(line, HELP_WIDTH, subsequent_indent=" " * (wide + 2)) for line in lines)
            told += "\n".join([f"{title}:", *folded, "", ""])
        self.epilog = told + (self.epilog or "")

    def read(self) -> Options:
        """What the arguments say; of a configuration's fields, those that are given are `changes`."""
        # A number with a sign is never an option: behind a space, argparse takes it for the value it is.
        shielded = [f" {text}" if re.match(r"-[\d.]", text) else text for text in self.arguments]
        options, unknown = self.parse_known_intermixed_args(shielded)
        if unknown:
            see = f"see {self.prog} --help"
            option = next((text.split("=")[0] for text in unknown if text.startswith("-")), None)
            if option is None:
                raise UsageError(f"{unknown[0].strip()!r} is one argument too many; {see}")
            # By its last part, too, and without the dashes, which would make all of them alike.
            paths = self._option_string_actions
            known = {part: path for path in paths for part in (path.strip("-"), path.split(".")[-1])}
            near = difflib.get_close_matches(option.strip("-"), known, n=1, cutoff=0.5)
            raise UsageError(f"unknown option {option}; {meant(known[near[0]], see) if near else see}")
        found = vars(options)
        changes = {path[1:]: found.pop(path) for path in list(found) if path.startswith(".")}
        return Options(**found, changes=changes, command=[*self.prog.split(), *self.arguments])

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return action.type(arg_string) if callable(action.type) else arg_string
        except ValueError as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            *others, last = action.choices
            hint = did_you_mean(value, action.choices, f"use {', '.join(others)} or {last}")
            what = action.dest if "|" in str(action.metavar) else str(action.metavar).lower()
            raise argparse.ArgumentError(action, f"unknown {what} {value!r}; {hint}")


def add_fields(parser: Parser, config: Any) -> None:
    """An option for every field of a configuration, such as --training.epochs 3."""
    from gridsum.config.fields import describe_type, fields_of

    sections: dict[str, Any] = {}
    for path, leaf in fields_of(config).items():
        section, _, name = path.partition(".")
        if path == "task.name" or not name:
            continue  # the variant and the task have options of their own, which choose the other fields' defaults
        if section not in sections:
            told = textwrap.fill(getattr(config, section).__doc__, HELP_WIDTH - 2)
            sections[section] = parser.add_argument_group(section, told)
        # A sentence as a phrase; a symbol such as R_H keeps its capital.
        told = (leaf.meaning[0].lower() + leaf.meaning[1:] if leaf.meaning[1:2].islower() else leaf.meaning).rstrip(".")
        value, kind = describe_type(leaf.type)
        told = f"{told}; {kind} (default: {written(leaf.value)})"
        parser.option(f"--{path} {value}", told, sections[section], dest=f".{path}", default=argparse.SUPPRESS)


def written(value: Any) -> str:
    """A value as its option takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(float(f"{value:.12g}"))
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def add_device(parser: Parser, default: str = "auto") -> None:
    told = "; the CPU starts faster and is quick enough for all but very long sums" if default == "cpu" else ""
    told = f"auto (a GPU if there is one), cpu, cuda or cuda:N{told}"
    parser.option("--device DEVICE", told, default=default)


def add_model(parser: Parser, form: str = "--model MODEL", within: Any = None) -> None:
    told = "a shipped model's name (see gridsum models), the folder of one trained seed, a weights file, or a rule.json"
    parser.option(form, told, within, default=DEFAULT_MODEL)


def add_rules(parser: Parser, seed: str = "random seed for sampled halting") -> None:
    """How a network halts and how its input is placed."""
    halting = {rule: meaning for rules in HALTING_RULES.values() for rule, meaning in rules.items()}
    when, how = ("; ".join(f"{rule}: {told}" for rule, told in rules.items()) for rules in (halting, PLACEMENT_RULES))
    default = "default: what the model was trained for: fixed or sampled"
    parser.option(f"--halting {'|'.join(halting)}", f"when to stop. {when} ({default})")
    told = f"how symbols get onto the grid. {how}"
    parser.option(f"--placement {'|'.join(PLACEMENT_RULES)}", told, default="auto")
    parser.option("--seed N", seed, type=whole_number(0, 2**63), default=0)


def add_jobs(parser: Parser) -> None:
    """Work in jobs that several machines can do."""
    parser.option(
        "--on WHERE",
        "run several jobs at once: in processes:N on this machine, which share its GPU, or on a Ray cluster (ray "
        "for one on this machine, ray://HOST:10001 or HOST:6379 for one elsewhere); all of them must see the "
        "folder --out (default: this process)",
    )
    told = "the share of a GPU that a job asks the cluster for (default: 1 where it has GPUs, else 0)"
    parser.option("--gpus-per-job X", told, type=float)
    add_device(parser)


def go_on(options: Options) -> str:
    return f"; what is done is kept; go on with: {shlex.join(options.command)}"


def whole_number(low: int, below: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        # Not int() alone, which takes 1_0 and the digits of other scripts; 40 digits are beyond any limit.
        if re.fullmatch(r"[0-9]{1,40}", text) and low <= int(text) < below:
            return int(text)
        raise UsageError(f"{text.strip()!r} is not a whole number from {low} to {below - 1}")

    return read


def device(text: str) -> str:
    if re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", text):
        return text
    raise UsageError(f"unknown device {text!r}; use auto, cpu, cuda for a GPU, or cuda:0 for the first of several")


def folder(text: str) -> str:
    if "://" in text:
        raise UsageError(f"{text!r} is an address, and a folder is wanted; mount that storage as one")
    return text


def seeds(text: str) -> tuple[int, ...]:
    from gridsum.config.fields import seeds_of

    return seeds_of(text)


def workers(text: str) -> str:
    kind, _, most = text.partition(":")
    if kind == "processes" and not (most.isdecimal() and int(most) > 0):
        raise UsageError(f"{text!r} does not say how many processes; write processes:4 for four")
    if not re.fullmatch(r"processes:\d+|ray|(ray://)?\S+:\d+", text):
        raise UsageError(f"unknown workers {text!r}; there are processes:4, ray, ray://HOST:10001 and HOST:6379")
    return text


_READERS = {"DEVICE": device, "FOLDER": folder, "SEEDS": seeds, "TASK": lambda text: find(text).name, "WHERE": workers}
"""By what help calls a value, how it is read; another is text, unless its option says `type`. What is raised becomes
the parser's own message."""
