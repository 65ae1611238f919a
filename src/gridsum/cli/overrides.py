"""An option for every field of the configuration: `--training.epochs 3`."""

import argparse
import ast
import inspect
import textwrap
import typing
from typing import Any

from gridsum import config as config_module
from gridsum.cli.parsing import HELP_WIDTH, Parser
from gridsum.config import Config
from gridsum.fields import describe_type, fields_of, override
from gridsum.variants import VARIANTS

# The variant has an option of its own, which chooses the other fields' defaults.
_NOT_OFFERED = {"variant"}
_DESTINATION = "field:"


def add_overrides(parser: Parser) -> None:
    sections: dict[str, argparse._ArgumentGroup] = {}
    for path, (hint, value) in fields_of(Config()).items():
        if path in _NOT_OFFERED:
            continue
        section = path.split(".")[0]
        if section not in sections:
            sections[section] = parser.add_argument_group(section)
        sections[section].add_argument(
            f"--{path}",
            dest=_DESTINATION + path,
            metavar=_metavar(hint),
            default=argparse.SUPPRESS,
            help=f"{describe_type(hint)} (default: {_written(value)})",
        )


def overridden(config: Config, options: argparse.Namespace) -> Config:
    """`config` with the fields that the options name."""
    changes = {
        key.removeprefix(_DESTINATION): value for key, value in vars(options).items() if key.startswith(_DESTINATION)
    }
    return override(config, changes) if changes else config


def explain_overrides(parser: Parser) -> None:
    """Put what the configuration's source says of each field into its option's help."""
    summaries, fields = _documentation()
    sections = {name: hint.__name__ for name, (hint, _) in _sections().items()}
    for group in parser._action_groups:
        if group.title in sections:
            group.description = summaries.get(sections[group.title])
    for action in parser._actions:
        section, _, name = action.dest.removeprefix(_DESTINATION).partition(".")
        said = fields.get((sections.get(section, ""), name))
        if said and action.help and not action.help.startswith(said):
            action.help = f"{_as_phrase(said)}; {action.help}"


def variants_text() -> str:
    """What each variant changes, for the help."""
    lines = []
    for name, changes in VARIANTS.items():
        what = ", ".join(f"--{path} {_written(value)}" for path, value in changes.items())
        first, later = f"  {name:<11}", " " * 13
        lines.append(textwrap.fill(what or "the defaults", HELP_WIDTH, initial_indent=first, subsequent_indent=later))
    return "\n".join(lines)


def _sections() -> dict[str, tuple[Any, Any]]:
    return {field: (type(value), value) for field, value in vars(Config()).items() if field not in _NOT_OFFERED}


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
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _documentation() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """The docstrings of the configuration's classes, and the strings that stand below their fields."""
    summaries: dict[str, str] = {}
    fields: dict[tuple[str, str], str] = {}
    try:
        tree = ast.parse(inspect.getsource(config_module))
    except (OSError, TypeError):  # installed without its source
        return summaries, fields
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        summaries[node.name] = ast.get_docstring(node) or ""
        for field, following in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                fields[node.name, field.target.id] = " ".join(following.value.value.split())
    return summaries, fields
