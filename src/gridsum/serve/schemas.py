"""What the API takes and gives, as it is documented."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridsum.evaluation.solving import PlacementRule
from gridsum.model.inference import HaltingRule
from gridsum.tasks import find


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
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63, description="random seed for sampled halting")] = 0


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
    milliseconds: Annotated[float, Field(description="time of computation")]


class Frame(BaseModel):
    """The grid of H rows × W columns after n steps."""

    n: int
    halting: Annotated[float | None, Field(alias="lambda", description="λ_n; null for models without halting network")]
    p: Annotated[float | None, Field(description="p_n, the probability of halting at n")]
    cumulated: Annotated[float | None, Field(description="probability of having halted by n")]
    symbols: Annotated[list[list[str]], Field(description="H × W, what the output layer reads in each cell")]
    confidence: Annotated[list[list[float]], Field(description="H × W, its probability")]
    states: Annotated[list[list[int]] | None, Field(description="H × W, where the model is a rule")] = None


class TraceView(AnswerView):
    """The whole computation, but for attention and vectors: what `gridsum solve --trace` prints."""

    alphabet: Annotated[list[str], Field(description="the first, a space, is PAD: a blank")]
    symbols: Annotated[list[str], Field(description="the input, character by character")]
    action_names: Annotated[list[str], Field(description="append to the top row, push a new row, ignore")]
    actions: Annotated[list[list[float]], Field(description="their probabilities, for each input symbol")]
    frames: Annotated[list[Frame], Field(description="for each n from 0, before any step")]
