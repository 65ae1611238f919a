"""An option for every field of the configuration: `--training.epochs 3`."""

import argparse
import textwrap
import typing
from typing import Any

from gridsum.cli.parsing import HELP_WIDTH, Parser
from gridsum.config.fields import describe_type, fields_of, meanings_of
from gridsum.config.paper import Config
from gridsum.config.variants import VARIANTS

# The variant and the task have options of their own, which choose the other fields' defaults.
_NOT_OFFERED = {"variant", "setting", "task", "task.name"}
_DESTINATION = "field:"


def add_overrides(parser: Parser, config: Any = None) -> None:
    """Options for the fields of a configuration, the paper's by default."""
    config = config or Config()
    meanings = meanings_of(config)
    sections: dict[str, argparse._ArgumentGroup] = {}
    for path, (hint, value) in fields_of(config).items():
        if path in _NOT_OFFERED:
            continue
        section = path.split(".")[0]
        if section not in sections:
            sections[section] = parser.add_argument_group(section, textwrap.fill(meanings[section], HELP_WIDTH - 2))
        sections[section].add_argument(
            f"--{path}",
            dest=_DESTINATION + path,
            metavar=_metavar(hint),
            default=argparse.SUPPRESS,
            help=f"{_as_phrase(meanings[path])}; {describe_type(hint)} (default: {_written(value)})",
        )


def overridden(options: argparse.Namespace) -> dict[str, Any]:
    """The fields that the options name."""
    return {
        key.removeprefix(_DESTINATION): value for key, value in vars(options).items() if key.startswith(_DESTINATION)
    }


def variants_text() -> str:
    """What each variant changes, for the help."""
    lines = []
    for name, changes in VARIANTS.items():
        what = ", ".join(f"--{path} {_written(value)}" for path, value in changes.items())
        first, later = f"  {name:<11}", " " * 13
        lines.append(textwrap.fill(what or "the defaults", HELP_WIDTH, initial_indent=first, subsequent_indent=later))
    return "\n".join(lines)


def _as_phrase(sentence: str) -> str:
    """A sentence as the beginning of an option's help; a symbol such as R_H keeps its capital."""
    if sentence[1:2].islower():
        sentence = sentence[0].lower() + sentence[1:]
    return sentence.rstrip(".").replace("%", "%%")  # argparse fills in %-expressions


def _metavar(hint: Any) -> str:
    if typing.get_origin(hint) is tuple:
        return "N,..." if Ellipsis in typing.get_args(hint) else ",".join("N" for _ in typing.get_args(hint))
    return {int: "N", float: "X", bool: "BOOL"}.get(hint, "NAME")


def _written(value: Any) -> str:
    """A value as an option takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(float(f"{value:.12g}"))
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
