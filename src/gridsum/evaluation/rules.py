"""Evaluation of rules: the same problems and records as for networks."""

from collections.abc import Callable

from gridsum.automaton.run import AT_REST, solve
from gridsum.automaton.table import RuleTable
from gridsum.evaluation.metrics import count_text
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import Suite, problems_of
from gridsum.io.version import __version__


def evaluate_rule(
    name: str,
    table: RuleTable,
    training_seed: int | None,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Record:
    """Every problem of the suite, solved by the rule until it is at rest."""
    answers, truths, steps, capped = [], [], [], 0
    batches = suite.batches(samples)
    for index, problems in enumerate(batches):
        batch = problems_of(suite, index, problems, seed, task=table.task)
        for problem in range(batch.symbols.shape[1]):
            terms = table.task.parse(batch.expression(0, problem))
            found = solve(table, terms)
            answers.append(found.answer)
            truths.append(table.task.answer(terms))
            steps.append(found.steps)
            capped += found.capped
        if report is not None:
            report(sum(batches[: index + 1]), sum(batches))
    counts = count_text(answers, truths)
    return Record(
        model=name,
        variant="exact",
        seed=training_seed,
        suite=suite.name,
        halting=AT_REST,
        placement="hard",
        samples=len(truths),
        chars_right=int(counts.chars_right),
        chars_valid=int(counts.chars_valid),
        sequences_right=int(counts.sequences_right),
        steps_mean=sum(steps) / len(steps),
        steps_max=max(steps),
        evaluation_seed=seed,
        version=__version__,
        commit=commit,
        answers=tuple(answers) if suite.expressions else None,
        capped=capped,
    )
