"""What the API takes and gives, as it is documented."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gridsum.evaluation.solving import PlacementRule
from gridsum.model.inference import HaltingRule
from gridsum.tasks import find

Probability = Annotated[float, Field(ge=0, le=1)]
Index = Annotated[int, Field(strict=True, ge=0)]


class Closed(BaseModel):
    """Misspelt fields are an error."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


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


class CellRequest(SumRequest):
    """A cell of that computation: rows from the top and columns from the left, both from 0."""

    row: Index
    column: Index


class AttentionRequest(CellRequest):
    """The attention that led to reading `step` + 1."""

    step: Index


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
    heads: int
    kernel: int
    halting_rules: Annotated[dict[str, str], Field(description="those this model can follow, its own first")]


class LimitView(Closed):
    """One limit of this server."""

    name: str
    most: int
    meaning: str


class AnswerView(Closed):
    """What the network said."""

    expression: str
    answer: Annotated[str, Field(description="the network's answer, right or wrong")]
    exact: Annotated[str, Field(description="the true sum")]
    correct: bool
    steps: int
    halting: str
    placement: str
    capped: Annotated[bool, Field(description="whether the limit on steps ended it")]
    model: str
    milliseconds: Annotated[float, Field(description="of computation")]


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
    """The whole computation, but for attention and vectors, which are asked for cell by cell."""

    rows: int
    columns: int
    input: str
    actions: Annotated[list[Action], Field(description="of each input symbol")]
    placed: Annotated[Cells, Field(description="which input symbol each cell received, and how much of it")]
    readings: list[Reading]


class ScoreView(Closed):
    """The four terms of a head's score for each neighbour, row by row (Eq. 6)."""

    query_key: Annotated[list[float], Field(description="Q·K")]
    bias_key: Annotated[list[float], Field(description="s·K")]
    query_position: Annotated[list[float], Field(description="Q·r")]
    bias_position: Annotated[list[float], Field(description="s·r")]


class HeadAttention(Closed):
    """Where one head of the chosen cell looks."""

    weights: Annotated[list[Probability], Field(description="of each neighbour, row by row")]
    terms: ScoreView


class AttentionView(Closed):
    """Where all heads of the chosen cell look."""

    step: int
    row: int
    column: int
    kernel: int
    heads: list[HeadAttention]


class HeadView(Closed):
    """What decides where a head looks, measured on the model's reference sums."""

    head: int
    label: str
    position: Annotated[float, Field(description="bits")]
    border: Annotated[float, Field(description="bits")]
    content: Annotated[float, Field(description="bits")]
    mean_attention: list[Probability]


class HeadsView(Closed):
    """All heads of a model."""

    model: str
    criterion: str
    reference: Annotated[list[str], Field(description="the sums that it was measured on")]
    heads: list[HeadView]


class Point(Closed):
    """A place on the plane."""

    x: float
    y: float


class PlanePoint(Point):
    """A cell of a reference sum on the plane."""

    digit: Annotated[int, Field(ge=0, le=9)]


class PlaneView(Closed):
    """The plane of the first two principal components of vectors that read as digits."""

    model: str
    explained: Annotated[tuple[float, float], Field(description="share of the variance along each axis")]
    adjacent: Annotated[
        float | None,
        Field(
            description="share of the pairs d, d + 1 (mod 10) that are neighbours by angle; null if a digit is missing"
        ),
    ]
    p_value: Annotated[float | None, Field(description="how probable that is or more if all orders are alike")]
    winding: Annotated[int | None, Field(description="how often the digits go around from 0 to 9 and back to 0")]
    phase: Annotated[float | None, Field(description="how well that fits: 1 if the angles are exact")]
    centroids: list[PlanePoint]
    points: list[PlanePoint]


class PathView(Closed):
    """The chosen cell on the plane, at every reading."""

    row: int
    column: int
    points: list[Point]


class Health(Closed):
    """Whether the server answers, and how busy it is."""

    status: Literal["ok", "stopping"] = "ok"
    taken: Annotated[int, Field(description="requests being worked on or waiting")]
