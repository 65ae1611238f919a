"""`gridsum solve`: sums in, answers out, one a line."""

import codecs
import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar
from weakref import WeakSet

from gridsum.api.loading import load
from gridsum.api.models import Model
from gridsum.api.networks import PaperModel
from gridsum.api.options import SolveOptions
from gridsum.cli.options import File, OnCpu, OneModel, Rules, UsageError, Value, flag, option, several
from gridsum.cli.output import STANDARD, print_text, tell
from gridsum.data.answers import DESCRIBED, shortened
from gridsum.io.limits import TooLargeError
from gridsum.io.names import MODELS
from gridsum.tasks import Addition, ExpressionError

_Item = TypeVar("_Item")
# Lines of a file that a network solves together, at most: more would only make the first answer wait.
_LINES_AT_ONCE = 64
# The same for a rule, which solves lines that are plain sums as they stand.
_PLAIN_LINES = 2000
_READ_SIZE = 1 << 18
# As people paste sums: numbers under each other, the last ones with a '+' before them, and perhaps a line below.
_NUMBER = rb"[ \t]*\d[\d,]*[ \t\r]*"
_MORE = rb"^[ \t]*\+" + _NUMBER + rb"(?:\n|\Z)"
_COLUMN = re.compile(rb"(?m)(?:^%b\n)++((?:%b)*+)(?:^[ \t]*[-=_]{2,}[ \t\r]*(?:\n|\Z))?" % (_NUMBER, _MORE))
_SIGNS = ("+", "-", "−")
# So many columns in a row pass a carry on in one random sum of two hundred.
_LONG_CARRY, _SHOWN = 3, 40
_warned: "WeakSet[Model]" = WeakSet()


@dataclass(frozen=True, kw_only=True)
class Options(OneModel, Rules, OnCpu):
    """Answer sums of non-negative whole numbers with a trained network. The answers go to standard output, one a line,
    in the order of the sums. They are what the network says, right or wrong; --json and --show compare them with the
    truth.

    A sum that cannot be read is explained on standard error, and an empty line
    (with --json, an object with "error") stands for its answer; the exit status
    is then 2. An empty line of a file is answered by an empty line. Numbers under
    each other, the last of them with a '+' before it, are one sum.
    In a .csv file, the column named expression is read, else the first.
    exact takes up to 2·10^8 cells (terms × digits). For the paper's networks
    there is no limit but memory, about 8 KB for each cell.

    a trace is what --json prints and, for a grid of H rows × W columns:
      alphabet       the symbols; the first, ' ', is PAD (a blank)
      symbols        the input, character by character
      action_names   TLU (append to the top row), NLP (push a new row), NOP (ignore)
      actions        for each input symbol, the probabilities of these actions
      frames         for each n from 0 (before any step) to steps:
        n
        lambda       λ_n, the probability of halting now if still running
        p            p_n, the probability of halting at n
        cumulated    the probability of having halted by n
                     (these three are null for models without halting network)
        symbols      H × W, the symbol that the output layer reads in each cell
        confidence   H × W, its probability
        states       H × W, the state of each cell, where the model is a rule

    examples:
      gridsum solve 523+102+9416 99999+1
      gridsum solve 12 + 34
      gridsum solve --show 523+102
      gridsum solve --file sums.csv --csv > answers.csv
      gridsum solve --task add:base=2 101+11
      gridsum solve --trace 12+34 --model base | jq '.frames[].lambda'
      echo 12+34 | gridsum solve --model base --halting median
    """

    expressions: tuple[Annotated[str, Value("EXPR")], ...] = several(
        "a sum, such as 523+102 or '523 + 102 ='", argument=True
    )
    task: str | None = option("answer by the rule that ships for a task, such as add:base=12 (see gridsum models)")
    file: File | None = option("read the sums from a file, one a line; - is standard input")
    json: bool = flag(
        "print a JSON object a line: expression, answer, expected (the true sum), correct, steps, halting, placement, "
        "capped (whether the limit on steps ended it), model",
        "output",
    )
    csv: bool = flag("print the same as CSV, with a header", "output")
    show: bool = flag("draw the grid as placed and what every cell reads after each step", "output")
    trace: bool = flag("print what happens inside, a JSON object a line (see below)", "output")
    network: bool = flag("let the network itself answer, where its rule would (slow for long sums)")

    @property
    def solving(self) -> SolveOptions:
        return SolveOptions(self.halting, self.placement, self.seed, self.network)

    @property
    def one_line_each(self) -> bool:
        """Whether what is printed is the answers alone."""
        return not (self.json or self.csv or self.show or self.trace)


class Asked(NamedTuple):
    """An expression as it was given, with where it stands for messages about it."""

    place: str
    number: int
    text: str | None
    """None where the line is no UTF-8 text."""


def run(options: Options) -> int:
    if options.file is not None and options.expressions:
        raise UsageError("give sums as arguments or with --file, not both")
    if options.expressions:
        return _answer_arguments(options)
    nothing = UsageError("there is nothing to solve; give a sum such as 523+102, or --file FILE")
    if options.file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise nothing
    standard = options.file in (None, STANDARD)
    # Unbuffered, a read returns what is there: a line typed into a terminal is answered at once.
    with open(0 if standard else options.file or "", "rb", buffering=0, closefd=not standard) as file:
        if (options.file or "").lower().endswith(".csv"):
            asked = _csv_rows(file.read())
            model = _begin(options)
            return max((_answer(model, part, options) for part in _parts(asked, _LINES_AT_ONCE)), default=0)
        first = file.read(_READ_SIZE)
        if options.file is None and not first:
            raise nothing
        if re.search(rb"(?m)" + _MORE, first):
            first = _in_lines(first + file.readall())
        begun = iter([first])
        return _answer_lines(lambda size: next(begun, b"") or file.read(size), options)


def _answer_arguments(options: Options) -> int:
    for text in options.expressions:
        option = "--model" if text in MODELS else "--file" if os.path.isfile(text) else None
        if option is not None:
            raise UsageError(f"{text!r} is not a sum; write {option} {text}")
    texts = [os.fsdecode(_in_lines(os.fsencode(text))) for text in options.expressions]
    asked = [Asked("argument", number, text) for number, text in enumerate(_joined(texts), 1)]
    return _answer(_begin(options), asked, options)


def _named(options: Options) -> str:
    """The model that is asked."""
    if options.task is None:
        return options.model
    from gridsum.automaton.files import shipped_tasks
    from gridsum.tasks import find

    tasks, task = shipped_tasks(), find(options.task).name
    if task not in tasks:
        learn = f"learn one with: gridsum train --variant exact --task {task}"
        raise UsageError(f"no rule for the task {task} comes with gridsum, only for {', '.join(tasks)}; {learn}")
    return tasks[task]


def _begin(options: Options) -> Model:
    model = load(_named(options), device=options.device)
    if options.csv:
        print_text(_csv_line(DESCRIBED))
    return model


def _in_lines(content: bytes) -> bytes:
    """The same with every column of numbers as a sum in one line."""

    def joined(column: "re.Match[bytes]") -> bytes:
        return b"+".join(re.findall(rb"[\d,]+", column[0])) + b"\n" if column[1] else column[0]

    return _COLUMN.sub(joined, content)


def _joined(arguments: Sequence[str]) -> list[str]:
    """Sums that a shell has split at spaces: an argument that ends in a sign goes on in the next one."""
    sums: list[str] = []
    for text in arguments:
        sign = text.strip() in _SIGNS or text.lstrip()[:1] in ("+", "=")
        if sums and (sign or sums[-1].rstrip()[-1:] in _SIGNS):
            sums[-1] += f" {text}"
        else:
            sums.append(text)
    return sums


def _csv_rows(content: bytes) -> list[Asked]:
    """The sums of a CSV file: of its column `expression`, or of its first one, with or without a header."""
    try:
        rows = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"the file is not a CSV that can be read: {error}") from None
    names = [name.strip().lower() for name in rows[0]] if rows else []
    column = names.index("expression") if "expression" in names else 0
    header = bool(names) and not any(letter.isdigit() for letter in names[column])
    texts = [row[column] if column < len(row) else "" for row in rows]
    return [Asked("line", number, text) for number, text in enumerate(texts, 1)][header:]


def _parts(items: list[_Item], most: int) -> Iterator[list[_Item]]:
    return (items[low : low + most] for low in range(0, len(items), most))


def _answer_lines(read: Callable[[int], bytes], options: Options) -> int:
    """Answer the lines of a file as they come in; returns the exit status."""
    model, status, number = _begin(options), 0, 0
    for lines in (part for whole in _lines(read) for part in _parts(whole, _PLAIN_LINES)):
        said = model.answer_lines(lines, options.solving) if options.one_line_each else None
        if said is not None:
            print_text(said.decode())
        else:
            asked = [_decoded(number + index, line) for index, line in enumerate(lines, 1)]
            status = max(status, *(_answer(model, part, options) for part in _parts(asked, _LINES_AT_ONCE)))
        number += len(lines)
    return status


def _lines(read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
    """The lines that each reading completes; `read` returns what is there, at most so many bytes."""
    rest: list[bytes] = []  # pieces of a line whose end is still to come; joined once, however long it is
    while piece := read(_READ_SIZE):
        *whole, last = piece.split(b"\n")
        if whole:
            whole[0] = b"".join([*rest, whole[0]])
            rest = []
            yield whole
        rest.append(last)
    if any(rest):
        yield [b"".join(rest)]


def _decoded(number: int, line: bytes) -> Asked:
    if number == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    try:
        return Asked("line", number, line.decode())
    except UnicodeDecodeError:
        return Asked("line", number, None)


def _read(model: Model, asked: Asked) -> tuple[str, ...] | ValueError | None:
    """The terms, or what is wrong; None for a line of a file with nothing on it."""
    if asked.text is None:
        return ExpressionError("this is not UTF-8 text; write sums with ASCII digits")
    if asked.place == "line" and not asked.text.strip():
        return None
    try:
        terms = model.task.parse(asked.text)
        model.size(terms)
    except (ExpressionError, TooLargeError) as error:
        return error
    return terms


def _answer(model: Model, asked: list[Asked], options: Options) -> int:
    """Answer what can be answered, in order; returns the exit status."""
    status, read = 0, [_read(model, one) for one in asked]
    expressions = [terms for terms in read if isinstance(terms, tuple)]
    _warn_of_carries(model, expressions)
    printed = _printed(model, expressions, options)
    for one, terms in zip(asked, read, strict=True):
        if isinstance(terms, tuple):
            print_text(next(printed))
            continue
        if isinstance(terms, ValueError):
            status = 2
            alone = one.place == "argument" and len(asked) == 1
            tell(f"gridsum: error: {'' if alone else f'{one.place} {one.number}: '}{terms}")
            if options.json or options.trace:
                print_text(json.dumps({one.place: one.number, "error": str(terms)}) + "\n")
            elif options.csv:
                print_text(_csv_line([one.text or "", *[""] * (len(DESCRIBED) - 1)]))
        if options.one_line_each:
            print_text("\n")
    return status


def _warn_of_carries(model: Model, expressions: list[tuple[str, ...]]) -> None:
    """Say, once for a model that is loaded, that a carry goes further than those of the random digits it learned."""
    if not isinstance(model, PaperModel) or model.name not in MODELS or model in _warned:
        return
    long = next((terms for terms in expressions if Addition().carried(terms) >= _LONG_CARRY), None)
    if long is not None:
        _warned.add(model)
        shown = shortened(model.task.render(long), _SHOWN)
        tell(f"gridsum: long carries, as in {shown}, are outside what {model.name} learned; exact has them all")


def _printed(model: Model, expressions: list[tuple[str, ...]], options: Options) -> Iterator[str]:
    """What is printed of each answer."""
    if options.trace:
        for terms in expressions:
            yield json.dumps(model.traced(terms, options.solving).to_dict()) + "\n"
        return
    if options.show:
        from gridsum.api.terminal import draw, render

        for terms in expressions:
            yield render(draw(model.traced(terms, options.solving)), sys.stdout)
        return
    for answer in model.answers(expressions, options.solving):
        if options.json:
            yield json.dumps(answer.described(model.name)) + "\n"
        elif options.csv:
            yield _csv_line(list(answer.described(model.name).values()))
        else:
            yield answer.answer + "\n"


def _csv_line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
