import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image

from gridsum.analysis.attention import clearest, head_rules
from gridsum.analysis.ring import DigitVectors, digit_vectors, ring
from gridsum.evaluation.intervals import interval
from gridsum.evaluation.records import read
from gridsum.figures import (
    plot_attention,
    plot_placement,
    plot_rings,
    plot_steps,
    plot_terms,
    plot_training,
    save,
)
from gridsum.figures.curves import terms_curves, training_curve
from gridsum.figures.steps import CHANGED_EDGE
from gridsum.model.store import shipped_records
from tests.oracles.column_addition import ADD

BASE = Path(__file__).parents[2] / "results" / "base"


def heights(line: Line2D) -> np.ndarray:
    return np.array(line.get_xydata(), dtype=float)[:, 1]


def test_a_figure_becomes_a_picture_of_every_kind(brief, tmp_path):
    """And the same one each time; the settings of the caller stay."""
    answer, trace = brief
    with matplotlib.rc_context({"font.size": 31, "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        figure = plot_steps(trace, answer)
        assert dict(matplotlib.rcParams) == before
    for suffix in ("png", "svg", "pdf"):
        save(figure, tmp_path / f"steps.{suffix}")
    assert 0.01 < (np.asarray(Image.open(tmp_path / "steps.png").convert("L")) < 250).mean() < 0.9, "not white"
    assert ElementTree.parse(tmp_path / "steps.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "steps.pdf").read_bytes().startswith(b"%PDF")
    again = plot_steps(trace, answer)
    assert (tmp_path / "steps.png").read_bytes() == again._repr_png_(), "the same in a notebook"
    save(again, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "steps.svg").read_bytes()


def test_placement_shows_every_symbol_and_probability(right, texts):
    answer, trace = right
    figure = plot_placement(trace, answer)
    said = texts(figure)
    (table,) = (axes.images[0].get_array() for axes in figure.axes if axes.images)
    assert table is not None
    np.testing.assert_allclose(table, trace.actions.T.numpy())
    assert said.count("1.00") == (trace.actions > 0.995).sum()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list("523+102+9416=")
    assert any("push a new row" in text for text in said)


def test_steps_show_what_changed(right, texts):
    answer, trace = right
    figure = plot_steps(trace, answer)
    codes = trace.decoded.argmax(-1)
    changes = (codes[1:] != codes[:-1]).flatten(1).sum(1)
    panels = 1 + int((changes > 0).sum()) + int(changes[-1] == 0)
    assert len(figure.axes) == panels
    frames = [
        patch
        for axes in figure.axes
        for patch in axes.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_edgecolor()) == CHANGED_EDGE
    ]
    assert len(frames) == int(changes.sum())
    said = " ".join(texts(figure))
    assert "523+102+9416=10041" in said
    assert "✓ right" in said
    assert f"reads {ADD.decode(codes[-1, 0].tolist())}" in said
    wrong = plot_steps(trace, dataclasses.replace(answer, expected="16"))
    assert any("✗ wrong: it is 16" in text for text in texts(wrong))


def test_attention_shows_the_clearest_of_each_kind(base, right, texts):
    _, trace = right
    rules = head_rules(base.network.step.attention, [trace])
    figure = plot_attention(trace, base.network.step.attention)
    said = " ".join(texts(figure))
    for rule in (clearest(rules, "position"), clearest(rules, "content")):
        assert f"head {rule.head}: {rule.label}" in said
        assert f" {rule.position:.2f}" in said
    assert "64 heads: " in said


def test_rings_show_points_means_and_number(base, texts):
    (vectors,) = digit_vectors(base, problems=8)
    rings = [ring(5, vectors), ring(5, vectors, (3, 4))]
    figure = plot_rings(rings)
    said = texts(figure)
    for axes, shown in zip(figure.axes, rings, strict=True):
        joined = np.array(axes.lines[0].get_xydata(), dtype=float)
        np.testing.assert_allclose(joined[:10], shown.centroids)
        np.testing.assert_allclose(joined[10], shown.centroids[0])
        drawn = {text.get_text(): text.get_position() for text in axes.texts}
        np.testing.assert_allclose([drawn[str(digit)] for digit in range(10)], shown.centroids)
    assert any("seed 5: winds twice" in text for text in said)


def test_a_network_that_never_reads_a_digit_gets_a_panel_that_says_so(texts):
    rng = np.random.default_rng(0)
    figure = plot_rings([ring(3, DigitVectors(rng.normal(size=(200, 8)), rng.integers(0, 9, 200)))])
    assert "seed 3: never reads 9" in texts(figure)
    assert len(figure.axes) == 1


def test_terms_show_the_records_and_the_papers_scores(texts):
    records = read([shipped_records("base")])
    figure = plot_terms(records)
    accuracy, steps = figure.axes
    shown = terms_curves(records)[0].records.values()
    np.testing.assert_allclose(heights(accuracy.lines[0]), [record.char for record in shown])
    np.testing.assert_allclose(heights(steps.lines[0]), [record.steps_mean or 0 for record in shown])
    band = accuracy.collections[0].get_datalim(accuracy.transData)
    assert band.y0 == pytest.approx(min(interval(record, "char")[0] for record in shown))
    crosses = [line for line in accuracy.lines if line.get_marker() == "+"]
    assert [list(heights(line)) for line in crosses] == [[1.0, 0.98, 0.86, 0.40, 0.09, 0.03]]
    assert "base in the paper, whole answers" in texts(figure)


def test_the_labels_of_many_models_cover_no_curve():
    names = ("base", "ponderReg", "noGroups")
    figure = plot_terms(read([shipped_records(name) for name in names]))
    (legend,) = figure.legends
    figure.draw_without_rendering()
    assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in figure.axes)
    labels = [text.get_text() for text in legend.get_texts()]
    assert [f"{name}, characters" in labels for name in names] == [True] * 3
    assert labels.count("base in the paper, characters") == 1, "the paper's are shown once for both runs of base"


def test_training_shows_mean_and_band(texts):
    folders = [BASE, BASE.with_name("ponderReg")]
    curve, other = map(training_curve, folders)
    figure = plot_training(folders)
    (axes,) = figure.axes
    np.testing.assert_allclose(heights(axes.lines[1]), other.mean)
    band = axes.collections[0].get_datalim(axes.transData)
    assert band.y1 == pytest.approx((curve.mean + curve.sd).max())
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len({colour for colour, _ in styles}) == len({dash for _, dash in styles}) == 2
    assert "ponderReg: KL to a geometric (10 seeds)" in texts(figure)
