"""The dropout of a rollout, as a function of a stream."""

from typing import TYPE_CHECKING, TypeAlias, Union

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.ops.dropout.plain import Dropouts
from gridsum.ops.forms import Form
from gridsum.ops.grids import GridSize

if TYPE_CHECKING:
    from gridsum.ops.dropout.triton import PackedDropouts

AnyDropouts: TypeAlias = Union[Dropouts, "PackedDropouts"]


def dropouts(
    stream: Stream, config: ModelConfig, problems: int, size: GridSize, steps: int, form: Form
) -> AnyDropouts | None:
    """The dropout of a rollout of so many steps; None where the network has none."""
    drops = Dropouts.of(stream, config, problems, size, steps)
    in_bytes = all(side % 8 == 0 for side in (config.width, config.step_hidden, config.context_hidden))
    if drops is None or form != "triton" or not in_bytes:
        return drops
    from gridsum.ops.dropout.triton import PackedDropouts

    return PackedDropouts.of(drops, steps, config)
