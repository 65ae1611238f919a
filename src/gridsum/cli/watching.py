"""What commands share that watch one sum being worked out."""

import argparse
from typing import TYPE_CHECKING

from gridsum.api.asking import How
from gridsum.api.loading import has_rule, rule_model
from gridsum.api.models import Model, PaperModel
from gridsum.cli.parsing import (
    UsageError,
    add_device,
    add_model,
    add_rules,
    add_seed,
    called_now,
    check_halting,
    load_single,
)
from gridsum.io.names import MODELS, resolve
from gridsum.tasks import find

if TYPE_CHECKING:
    from gridsum.api.traces import Trace


def add_watching(parser: argparse.ArgumentParser) -> None:
    """The sum, and how it is worked out."""
    parser.add_argument("expression", metavar="EXPR", help="a sum, such as 523+102")
    add_model(parser)
    add_rules(parser)
    add_seed(parser, "of the draws of sampled halting")
    add_device(parser, "cpu")


def model_of(options: argparse.Namespace, network: bool = False) -> Model:
    """The model that the options name, if it can follow their rules."""
    name = called_now(options.model)
    if has_rule(name):
        if options.halting is not None or options.placement != "auto":
            raise UsageError(f"{name} halts at rest and places in one way; leave --halting and --placement out")
        return rule_model(name)
    if network:
        raise UsageError(f"--network is for models that answer by a rule, such as exact; {name} is a network already")
    model = load_single(name, options.device)
    check_halting(model.network, options.halting, name)
    return PaperModel(model)


def how_of(options: argparse.Namespace, network: bool = False) -> How:
    return How(options.halting, options.placement, options.seed, network)


def watch(options: argparse.Namespace) -> "Trace":
    if resolve(options.model)[0] in MODELS:
        find().parse(options.expression)  # before anything is loaded
    model = model_of(options)
    return model.traced(model.read(options.expression), how_of(options))
