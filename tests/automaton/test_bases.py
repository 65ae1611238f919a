"""The way from a trained run to a proof, in other bases than ten: nothing on it knows how many digits there are."""

import numpy as np
import pytest

from gridsum.automaton import minimise, observe, repair, targets
from gridsum.automaton.proof import prove
from gridsum.automaton.table import RuleTable
from gridsum.config.exact import ConsolidationConfig
from gridsum.tasks import find
from tests.automaton.test_consolidate import TableRule
from tests.oracles.column_addition import by_columns, changed

LOOK = ConsolidationConfig(problems=12_000)


def consolidated(table: RuleTable, look: ConsolidationConfig = LOOK) -> RuleTable:
    """What a run that is this table would be taught; where any code will do, the table's own."""
    rule = TableRule(table)
    observed = observe.observe(rule, look, 0)  # type: ignore[arg-type]
    shown = targets.target_table(minimise.minimise(observed, np.array(table.outputs), look.rare))
    found, *_ = repair.repair(rule, shown, look, 0)  # type: ignore[arg-type]
    assert found.states.tolist() == list(range(table.outside))
    return rule.taught(found)


@pytest.mark.parametrize("name", ["add:base=2", "add:base=3", "add:base=5"])
def test_what_a_right_run_shows_of_itself_is_proved(name: str):
    """Also in base 2, where few contexts show that a zero and a blank are one but for what stands to their left."""
    table = by_columns(find(name))
    assert prove(table).proved
    taught = consolidated(table)
    assert not prove(taught).failures


def test_what_was_never_right_is_found_in_base_2():
    """A run that forgets the carry of 1 + 1 in the units finds it by trying."""
    table = by_columns(find("add:base=2"))
    one = 2
    broken = changed(table, {(1, None, table.outside, one): 1})
    assert not prove(broken).proved
    assert prove(consolidated(broken)).proved
