"""What commands share that watch one sum being worked out."""

import argparse
from typing import TYPE_CHECKING

from gridsum.cli.parsing import add_device, add_model, add_rules, add_seed, check_halting, load_single
from gridsum.names import INSIDE_MODEL
from gridsum.symbols import parse

if TYPE_CHECKING:
    from gridsum.model.unroll import Trace
    from gridsum.solving import Answer
    from gridsum.store import Model


def add_watching(parser: argparse.ArgumentParser) -> None:
    """The sum, and how it is worked out."""
    parser.add_argument("expression", metavar="EXPR", help="a sum, such as 523+102")
    add_model(parser, INSIDE_MODEL)
    add_rules(parser)
    add_seed(parser, "of the draws of sampled halting")
    add_device(parser, "cpu")


def watch(options: argparse.Namespace) -> "tuple[Model, Answer, Trace]":
    terms = parse(options.expression)
    model = load_single(options.model, options.device)
    check_halting(model.network, options.halting, options.model)

    from gridsum.solving import solve_and_trace

    return model, *solve_and_trace(model, terms, options.halting, options.seed, options.placement)
