"""A command's options are the fields of a dataclass: types say how values are read, and wrong ones get a hint.

The docstring of the class is the command's help: its first paragraph stands above the options, the rest below. Fields
made by `option`, `required`, `flag` and `several` are options; those with `argument=True` have no dashes. What
commands share are classes to inherit from. A class with a `configuration` offers its fields as well, and gets those
that are given as `changes`; a field `arguments` gets the command line as it stands.
"""

import argparse
import dataclasses
import inspect
import re
import shlex
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, TypeVar

from gridsum.io.names import DEFAULT_MODEL, MODELS, did_you_mean, meant

Options = TypeVar("Options")
HELP_WIDTH = 79
# What a model's name belongs to, and what people write by habit.
_NAMED = ("--variant", "--model", "--records")
_USUAL = {
    "--lr": "--training.learning_rate",
    "--small": "--setting small",
    "--gpu": "--device cuda",
    "-m": "--model",
    "-o": "--out",
}


class UsageError(ValueError):
    """Something that the user can mend; the message says how."""


class Value(NamedTuple):
    """What help calls a value, and how it is read from text."""

    metavar: str
    read: Callable[[str], Any] = str


def option(meaning: str, default: Any = None, argument: bool = False, instead_of: str = "") -> Any:
    """A field that is an option. Those that name the same `instead_of` exclude each other."""
    about = {"meaning": meaning, "argument": argument, "instead_of": instead_of}
    return dataclasses.field(default=default, metadata=about)


def required(meaning: str, argument: bool = False) -> Any:
    return option(meaning, MISSING, argument)


def flag(meaning: str, instead_of: str = "") -> Any:
    return option(meaning, False, instead_of=instead_of)


def several(meaning: str, argument: bool = False) -> Any:
    """One or more values; an option may also be given more than once."""
    return option(meaning, (), argument)


def read(options: type[Options], arguments: Sequence[str]) -> Options:
    """The options that a command line gives; a mistake is a `UsageError`."""
    found = vars(parser_of(options, arguments).read(arguments))
    changes = {path[1:]: found.pop(path) for path in list(found) if path.startswith(".")}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    more = {"changes": changes, "arguments": tuple(arguments)}
    return options(**values, **{name: more[name] for name in more if name in vars(options)["__dataclass_fields__"]})


def parser_of(options: type[Any], arguments: Sequence[str] = ()) -> "Parser":
    """What reads a command line, and knows its help."""
    command = options.__module__.removeprefix("gridsum.cli").strip(".")
    description, _, below = inspect.cleandoc(options.__doc__ or "").partition("\n\n")
    listed: dict[str, Mapping[str, str]] = getattr(options, "lists", {})
    wide = max((len(name) for names in listed.values() for name in names), default=0)
    lists = "".join(f"{title}:\n{columns(names, width=HELP_WIDTH, wide=wide)}\n\n" for title, names in listed.items())
    parser = Parser(command, " ".join(description.split()), lists + below)
    hints = typing.get_type_hints(options, include_extras=True)
    exclusive: dict[str, Any] = {}
    # The command's own options first, then those of the classes that it inherits from, in their order.
    order = [name for each in options.__mro__ for name in inspect.get_annotations(each)]
    for item in sorted(dataclasses.fields(options), key=lambda item: order.index(item.name)):
        if "meaning" in item.metadata:
            group = item.metadata.get("instead_of", "")
            if group and group not in exclusive:
                exclusive[group] = parser.add_mutually_exclusive_group()
            _add(exclusive.get(group, parser), item, hints[item.name])
    positional = [action for action in parser._actions if not action.option_strings]
    needed = [
        f"{action.option_strings[0]} {action.metavar}"
        for action in parser._actions
        if action.option_strings and action.required
    ]
    written_as = {None: "{}", "?": "[{}]", "*": "[{}...]"}
    shown = [written_as[action.nargs].format(action.metavar) for action in positional]
    start = parser.prog if command else "gridsum COMMAND"
    parser.usage = " ".join([start, *shown, *needed, "[options]"])
    if hasattr(options, "configuration"):
        add_fields(parser, options.configuration(arguments))
    return parser


def _add(parser: Any, item: "dataclasses.Field[Any]", hint: Any) -> None:
    """One field as an option or argument."""
    argument, default = item.metadata.get("argument", False), item.default
    told = item.metadata["meaning"].replace("%", "%%")
    name = item.name if argument else "--" + item.name.replace("_", "-")
    if hint is bool:
        parser.add_argument(name, action="store_true", default=argparse.SUPPRESS, help=told)
        return
    many = typing.get_origin(hint) is tuple
    value = _value_of(typing.get_args(hint)[0] if many else hint, item)
    if default not in (None, MISSING, ()) and "(default" not in told:
        told += f" (default: {default})"
    how: dict[str, Any] = {"type": value.read, "metavar": value.metavar, "default": argparse.SUPPRESS, "help": told}
    if many:
        how |= {"nargs": "*"} if argument else {"nargs": "+", "action": "extend"}
    elif argument and default is not MISSING:
        how["nargs"] = "?"
    if not argument:
        how |= {"dest": item.name, "required": default is MISSING}
    parser.add_argument(name, **how)


def _value_of(hint: Any, item: "dataclasses.Field[Any]") -> Value:
    """How a field's type is read."""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    if typing.get_origin(hint) is Literal:
        return Value("|".join(parts), one_of(item.name, parts))
    if hint is int:
        return whole_number(item.metadata.get("least", 1), item.metadata.get("most", 2**31 - 1) + 1)
    return _value_of(parts[0], item) if parts else Value("NAME")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        return f"{action.metavar}..." if action.nargs == "+" else super()._format_args(action, default_metavar)


class Parser(argparse.ArgumentParser):
    """argparse, but mistakes are raised as `UsageError`, and a wrong option is told the nearest right one."""

    def __init__(self, command: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=f"gridsum {command}".strip(),
            description=textwrap.fill(description, HELP_WIDTH),
            epilog=epilog,
            formatter_class=lambda prog: _Formatter(prog, max_help_position=26),
            allow_abbrev=False,
            add_help=False,
        )
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", default=argparse.SUPPRESS, help="show this help and exit")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return action.type(arg_string) if callable(action.type) else arg_string
        except ValueError as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        # A number with a sign is never an option: behind a space, argparse takes it for the value it is.
        shielded = [f" {text}" if re.match(r"-[\d.]", text) else text for text in arguments]
        options, unknown = self.parse_known_intermixed_args(shielded)
        if unknown:
            raise UsageError(self._explain(unknown))
        return options

    def _explain(self, unknown: list[str]) -> str:
        known, see = self._option_string_actions, f"see {self.prog} --help"
        option = next((text for text in unknown if text.startswith("-")), None)
        if option is None:
            text = unknown[0].strip()
            kinds = {"--seeds": r"\d+", "--suite": r"([^:]+:)?[\d\[].*x.*", **dict.fromkeys(_NAMED, "|".join(MODELS))}
            meant_as = next((name for name, form in kinds.items() if name in known and re.fullmatch(form, text)), None)
            write = {None: see, "--seeds": "write several seeds as 0,1,2 or 0-2"}
            return f"{text!r} is one argument too many; {write.get(meant_as, f'write {meant_as} {text}')}"
        name = option.split("=")[0]
        usual = _USUAL.get(name, "").split(" ")[0] in known and _USUAL[name]
        leaf = next((path for path in known if path.endswith(f".{name.strip('-')}")), None)
        if usual or leaf:
            return f"unknown option {name}; {meant(usual or leaf or '', see)}"
        # Without the dashes, which would make all of them alike.
        hint = did_you_mean(name.strip("-"), [path.strip("-") for path in known], see)
        return f"unknown option {name}; " + re.sub(r"^did you mean '(.+?)'", r"did you mean --\1", hint)


def columns(meanings: Mapping[str, str], indent: int = 2, width: int | None = None, wide: int = 0) -> str:
    """Names and what they mean, one a line, or folded to a width."""
    wide = max(wide, *map(len, meanings)) + 2
    lines = (f"{'':{indent}}{name:<{wide}}{meaning}" for name, meaning in meanings.items())
    if width is None:
        return "\n".join(lines)
    return "\n".join(textwrap.fill(line, width, subsequent_indent=" " * (indent + wide)) for line in lines)


def add_fields(parser: Parser, config: Any) -> None:
    """An option for every field of a configuration, such as --training.epochs 3; `read` gives them as `changes`."""
    from gridsum.config.fields import describe_type, fields_of

    sections: dict[str, argparse._ArgumentGroup] = {}
    for path, leaf in fields_of(config).items():
        section, _, name = path.partition(".")
        if path == "task.name" or not name:
            continue  # the variant and the task have options of their own, which choose the other fields' defaults
        if section not in sections:
            sections[section] = parser.add_argument_group(section, textwrap.fill(leaf.section, HELP_WIDTH - 2))
        told = f"{_as_phrase(leaf.meaning)}; {describe_type(leaf.type)} (default: {written(leaf.value)})"
        how: dict[str, Any] = {"dest": f".{path}", "metavar": _metavar(leaf.type), "default": argparse.SUPPRESS}
        sections[section].add_argument(f"--{path}", help=told.replace("%", "%%"), **how)


def _as_phrase(sentence: str) -> str:
    """A sentence as the beginning of an option's help; a symbol such as R_H keeps its capital."""
    return (sentence[0].lower() + sentence[1:] if sentence[1:2].islower() else sentence).rstrip(".")


def _metavar(hint: Any) -> str:
    if typing.get_origin(hint) is tuple:
        return "N,..." if Ellipsis in typing.get_args(hint) else ",".join("N" for _ in typing.get_args(hint))
    return {int: "N", float: "X", bool: "BOOL"}.get(hint, "NAME")


def written(value: Any) -> str:
    """A field's value as its option takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(float(f"{value:.12g}"))
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


# How values are read. What is raised here becomes the parser's own message.


def one_of(what: str, known: Sequence[str], aliases: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """A name out of a few; `aliases` are what people write instead, each with what it should be."""

    def read(text: str) -> str:
        if text in known:
            return text
        advice = f"use {', '.join(known[:-1])} or {known[-1]}"
        usual = (aliases or {}).get(text.lower())
        hint = meant(usual, advice) if usual else did_you_mean(text, known, advice)
        raise UsageError(f"unknown {what} {text!r}; {hint}")

    return read


def whole_number(low: int, below: int) -> Value:
    def read(text: str) -> int:
        # Not int() alone, which takes 1_0 and the digits of other scripts; 40 digits are beyond any limit.
        if re.fullmatch(r"[0-9]{1,40}", text) and low <= int(text) < below:
            return int(text)
        raise UsageError(f"{text.strip()!r} is not a whole number from {low} to {below - 1}")

    return Value("N", read)


def _seconds(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text) and float(text) > 0:
        return float(text)
    raise UsageError(f"{text.strip()!r} is not a length of time; write a number such as 2.5")


def _device(text: str) -> str:
    if re.fullmatch(r"cuda:[0-9]+", text):
        return text
    if text.isdecimal():
        raise UsageError(f"{text} is a number, not a device; write cuda:{text} for that GPU")
    return one_of("device", ("auto", "cpu", "cuda"), {"gpu": "cuda", "nvidia": "cuda"})(text)


def _folder(text: str) -> str:
    if "://" in text:
        raise UsageError(f"{text!r} is an address, and a folder is wanted; mount that storage as one")
    return text


def _seeds(text: str) -> tuple[int, ...]:
    from gridsum.config.fields import seeds_of

    return seeds_of(text)


def _task(text: str) -> str:
    from gridsum.tasks import find

    return find(text).name


def _workers(text: str) -> str:
    """Who does jobs: a cluster's address, or a number of processes."""
    kind, _, most = text.partition(":")
    if kind == "processes" and not (most.isdecimal() and int(most) > 0):
        raise UsageError(f"{text!r} does not say how many processes; write processes:4 for four")
    return text


File = Annotated[str, Value("FILE")]
Folder = Annotated[str, Value("FOLDER", _folder)]
ModelName = Annotated[str, Value("MODEL")]
Records = Annotated[str, Value("RECORDS")]
Suite = Annotated[str, Value("SUITE")]
Seconds = Annotated[float, Value("SECONDS", _seconds)]
Seeds = Annotated[tuple[int, ...], Value("SEEDS", _seeds)]
TaskName = Annotated[str, Value("TASK", _task)]
Samples = Annotated[int, whole_number(1, 10**9)]
Seed = Annotated[int, whole_number(0, 2**63)]


@dataclass(frozen=True, kw_only=True)
class OnDevice:
    device: Annotated[str, Value("DEVICE", _device)] = option(
        "auto (a GPU if there is one), cpu, cuda or cuda:N", "auto"
    )


@dataclass(frozen=True, kw_only=True)
class OnCpu(OnDevice):
    device: Annotated[str, Value("DEVICE", _device)] = option(
        "auto (a GPU if there is one), cpu, cuda or cuda:N; the CPU starts faster and is quick enough for all but very "
        "long sums",
        "cpu",
    )


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a network halts and how its input is placed. The names stand here too, to be told without torch."""

    halting: Literal["sampled", "median", "fixed"] | None = option(
        "when to stop. sampled: at step n with probability λ_n, as the paper does (seeded); median: at the first step "
        "where having halted is more likely than not; fixed: after the number of steps the model was trained with "
        "(default: what the model was trained for: fixed or sampled)"
    )
    placement: Literal["auto", "soft", "hard"] = option(
        "how symbols get onto the grid. soft: spread as the action probabilities say, as in training; hard: by the "
        "most probable action, in time linear in the length; auto: soft, but hard for sums too long for it",
        "auto",
    )
    seed: Seed = option("random seed for sampled halting", 0)


@dataclass(frozen=True, kw_only=True)
class OneModel:
    model: ModelName = option(
        "a shipped model's name (see gridsum models), the folder of one trained seed, or a weights file", DEFAULT_MODEL
    )


@dataclass(frozen=True, kw_only=True)
class Jobs(OnDevice):
    """Work in jobs that several machines can do."""

    on: Annotated[str | None, Value("WHERE", _workers)] = option(
        "let others do the jobs, several at once: processes:N of this machine, which share its GPU, or a Ray cluster, "
        "ray for one on this machine, ray://HOST:10001 or HOST:6379 for one elsewhere; --out must be a folder that all "
        "of them see (default: this process)"
    )
    gpus_per_job: Annotated[float | None, Value("X", float)] = option(
        "what share of a GPU a job asks the cluster for (default: 1 where it has GPUs, else 0)"
    )
    arguments: tuple[str, ...] = ()

    def go_on(self, command: str) -> str:
        return f"what is done is kept; go on with: {shlex.join(['gridsum', command, *self.arguments])}"

    @contextmanager
    def working(self, command: str, out: str) -> Iterator[None]:
        """Around the jobs: who interrupts is told how to go on."""
        from gridsum.cli.output import tell, unwritable

        try:
            yield
        except KeyboardInterrupt:
            tell(f"gridsum: stopped; {self.go_on(command)}")
            raise
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(error.filename or out, error) from None
