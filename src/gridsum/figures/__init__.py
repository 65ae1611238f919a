"""Pictures, each a function from data to a matplotlib figure, which shows itself in a notebook; `save` writes it as
SVG, PNG or PDF. Nothing is said by colour alone."""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError:
    raise ImportError("figures need matplotlib; install it with: pip install '.[figures]'") from None

from gridsum.figures.attention import plot_attention as plot_attention
from gridsum.figures.baselines import plot_baselines as plot_baselines
from gridsum.figures.curves import plot_terms as plot_terms
from gridsum.figures.curves import plot_training as plot_training
from gridsum.figures.ring import plot_rings as plot_rings
from gridsum.figures.steps import plot_placement as plot_placement
from gridsum.figures.steps import plot_steps as plot_steps
from gridsum.figures.study import plot_carries as plot_carries
from gridsum.figures.study import plot_numbers as plot_numbers
from gridsum.figures.style import save as save
