"""The way from a trained run to a proof, in other bases than ten: nothing on it knows how many digits there are."""

import pytest

from gridsum.automaton.consolidate import draw
from gridsum.automaton.proof import prove
from gridsum.automaton.table import RuleTable
from gridsum.config.exact import ConsolidationConfig
from gridsum.tasks import find
from tests.automaton.test_consolidate import TableRule
from tests.oracles.column_addition import by_columns, changed


def consolidated(table: RuleTable) -> RuleTable:
    """What a run that is this table would be taught; where any code will do, the table's own."""
    run = TableRule(table)
    _, learnt = draw(run, ConsolidationConfig(problems=4_000), 0, lambda _: None)  # type: ignore[arg-type]
    assert learnt is not None
    assert learnt.states.tolist() == list(range(table.outside))
    return run.taught(learnt)


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
