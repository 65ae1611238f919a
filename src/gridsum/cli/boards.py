"""TensorBoard logs of a training, for those who have it installed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.options import UsageError

if TYPE_CHECKING:
    from gridsum.training.loop import Epoch


class Boards:
    """One log for each seed, opened with the first epoch: a refused run leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UsageError(
                "TensorBoard is not installed; install it with: pip install '.[tensorboard]', "
                "or leave --tensorboard out (metrics.jsonl holds the same numbers)"
            ) from None
        self._open, self._folder, self._writers = SummaryWriter, folder, dict[int, Any]()

    def write(self, epoch: "Epoch") -> None:
        from gridsum.training.folders import seed_folder

        for run, seed in enumerate(epoch.seeds):
            if seed not in self._writers:
                # What a killed run logged past its checkpoint comes again, and is dropped here.
                log = str(seed_folder(self._folder, seed))
                self._writers[seed] = self._open(log, purge_step=epoch.number)
            if epoch.alive[run]:
                for name, values in epoch.means.items():
                    self._writers[seed].add_scalar(name, values[run], epoch.number)
                self._writers[seed].add_scalar("learning_rate", epoch.learning_rate, epoch.number)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
