"""Computations as the API shows them."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from gridsum.analysis.attention import score_terms
from gridsum.analysis.curves import changes, halting_curve
from gridsum.analysis.placement import SHARED, written
from gridsum.evaluation.solving import Answer
from gridsum.model.paper import Network
from gridsum.serve.collection import RequestError, ServedNetwork, ServedRule, Worked
from gridsum.serve.limits import Limits, meanings
from gridsum.serve.schemas import (
    Action,
    AnswerView,
    AttentionView,
    Cells,
    HeadAttention,
    HeadsView,
    LimitView,
    ModelView,
    PathView,
    PlaneView,
    Point,
    Reading,
    ScoreView,
    TraceView,
)

UNSURE = "?"
"""Stands in a cell that several symbols share, none of them more than half."""
_DECIMALS = 4


def model_view(served: ServedRule | ServedNetwork) -> ModelView:
    return ModelView(**served.about, **served.shape())


def limit_views(limits: Limits) -> list[LimitView]:
    return [LimitView(name=name, most=getattr(limits, name), meaning=what) for name, what in meanings().items()]


def answer_view(answer: Answer, seconds: float, model: str) -> AnswerView:
    return AnswerView(**_answered(answer, model, seconds))


def trace_view(worked: Worked, model: str) -> TraceView:
    trace = worked.trace
    rows, columns = trace.decoded.shape[1:3]
    return TraceView(
        **_answered(worked.answer, model, worked.seconds),
        rows=rows,
        columns=columns,
        input="".join(trace.alphabet[code] for code in trace.symbols.tolist()),
        actions=[Action(write=write, push=push, skip=skip) for write, push, skip in _rounded(trace.actions)],
        placed=_placed(worked),
        readings=_readings(worked),
    )


def attention_view(network: Network, worked: Worked, step: int, row: int, column: int) -> AttentionView:
    trace = worked.trace
    if step >= len(trace.grids) - 1:
        raise RequestError(
            f"step is {step}, but the last step of this computation is {len(trace.grids) - 2}, counted from 0"
            if len(trace.grids) > 1
            else "this computation halted before any step, so there is no attention to see"
        )
    _check_cell(worked, row, column)
    kernel = network.config.kernel
    terms = score_terms(network.step.attention, _neighbourhood(trace.grids[step], row, column, kernel))
    centre = kernel // 2
    parts = [part[:, centre, centre] for part in (terms.content, terms.key_bias, terms.query_position, terms.position)]
    weights = _rounded(sum(parts, torch.zeros_like(parts[0])).softmax(0).T)
    by_head = zip(weights, *(_rounded(part.T) for part in parts), strict=True)
    heads = [
        HeadAttention(
            weights=weight,
            terms=ScoreView(query_key=qk, bias_key=sk, query_position=qr, bias_position=sr),
        )
        for weight, qk, sk, qr, sr in by_head
    ]
    return AttentionView(step=step, row=row, column=column, kernel=kernel, heads=heads)


def heads_view(served: ServedNetwork) -> HeadsView:
    return HeadsView(**served.heads())


def plane_view(served: ServedNetwork) -> PlaneView:
    return PlaneView(**served.plane())


def path_view(served: ServedNetwork, worked: Worked, row: int, column: int) -> PathView:
    _check_cell(worked, row, column)
    points = served.project(worked.trace.grids[:, row, column].cpu().numpy()).round(_DECIMALS).tolist()
    return PathView(row=row, column=column, points=[Point(x=x, y=y) for x, y in points])


def _answered(answer: Answer, model: str, seconds: float) -> dict[str, Any]:
    told = dataclasses.asdict(answer)
    told.pop("base")  # which the task says
    return {
        **told,
        "correct": answer.correct,
        "model": model,
        "milliseconds": round(1000 * seconds, 1),
    }


def _placed(worked: Worked) -> Cells:
    placed = written(worked.trace, worked.answer.placement)
    letters = {**dict(enumerate(worked.trace.alphabet)), SHARED: UNSURE}
    symbols = ["".join(letters[code] for code in row) for row in placed.symbols.tolist()]
    return Cells(symbols=symbols, confidence=_per_cent(placed.shares.amax(-1)))


def _readings(worked: Worked) -> list[Reading]:
    trace = worked.trace
    curve = halting_curve(trace)
    confidence, codes = trace.decoded.max(-1)
    per_cent, read = _per_cent(confidence), codes.tolist()
    change = [None, *(round(value, _DECIMALS) for value in changes(trace))]
    return [
        Reading(
            n=n,
            halting=None if curve is None else curve.halting[n],
            probability=None if curve is None else curve.probability[n],
            cumulated=None if curve is None else curve.halted[n],
            change=change[n],
            symbols=["".join(trace.alphabet[code] for code in row) for row in read[n]],
            confidence=per_cent[n],
        )
        for n in range(len(read))
    ]


def _neighbourhood(grid: Tensor, row: int, column: int, kernel: int) -> Tensor:
    """The k × k vectors around a cell: all that its attention sees. Outside the grid they are zero."""
    margin = kernel // 2
    padded = torch.nn.functional.pad(grid, (0, 0, margin, margin, margin, margin))
    return padded[row : row + kernel, column : column + kernel]


def _check_cell(worked: Worked, row: int, column: int) -> None:
    rows, columns = worked.trace.decoded.shape[1:3]
    if row >= rows or column >= columns:
        raise RequestError(
            f"there is no cell in row {row} and column {column}: the grid of {worked.answer.expression} has "
            f"{rows} rows and {columns} columns, counted from 0"
        )


def _per_cent(shares: Tensor) -> list[Any]:
    return (100 * shares).round().int().tolist()


def _rounded(values: Tensor) -> list[Any]:
    return values.double().round(decimals=_DECIMALS).tolist()
