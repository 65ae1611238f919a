"""Training of the network of bits: phases, problems, a fleet as its runs alone, and a folder from nothing to proofs."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch

from gridsum.config.exact import ExactConfig, Phase, RuleConfig
from gridsum.config.fields import override
from gridsum.config.registry import find
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load, load_runs
from gridsum.study.watch import look
from gridsum.training import loop
from gridsum.training.discovery import at_step, draw, grid_of, place, rate, recurrent_steps
from gridsum.training.exact import ExactGradients
from gridsum.training.folders import FolderError, load_checkpoint, read_metrics
from gridsum.training.loop import Fleet, train
from tests.faults.trainings import CPU, outcome
from tests.oracles.column_addition import ADD
from tests.training.test_loop import Told

TINY = override(
    ExactConfig(rule=RuleConfig(bits=4, width=8, hidden=8, placement_hidden=8, groups=2)),
    {
        "discovery.batch": 8,
        "discovery.epoch_steps": 2,
        "discovery.harden_accuracy": 0.005,
        "phases.place.steps": 2,
        "phases.soft.steps": 2,
        "phases.bits.steps": 5,
        "phases.long.steps": 2,
        "phases.long.digits": (1, 4),
        **{f"phases.{name}.recurrent": (2, 4) for name in ("place", "soft", "bits", "long")},
        "consolidation.problems": 40,
        "consolidation.rounds": 1,
        "consolidation.steps": 3,
        "consolidation.batch": 64,
        "consolidation.digits": (1, 2),
        "consolidation.enough": 1e-6,  # they learn little in so few steps
    },
)
AGAIN = override(TINY, {"phases.place.patience": 1, "discovery.epoch_steps": 1})
OWN = override(TINY, {"rule.neighbours": "left right below own", "phases.place.patience": 1})


def trained(config: ExactConfig, seeds: tuple[int, ...]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    fleet = Fleet(config, seeds, CPU)
    logged = [fleet.train_step(number) for number in range(config.steps)]
    return torch.stack(logged), {name: tensor.detach().clone() for name, tensor in fleet.state().items()}


def test_the_rate_of_a_phase_grows_at_first_and_then_changes_evenly():
    phase = Phase(steps=200, rate_start=4e-3, rate_end=2e-3)
    assert rate(phase, 0) == pytest.approx(4e-3 / 50)
    assert [rate(phase, index) for index in (49, 100)] == pytest.approx([4e-3 - 2e-3 * 49 / 200, 3e-3])
    again = Phase(steps=1200, patience=400)
    assert [rate(again, index) for index in (400, 449, 800)] == pytest.approx([1e-3 / 50, 1e-3, 1e-3 / 50])


def test_every_training_step_has_its_phase():
    names = [at_step(TINY, number)[0] for number in range(TINY.steps)]
    assert names == ["place"] * 2 + ["soft"] * 2 + ["bits"] * 5 + ["long"] * 2
    assert [at_step(TINY, number)[2] for number in (0, 1, 2, 6, 10)] == [0, 1, 0, 2, 1]
    with pytest.raises(ValueError, match="phases end"):
        at_step(TINY, TINY.steps)


def test_a_run_that_answers_nothing_is_drawn_anew_and_one_that_answers_goes_on(tmp_path):
    """The others do not notice; its moments and its rate begin again; the log says it."""
    config = override(TINY, {"phases.place.patience": 1, "discovery.epoch_steps": 1})

    def second_step(*right: float) -> Fleet:
        begun, taken_up = Fleet(config, (3, 8), CPU), Fleet(config, (3, 8), CPU)
        begun.train_step(0)
        assert isinstance(begun.gradients, ExactGradients)
        begun.gradients.results.copy_(torch.tensor(right))
        taken_up.take_up(begun.checkpoint())
        taken_up.train_step(1)
        return taken_up

    fleet, content = second_step(0.1, 0.5), second_step(0.5, 0.5)
    assert fleet.draws.tolist() == [2, 1]
    assert fleet.optimiser.updates.tolist() == [1, 2]
    assert torch.equal(fleet.optimiser.weights[1], content.optimiser.weights[1])
    assert not torch.allclose(fleet.optimiser.weights[0], content.optimiser.weights[0], atol=0.1)
    gradients = content.gradients
    assert isinstance(gradients, ExactGradients)
    gradients.results.fill_(0.5)
    gradients.certain.copy_(torch.tensor([0.5, 0.6]))
    gradients.config = override(config, {"phases.place.steps": 3})
    assert gradients.hopeless(1) == [], "it may take its time"
    assert gradients.hopeless(2) == [0], "it answers by mixtures of actions, and settles on none"
    told = Told()
    train(override(config, {"consolidation.rounds": 0}), [3], tmp_path / "runs", CPU, shown=told)
    assert told.warnings == ["seed 3: too few results were right, so its weights were drawn anew in epoch 2"]
    assert [line.get("draws", 1) for line in read_metrics(tmp_path / "runs", 3)][:3] == [1, 2, 2]


def test_all_recurrent_lengths_of_a_phase_are_drawn():
    for phase in vars(TINY.phases).values():
        low, high = phase.recurrent
        assert {recurrent_steps(phase, number) for number in range(300)} == set(range(low, high + 1))


@pytest.mark.parametrize("name", ["place", "soft", "long"])
def test_the_problems_and_grids_of_a_batch(name):
    """Half of either group, each run with a grid of its own for each, big enough for every result."""
    config = override(TINY, {"discovery.batch": 12})
    phase, shared = getattr(config.phases, name), config.discovery
    largest, sizes = grid_of(phase, shared), set()
    for number in range(12):
        problems = draw(phase, shared, Stream.of_seeds([1, 5]).fold(number))
        assert problems.inside.shape == (2, 12, *largest, 1)
        for run in range(2):
            for problem in range(12):
                space = phase.groups[problem // 6]
                terms = ADD.parse(ADD.decode(problems.symbols[run, problem].tolist()))
                assert space.terms[0] <= len(terms) <= space.terms[1]
                assert all(space.digits[0] <= len(term) <= space.digits[1] for term in terms)
                assert ADD.decode(problems.targets[run, problem].tolist()) == str(sum(map(int, terms)))
                grid = problems.inside[run, problem, ..., 0]
                rows, columns = int(grid.any(1).sum()), int(grid.any(0).sum())
                assert grid[:rows, -columns:].all(), "rows from the top, columns from the right"
                assert int(grid.sum()) == rows * columns
                assert rows - space.terms[1] - shared.spare_rows in (0, 1)
                assert columns - space.digits[1] - shared.spare_columns in (0, 1)
                sizes.add((problem // 6, rows, columns))
            halves = problems.inside[run].view(2, 6, -1)
            assert (halves == halves[:, :1]).all()
    assert len(sizes) == 2 * 2 * 2


def test_what_is_placed_certainly_stands_in_one_cell():
    network = RuleNetwork(TINY.rule, [0])
    phase = TINY.phases.soft
    problems = draw(phase, TINY.discovery, Stream.of_seeds([0]))
    soft, sure = place(network, problems, 0), place(network, problems, 8)
    mixed = place(network, problems, 3)
    torch.testing.assert_close(mixed[:, :5], soft[:, :5])
    torch.testing.assert_close(mixed[:, 5:], sure[:, 5:])
    symbols = torch.cat((network.embedding.weight[0], torch.zeros(1, TINY.rule.width)))
    nearest = (sure[0].flatten(0, 2)[:, None] - symbols).abs().amax(-1).amin(-1)
    assert float(nearest.detach().max()) < 1e-5
    network.decided[:] = True
    torch.testing.assert_close(place(network, problems, 0), sure)


@pytest.mark.parametrize("config", [TINY, OWN], ids=["three", "own"])
def test_a_fleet_trains_each_run_as_if_alone(config):
    """Over all phases, through new draws and the hardening of placement."""
    seeds = (3, 8)
    logged, state = trained(config, seeds)
    assert (state["draws"] == 2 if config.phases.place.patience == 1 else state["draws"] == 1).all()
    assert state["decided"].any(), "the test must see placement harden"
    for run, seed in enumerate(seeds):
        alone_logged, alone = trained(config, (seed,))
        torch.testing.assert_close(logged[:, :, run], alone_logged[:, :, 0], rtol=1e-4, atol=1e-5)
        of_run = {name: part[run : run + 1] for name, part in state.items()}
        torch.testing.assert_close(of_run, alone, rtol=1e-4, atol=1e-5)
    assert not torch.equal(state["mean"][0], state["mean"][1])


def test_what_is_held_out_is_solved_as_it_would_be_asked():
    """A run is told how many of 64 new results it has right: by the grids on which they are solved."""
    fleet = Fleet(TINY, (0, 1), CPU)
    found = fleet.held_out()
    assert all(share * 64 % 1 == 0 for share in found["held_out"])
    assert found["hardened"] == (False, False)
    shipped = load("exact")
    batch = sample(Space((1, 4), (1, 6)), 64, Stream.of_seeds([0]))
    right = find("exact").held_out(shipped.network, shipped.config, batch, Stream.of_seeds([0]))
    assert (right["held_out"].item(), right["hardened"].item()) == (1.0, True), "what is proved"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole training of two seeds, which begin again."""
    path = tmp_path_factory.mktemp("exact") / "run"
    train(AGAIN, (0, 4), path, CPU)
    return path


def test_from_nothing_to_proofs(folder: Path):
    results = [json.loads((folder / f"seed-{seed}" / "proof.json").read_text()) for seed in (0, 4)]
    for seed, result in zip((0, 4), results, strict=True):
        assert result["seed"] == seed
        assert result["proved"] is False, "eleven tiny steps teach nothing"
        assert len(result["rounds"]) == 1
        assert result["why"].startswith("training failed")
        log = read_metrics(folder, seed)
        assert [line["epoch"] for line in log] == list(range(1, 12))
        assert log[-1]["phase"] == "long"
        model = load_runs("exact", [folder / f"seed-{seed}" / "weights.safetensors"])
        assert (model.config, model.seeds) == (AGAIN, (seed,))
    checkpoint = load_checkpoint(folder)
    assert (checkpoint.epoch, checkpoint.seeds) == (11, [0, 4])


def test_what_is_done_is_not_done_again(folder: Path):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    results = train(AGAIN, (0, 4), folder, CPU, resume=True)
    assert [result["seed"] for result in results] == [0, 4]
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert before == after


@pytest.mark.parametrize(
    ("function", "calls"), [("save_checkpoint", 1), ("save_checkpoint", 3), ("save_run", 2 * 11 + 1)]
)
def test_a_stopped_training_is_resumed_as_if_it_had_not_been(
    function: str, calls: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Before it begins again, after its third checkpoint, or between the two proofs."""
    home = loop if function == "save_run" else loop.folders
    path, left, call = tmp_path / "run", iter(range(calls)), getattr(home, function)

    def interrupted(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return call(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(home, function, interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(AGAIN, (0, 4), path, CPU)
    train(AGAIN, (0, 4), path, CPU, resume=True)
    assert outcome(path) == outcome(folder)


@pytest.mark.parametrize("harm", ["claims", "other weights", "[]"])
def test_a_proof_that_is_not_of_its_weights_is_told(harm: str, folder: Path, tmp_path: Path):
    """By whoever reads it: `watch` and resuming; made again, it is as it was."""
    place = Path(shutil.copytree(folder, tmp_path / "run"))
    proof, weights = (place / "seed-0" / name for name in ("proof.json", "weights.safetensors"))
    before = outcome(place)
    if harm == "claims":
        proof.write_text(proof.read_text().replace('"proved": false', '"proved": true'))
    elif harm == "other weights":
        weights.write_bytes((place / "seed-4" / "weights.safetensors").read_bytes())
    else:
        proof.write_text(harm)
    for read in (look, partial(train, AGAIN, (0, 4), device=CPU, resume=True)):
        with pytest.raises(FolderError, match=r"seed-0/proof\.json cannot be used .*remove it"):
            read(folder=place)
    proof.unlink()
    train(AGAIN, (0, 4), place, CPU, resume=True)
    assert look(place).proofs == {0: False, 4: False}
    assert outcome(place) == before


def test_consolidation_may_be_given_more(folder: Path):
    more = override(AGAIN, {"consolidation.rounds": 2})
    assert [result["seed"] for result in train(more, (0, 4), folder, CPU, resume=True)] == [0, 4]


def test_a_run_from_which_no_rule_can_be_taken_says_why(tmp_path: Path):
    config = override(AGAIN, {"rule.neighbours": "left right below above", **{
        f"phases.{name}.steps": 0 for name in ("soft", "bits", "long")}})  # fmt: skip
    (result,) = train(config, (2,), tmp_path / "run", CPU)
    assert result["proved"] is False
    assert "see left, right, below, above" in result["why"]
