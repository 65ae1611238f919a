"""The names of models: what is shipped, and what is shown of a name."""

import hashlib
import json
from pathlib import Path

from gridsum.api.loading import load
from gridsum.automaton.files import shipped_rule
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL, MODELS, printable
from gridsum.model.store import configuration_of, shipped


def test_every_shipped_model_has_a_use_and_weights_of_its_own():
    found = shipped()
    assert list(found) == list(MODELS)
    assert len({hashlib.sha256(path.read_bytes()).hexdigest() for path in found.values()}) == len(found)
    assert DEFAULT_MODEL in found
    assert INSIDE_MODEL in found
    manifest = json.loads((Path(__file__).parents[2] / "results" / "manifest.json").read_text())
    known = {checksum for runs in manifest.values() for checksum in runs.values()}
    for name, path in found.items():
        if configuration_of(path).variant in PAPER_VARIANTS:
            assert hashlib.sha256(path.read_bytes()).hexdigest() in known, f"{name} is one of the results"


def test_the_default_model_answers_by_a_rule_and_the_one_looked_into_is_the_papers():
    assert DEFAULT_MODEL == "exact"
    assert shipped_rule(DEFAULT_MODEL) is not None
    assert [name for name in shipped() if load(name).has_rule] == [DEFAULT_MODEL]
    assert configuration_of(shipped()[INSIDE_MODEL]).variant in PAPER_VARIANTS


def test_a_name_from_a_file_does_not_reach_the_terminal_s_controls():
    assert printable("a\x1b[31mb\x07\u202ec\nd") == "a?[31mb??c\nd"
