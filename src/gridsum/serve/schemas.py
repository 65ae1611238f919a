"""What the API takes and gives, as it is documented."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridsum.data.answers import HaltingRule, PlacementRule

_SUM = r"^\s*[0-9]+\s*(\+\s*[0-9]+\s*)*(=\s*)?$"
"""A sum of the models that come with gridsum; another model reads those of its own task."""


class Closed(BaseModel):
    """Misspelt fields are an error."""

    model_config = ConfigDict(extra="forbid")


class SumRequest(Closed):
    """A sum, and how to work it out."""

    # The pattern is told, not enforced: parsing explains what is wrong in words.
    expression: str = Field(examples=["523+102+9416"], json_schema_extra={"pattern": _SUM})
    model: Annotated[str | None, Field(description="a name from GET /models; the first one if left out")] = None
    halting: Annotated[HaltingRule | None, Field(description="when to stop; the model's own rule if left out")] = None
    placement: Annotated[PlacementRule, Field(description="how the symbols get onto the grid")] = "auto"
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63, description="random seed for sampled halting")] = 0


class Problem(Closed):
    """Why a request was refused."""

    error: str


class ModelView(Closed):
    """A model that can be asked."""

    name: str
    variant: str
    seed: int
    parameters: int
    epochs: int


class Health(Closed):
    """The server answers; how busy it is."""

    status: str = "ok"
    taken: Annotated[int, Field(description="long requests being worked on or waiting")]


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
    milliseconds: Annotated[float, Field(description="time of computation")]
