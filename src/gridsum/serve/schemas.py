"""What the API takes and gives, as it is documented."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from gridsum.analysis.curves import changes, halting_curve
from gridsum.analysis.placement import SHARED, written
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer
from gridsum.evaluation.solving import PlacementRule
from gridsum.model.inference import HaltingRule
from gridsum.tasks import find

UNSURE = "?"
"""Stands in a cell that several symbols share, none of them more than half."""
_DECIMALS = 4
Probability = Annotated[float, Field(ge=0, le=1)]


class Closed(BaseModel):
    """Misspelt fields are an error."""

    model_config = ConfigDict(extra="forbid")


_NUMBER = rf"\s*[{find().alphabet.digits}]+\s*"
_SUM = rf"^{_NUMBER}(\+{_NUMBER})*(=\s*)?$"
"""A sum of the models that come with gridsum; another model reads those of its own task."""


class SumRequest(Closed):
    """A sum, and how to work it out."""

    expression: Annotated[
        str,
        Field(
            description="a sum of non-negative whole numbers",
            examples=["523+102+9416"],
            # Told, not enforced: parsing explains what is wrong in words.
            json_schema_extra={"pattern": _SUM},
        ),
    ]
    model: Annotated[str | None, Field(description="a name from GET /models; the first one if left out")] = None
    halting: Annotated[HaltingRule | None, Field(description="when to stop; the model's own rule if left out")] = None
    placement: Annotated[PlacementRule, Field(description="how the symbols get onto the grid")] = "auto"
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63, description="of the draws of sampled halting")] = 0


class Problem(Closed):
    """Why a request was refused."""

    error: str
    limit: Annotated[str | None, Field(description="the limit that was exceeded, as the server's option names it")] = (
        None
    )


class ModelView(Closed):
    """A model that can be asked."""

    name: str
    variant: str
    seed: int
    parameters: int
    epochs: int
    halting_rules: Annotated[dict[str, str], Field(description="those this model can follow, its own first")]


class LimitView(Closed):
    """One limit of this server."""

    name: str
    most: int
    meaning: str


class Health(Closed):
    """The server answers; how busy it is."""

    status: str = "ok"
    taken: Annotated[int, Field(description="requests being worked on or waiting")]


class AnswerView(Closed):
    """What the network said."""

    expression: str
    answer: Annotated[str, Field(description="the network's answer, right or wrong")]
    expected: Annotated[str, Field(description="the true sum")]
    correct: bool
    steps: int
    halting: str
    placement: str
    capped: Annotated[bool, Field(description="whether the limit on steps ended it")]
    model: str
    milliseconds: Annotated[float, Field(description="of computation")]

    @classmethod
    def of(cls, answer: Answer, model: str, seconds: float, **more: Any) -> Self:
        told = {name: getattr(answer, name) for name in AnswerView.model_fields if hasattr(answer, name)}
        return cls(**told, model=model, milliseconds=round(1000 * seconds, 1), **more)


class Cells(Closed):
    """A grid as it reads: one string a row, a space for PAD."""

    symbols: list[str]
    confidence: Annotated[list[list[int]], Field(description="per cent")]


class Reading(Cells):
    """The grid after n steps."""

    n: int
    halting: Annotated[Probability | None, Field(description="λ_n; null for models that do not decide when to halt")]
    probability: Annotated[Probability | None, Field(description="p_n, of halting at n")]
    cumulated: Annotated[Probability | None, Field(description="of having halted by n")]
    change: Annotated[float | None, Field(description="root mean square change of the cells' vectors since n − 1")]


class Action(Closed):
    """What a symbol does to the grid: the probabilities of the three actions."""

    write: Annotated[Probability, Field(description="TLU: it is written to the top row")]
    push: Annotated[Probability, Field(description="NLP: it starts a new row")]
    skip: Annotated[Probability, Field(description="NOP: it is ignored")]


class TraceView(AnswerView):
    """The whole computation, but for attention and vectors."""

    rows: int
    columns: int
    input: str
    actions: Annotated[list[Action], Field(description="of each input symbol")]
    placed: Annotated[Cells, Field(description="which input symbol each cell received, and how much of it")]
    readings: list[Reading]

    @classmethod
    def of_trace(cls, trace: Trace, seconds: float) -> Self:
        inside = trace.inside
        rows, columns = inside.decoded.shape[1:3]
        actions = inside.actions.double().round(decimals=_DECIMALS).tolist()
        placed = written(inside, trace.answer.placement)
        letters = {**dict(enumerate(inside.alphabet)), SHARED: UNSURE}
        return cls.of(
            trace.answer,
            trace.model.name,
            seconds,
            rows=rows,
            columns=columns,
            input=trace.input,
            actions=[Action(write=write, push=push, skip=skip) for write, push, skip in actions],
            placed=Cells(
                symbols=["".join(letters[code] for code in row) for row in placed.symbols.tolist()],
                confidence=_per_cent(placed.shares.amax(-1)),
            ),
            readings=_readings(trace),
        )


def _readings(trace: Trace) -> list[Reading]:
    inside, curve = trace.inside, halting_curve(trace.inside)
    confidence, codes = inside.decoded.max(-1)
    per_cent, read = _per_cent(confidence), codes.tolist()
    change = [None, *(round(value, _DECIMALS) for value in changes(inside))]
    return [
        Reading(
            n=n,
            halting=curve and curve.halting[n],
            probability=curve and curve.probability[n],
            cumulated=curve and curve.halted[n],
            change=change[n],
            symbols=["".join(inside.alphabet[code] for code in row) for row in read[n]],
            confidence=per_cent[n],
        )
        for n in range(len(read))
    ]


def _per_cent(shares: Any) -> list[Any]:
    return (100 * shares).round().int().tolist()
