"""Answer sums of non-negative whole numbers with a trained network. The answers go to standard output, one per line, in
the order of the sums. They are what the network says, right or wrong. How many of a network's answers are wrong is said
on standard error; --json and --show compare each with the truth.

A sum that cannot be read is explained on standard error, and an empty line
(with --json, an object with "error") stands for its answer; the exit status
is then 2. An empty line of a file is answered by an empty line.
exact takes up to 2·10^8 cells (terms × digits). For the paper's networks
there is no limit but memory, about 8 KB for each cell.

examples:
  gridsum solve 523+102+9416 99999+1
  gridsum solve --show 523+102
  gridsum solve --file sums.txt --json > answers.jsonl
  gridsum solve --task add:base=2 101+11
  echo 12+34 | gridsum solve --model base --halting median
"""

import codecs
import json
import sys
from collections.abc import Callable, Iterator, Sequence

from gridsum.api.loading import load
from gridsum.cli.options import Options, Parser, UsageError, add_device, add_model, add_rules
from gridsum.cli.output import print_text, tell
from gridsum.data.answers import SolveOptions
from gridsum.io.limits import TooLargeError
from gridsum.tasks import ExpressionError, find

# Lines of a file that a network solves together, at most: more would only make the first answer wait.
_LINES_AT_ONCE = 64
# The same for a rule, which solves lines that are plain sums as they stand.
_PLAIN_LINES = 2000
_READ_SIZE = 1 << 18


def add_options(parser: Parser) -> None:
    parser.option("expressions EXPR...", "a sum, such as 523+102 or '523 + 102 ='")
    add_model(parser)
    parser.option("--task TASK", "answer by the rule that ships for a task, such as add:base=12 (see gridsum models)")
    parser.option("--file FILE", "read the sums from a file, one per line; - is standard input")
    output = parser.add_mutually_exclusive_group()
    parser.option(
        "--json",
        "print one JSON object per line: expression, answer, expected (the true sum), correct, steps, halting, "
        "placement, capped (whether the limit on steps ended it), model",
        output,
    )
    parser.option("--show", "draw the grid as placed, and every cell's output symbol after each step", output)
    parser.option("--network", "let the network itself answer, where its rule would (slow for long sums)")
    add_rules(parser)
    add_device(parser, "cpu")


def run(options: Options) -> int:
    if options.expressions and options.file is not None:
        raise UsageError("give sums as arguments or with --file, not both")
    nothing = UsageError("there is nothing to solve; give a sum such as 523+102, or --file FILE")
    if not options.expressions and options.file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise nothing
    solver, number = _Solver(options), 0
    if options.expressions:
        solver.answer("argument", 0, options.expressions)
    else:
        standard = options.file in (None, "-")
        # Unbuffered, a read returns what is there: a line typed into a terminal is answered at once.
        with open(0 if standard else str(options.file), "rb", buffering=0, closefd=not standard) as file:
            for lines in _lines(file.read):
                solver.answer_lines(lines, number)
                number += len(lines)
        if options.file is None and not number:
            raise nothing
    if solver.wrong:
        tell(f"gridsum: {solver.wrong} of {solver.answered} answers wrong; --json shows the right ones")
    return solver.status


def _lines(read: Callable[[int], bytes | None]) -> Iterator[list[bytes]]:
    """The lines that each reading completes, in parts; `read` returns what is there, at most so many bytes."""
    rest: list[bytes] = []  # pieces of a line whose end is still to come; joined once, however long it is
    while piece := read(_READ_SIZE):
        first, *others = piece.split(b"\n")
        rest.append(first)
        if others:
            whole, rest = [b"".join(rest), *others[:-1]], others[-1:]
            yield from (whole[low : low + _PLAIN_LINES] for low in range(0, len(whole), _PLAIN_LINES))
    if any(rest):
        yield [b"".join(rest)]


class _Solver:
    """A model that answers as the options say, and how that went."""

    def __init__(self, options: Options) -> None:
        name = options.model if options.task is None else _rule_for(options.task)
        self._model, self._options = load(name, device=options.device), options
        self._solving = SolveOptions(options.halting, options.placement, options.seed, options.network)
        self._plain = not (options.json or options.show)
        self.status = self.answered = self.wrong = 0

    def answer_lines(self, lines: list[bytes], before: int) -> None:
        """Answer lines of a file, so many of which came before."""
        said = self._model.answer_lines(lines, self._solving) if self._plain else None
        if said is not None:
            print_text(said.decode())
            return
        if not before:
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
        for low in range(0, len(lines), _LINES_AT_ONCE):
            some = [line.decode(errors="replace") for line in lines[low : low + _LINES_AT_ONCE]]
            self.answer("line", before + low, some)

    def answer(self, place: str, before: int, texts: Sequence[str]) -> None:
        """Answer what can be answered, in order, where so many came before; an empty line of a file is no mistake."""
        found = [self._read(text) if place == "argument" or text.strip() else None for text in texts]
        printed = self._printed([terms for terms in found if isinstance(terms, tuple)])
        for number, terms in enumerate(found, before + 1):
            if isinstance(terms, tuple):
                print_text(next(printed))
                continue
            if terms is not None:
                self.status = 2
                alone = place == "argument" and len(texts) == 1
                tell(f"gridsum: error: {'' if alone else f'{place} {number}: '}{terms}")
                if self._options.json:
                    print_text(json.dumps({place: number, "error": str(terms)}) + "\n")
            if self._plain:
                print_text("\n")

    def _read(self, text: str) -> tuple[str, ...] | ValueError:
        try:
            terms = self._model.task.parse(text)
            self._model.size(terms)
        except (ExpressionError, TooLargeError) as error:
            return error
        return terms

    def _printed(self, expressions: list[tuple[str, ...]]) -> Iterator[str]:
        model, options = self._model, self._options
        if options.show:
            yield from (str(model.traced(terms, self._solving)) for terms in expressions)
            return
        for answer in model.answers(expressions, self._solving) if expressions else ():
            self.answered += 1
            # A rule answers plain lines as they stand, which nobody counts.
            self.wrong += self._plain and not model.has_rule and not answer.correct
            yield (json.dumps(answer.described(model.name)) if options.json else answer.answer) + "\n"


def _rule_for(task: str) -> str:
    from gridsum.automaton.files import shipped_rules

    tasks = {table.task.name: model for model, table in shipped_rules().items()}
    name = find(task).name
    if name not in tasks:
        learn = f"learn one with: gridsum train --variant exact --task {name}"
        raise UsageError(f"no rule for the task {name} comes with gridsum, only for {', '.join(tasks)}; {learn}")
    return tasks[name]
