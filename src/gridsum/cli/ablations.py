"""Ablations on the command line: how the help lists them, and which of them a command means."""

import argparse
import textwrap
from collections.abc import Sequence

from gridsum.ablations import ABLATIONS, Ablation, ablations_of
from gridsum.cli.parsing import HELP_WIDTH, UsageError, suggest
from gridsum.config import Config
from gridsum.fields import override
from gridsum.variants import PAPER_VARIANTS

_KINDS = {"other readings of the paper": tuple(PAPER_VARIANTS)}
"""What ablations are, and of which variants."""


def ablations_text() -> str:
    """The ablations for the help."""
    parts = [
        textwrap.fill(
            "ablations are written VARIANT-NAME, such as base-running, or NAME alone for that of all the --variants "
            "which have it:",
            HELP_WIDTH,
        )
    ]
    for what, variants in _KINDS.items():
        alike: dict[str, list[Ablation]] = {}
        for ablation in ABLATIONS.values():
            if ablation.variant in variants:
                alike.setdefault(ablation.name, []).append(ablation)
        parts += ["", f"{what}:"]
        width = max(map(len, alike)) + 4
        for name, found in alike.items():
            first = found[0]
            of = f"of {_listed([ablation.variant for ablation in found])}: " if len(variants) > 1 else ""
            changes = ", ".join(f"{path}={value}" for path, value in first.changes.items())
            text = f"{of}{first.why}" + (f" ({changes})" if changes else "")
            start = f"  {name:<{width - 2}}"
            parts.append(textwrap.fill(text, HELP_WIDTH, initial_indent=start, subsequent_indent=" " * width))
    return "\n".join(parts)


def wanted_ablations(options: argparse.Namespace) -> tuple[str, ...]:
    """Those that are named, or all of the variants asked for."""
    if options.ablations is None:
        if options.ablations_only:
            raise UsageError("--ablations-only is about ablations; say which with --ablations")
        return ()
    named = [name for text in options.ablations for name in _ablations(text, options.variants)]
    found = named or [name for variant in options.variants for name in ablations_of(variant)]
    return tuple(dict.fromkeys(found))


def _ablations(text: str, variants: Sequence[str]) -> list[str]:
    """The ablations that are meant: one by its whole name, or all that the variants have by what they change."""
    if text in ABLATIONS:
        return [text]
    alike = {name: ablation.variant for name, ablation in ABLATIONS.items() if ablation.name == text}
    chosen = [name for name, variant in alike.items() if variant in variants]
    if chosen:
        return chosen
    if alike:
        raise UsageError(
            f"{text} is an ablation of {_listed(list(alike.values()))}, not of the --variants; "
            f"write {' or '.join(alike)}"
        )
    known = [*dict.fromkeys(ABLATIONS[name].name for variant in variants for name in ablations_of(variant)), *ABLATIONS]
    mend = suggest(text, known, f"the ablations are {_listed(list(ABLATIONS))}")
    raise UsageError(f"there is no ablation {text!r}; {mend}")


def ablated(config: Config, name: str) -> Config:
    """A variant's configuration with the change called `name`."""
    own = {ablation.name: ablation for ablation in ablations_of(config.variant).values()}
    if name not in own:
        mend = suggest(name, own, f"those of {config.variant} are {_listed(list(own))}")
        raise UsageError(f"{config.variant} has no ablation {name!r}; {mend}")
    return override(config, own[name].changes)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
