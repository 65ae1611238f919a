"""`gridsum solve`: sums in, answers out, one a line."""

import codecs
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gridsum.api.models import Model
from gridsum.cli.output import STANDARD, print_text, tell
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_device,
    add_model,
    add_rules,
    add_seed,
)
from gridsum.cli.watching import how_of, model_of
from gridsum.io.names import MODELS, resolve
from gridsum.tasks import ExpressionError, Task, find

if TYPE_CHECKING:
    from gridsum.data.answers import Answer

_Item = TypeVar("_Item")
# Lines of a file that a network solves together, at most: more would only make the first answer wait.
_LINES_AT_ONCE = 64
# The same for a rule, which solves lines that are plain sums as they stand.
_PLAIN_LINES = 2000
_READ_SIZE = 1 << 18
_SIGNS = ("+", "-", "−")
_DESCRIBED = ("expression", "answer", "exact", "correct", "steps", "halting", "placement", "capped")


class Asked(NamedTuple):
    """An expression as it was given, with where it stands for messages about it."""

    place: str
    number: int
    text: str | None
    """None where the line is no UTF-8 text."""


def describe(answer: "Answer", model: str) -> dict[str, Any]:
    """An answer as JSON holds it."""
    return {name: getattr(answer, name) for name in _DESCRIBED} | {"model": model}


def _parser() -> Parser:
    parser = Parser(
        "solve",
        "Answer sums of non-negative whole numbers with a trained network. The answers go to standard "
        "output, one a line, in the order of the sums. They are what the network says, right or wrong; "
        "--json and --show compare them with the truth.",
        "gridsum solve EXPR... [options]\n       gridsum solve --file FILE [options]",
        "A sum that cannot be read is explained on standard error, and an empty line\n"
        '(with --json, an object with "error") stands for its answer; the exit status\n'
        "is then 2. An empty line of a file is answered by an empty line.\n"
        "Of a .csv file the column expression is read, or the first one.\n"
        "exact takes up to 2·10^8 cells (terms × digits). For the paper's networks\n"
        "there is no limit but memory, about 8 KB for each cell.\n\n"
        "examples:\n"
        "  gridsum solve 523+102+9416 99999+1\n"
        "  gridsum solve 12 + 34\n"
        "  gridsum solve --show 523+102\n"
        "  gridsum solve --file sums.csv --csv > answers.csv\n"
        "  gridsum solve --file sums.txt --json > answers.jsonl\n"
        "  echo 12+34 | gridsum solve --file - --model runs/base/seed-3 --halting median",
    )
    parser.add_argument("expressions", nargs="*", metavar="EXPR", help="a sum, such as 523+102 or '523 + 102 ='")
    parser.add_argument("--file", metavar="FILE", help="read the sums from a file, one a line; - is standard input")
    add_model(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object a line: expression, answer, exact (the true sum), correct, steps, halting, "
        "placement, capped (whether the limit on steps ended it), model",
    )
    shape.add_argument("--csv", action="store_true", help="print the same as CSV, with a header")
    shape.add_argument(
        "--show",
        action="store_true",
        help="draw the grid as placed and what every cell reads after each step",
    )
    parser.add_argument(
        "--network",
        action="store_true",
        help="let the network itself answer, where its rule would (slow for long sums)",
    )
    add_rules(parser)
    add_seed(parser, "of the draws of sampled halting")
    add_device(parser, "cpu", why="; the CPU starts faster and is quick enough for all but very long sums")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    if options.file is not None and options.expressions:
        raise UsageError("give sums as arguments or with --file, not both")
    if options.file is None and not options.expressions:
        raise UsageError("there is nothing to solve; give a sum such as 523+102, or --file FILE")
    with ExitStack() as files:
        if options.file is None:
            texts = _joined(options.expressions)
            given = [Asked("argument", number, text) for number, text in enumerate(texts, 1)]
            chunks: Iterator[list[Asked]] = iter([given])
            shipped = resolve(options.model)[0] in MODELS
            if shipped and all(isinstance(_read(asked, find()), ExpressionError) for asked in given):
                return _answer_chunk(None, given, options)  # nothing to load a network for
            if options.csv:
                print_text(_csv_line([*_DESCRIBED, "model"]))
        else:
            standard = options.file == STANDARD
            # Unbuffered, a read returns what is there: a line typed into a terminal is answered at once.
            file = files.enter_context(open(0 if standard else options.file, "rb", buffering=0, closefd=not standard))
            if not options.file.lower().endswith(".csv"):
                return _answer_lines(file.read, options)
            chunks = _csv_chunks(file.read)
            if options.csv:
                print_text(_csv_line([*_DESCRIBED, "model"]))
        model = model_of(options, options.network)
        return max((_answer_chunk(model, chunk, options) for chunk in chunks), default=0)


def _joined(arguments: Sequence[str]) -> list[str]:
    """Sums that a shell has split at spaces: an argument that ends in a sign goes on in the next one."""
    sums: list[str] = []
    for text in arguments:
        sign = text.strip() in _SIGNS or text.lstrip()[:1] in ("+", "=")
        goes_on = bool(sums) and (sign or sums[-1].rstrip()[-1:] in _SIGNS)
        if goes_on:
            sums[-1] += f" {text}"
        else:
            sums.append(text)
    return sums


def _csv_chunks(read: Callable[[int], bytes]) -> Iterator[list[Asked]]:
    """The sums of a CSV file: of its column `expression`, or of its first one, with or without a header."""
    content = b"".join(iter(lambda: read(_READ_SIZE), b"")).removeprefix(codecs.BOM_UTF8)
    try:
        rows = list(csv.reader(content.decode().splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"the file is no CSV that can be read: {error}") from None
    names = [name.strip().lower() for name in rows[0]] if rows else []
    column = names.index("expression") if "expression" in names else 0
    header = bool(rows) and bool(rows[0]) and not any(letter.isdigit() for letter in rows[0][column])
    texts = [row[column] if column < len(row) else "" for row in rows]
    yield from _parts([Asked("line", number, text) for number, text in enumerate(texts, 1)][header:], _LINES_AT_ONCE)


def _csv_line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _parts(items: list[_Item], most: int) -> Iterator[list[_Item]]:
    return (items[low : low + most] for low in range(0, len(items), most))


def _answer_lines(read: Callable[[int], bytes], options: Any) -> int:
    """Answer the lines of a file as they come in; returns the exit status."""
    model, how, status, number = model_of(options, options.network), how_of(options, options.network), 0, 0
    if options.csv:
        print_text(_csv_line([*_DESCRIBED, "model"]))
    plain = not (options.json or options.csv or options.show)
    for lines in (part for whole in _lines(read) for part in _parts(whole, _PLAIN_LINES)):
        said = model.answer_lines(lines, how) if plain else None
        if said is not None:
            print_text(said.decode())
        else:
            asked = [_decoded(number + index, line) for index, line in enumerate(lines, 1)]
            status = max(status, *(_answer_chunk(model, chunk, options) for chunk in _parts(asked, _LINES_AT_ONCE)))
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


def _blank(asked: Asked) -> bool:
    """Whether this is a line of a file with nothing on it."""
    return asked.place == "line" and asked.text is not None and not asked.text.strip()


def _read(asked: Asked, task: Task) -> tuple[str, ...] | ExpressionError:
    if asked.text is None:
        return ExpressionError("this is not UTF-8 text; write sums with ASCII digits")
    try:
        return task.parse(asked.text)
    except ExpressionError as error:
        return error


def _answer_chunk(model: Model | None, chunk: list[Asked], options: Any) -> int:
    """Answer what can be answered, in order; returns the exit status."""
    status = 0
    task = find() if model is None else model.task
    read = [None if _blank(asked) else _read(asked, task) for asked in chunk]
    expressions = [terms for terms in read if isinstance(terms, tuple)]
    printed = iter(()) if model is None else _printed(model, expressions, options)
    for asked, terms in zip(chunk, read, strict=True):
        if isinstance(terms, tuple):
            print_text(next(printed))
        elif isinstance(terms, ExpressionError):
            status = 2
            alone = asked.place == "argument" and len(chunk) == 1
            tell(f"gridsum: error: {'' if alone else f'{asked.place} {asked.number}: '}{terms}")
            if options.json:
                print_text(json.dumps({asked.place: asked.number, "error": str(terms)}) + "\n")
            elif options.csv:
                print_text(_csv_line([asked.text or "", *[""] * len(_DESCRIBED)]))
            elif not options.show:
                print_text("\n")
        elif not (options.json or options.csv or options.show):
            print_text("\n")
    return status


def _printed(model: Model, expressions: list[tuple[str, ...]], options: Any) -> Iterator[str]:
    """What is printed of each answer."""
    how, name = how_of(options, options.network), resolve(options.model)[0]
    for terms, answer in zip(expressions, model.answers(expressions, how), strict=True):
        if options.json:
            yield json.dumps(describe(answer, name)) + "\n"
        elif options.csv:
            yield _csv_line(list(describe(answer, name).values()))
        elif options.show:
            from gridsum.api.terminal import render

            yield render(model.drawing(terms, answer, how), sys.stdout)
        else:
            yield answer.answer + "\n"
