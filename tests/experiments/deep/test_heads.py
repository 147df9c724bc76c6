"""A head that is fitted too long: it stops where its log-loss comes to the target, and says what its layers say."""

import numpy as np
import pytest
from scipy.special import log_softmax

from clustcal.experiments.deep.heads import fit_overconfident_head


@pytest.fixture
def noisy():
    """Three classes of which a third of the labels are wrong: a head that is fitted for long is too sure of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=600)
    features = rng.normal(size=(600, 20)) * np.arange(1, 21) + 2.0 * np.eye(3)[truth] @ np.ones((3, 20))
    features[:, :3] += 3 * np.eye(3)[truth]
    y = np.where(rng.random(600) < 1 / 3, rng.integers(3, size=600), truth)
    return features, y


def fit(noisy, target, **options):
    return fit_overconfident_head(*noisy, target_nll=target, hidden=32, max_epochs=300, **options)


def nll(outputs):
    return -log_softmax(outputs.logits, axis=1)[np.arange(len(outputs.y)), outputs.y].mean()


def test_it_stops_at_the_first_epoch_at_the_target(noisy):
    outputs, n_train, n_epochs = fit(noisy, 1.35)
    assert n_train == 200
    assert nll(outputs) >= 1.35
    earlier, _, fewer = fit(noisy, 1.2)
    assert fewer < n_epochs
    assert 1.2 <= nll(earlier) < 1.35


def test_it_is_too_sure_by_then(noisy):
    outputs, _, _ = fit(noisy, 1.35)
    P = np.exp(log_softmax(outputs.logits, axis=1))
    assert P.max(axis=1).mean() > (P.argmax(axis=1) == outputs.y).mean() + 0.1


def test_outputs_are_of_the_rows_left_out_in_their_order(noisy):
    features, y = noisy
    outputs, n_train, _ = fit(noisy, 1.2)
    assert len(outputs.rows) == 600 - n_train
    assert (np.diff(outputs.rows) > 0).all()
    assert np.array_equal(outputs.y, y[outputs.rows])
    assert np.array_equal(outputs.representations["pooled"], features[outputs.rows])
    assert outputs.representations["hidden"].shape == (400, 32)
    # The logits are an affine map of the hidden layer, so that 33 numbers explain each of them in full.
    design = np.column_stack([outputs.representations["hidden"], np.ones(400)])
    explained = design @ np.linalg.lstsq(design, outputs.logits, rcond=None)[0]
    np.testing.assert_allclose(explained, outputs.logits, atol=1e-6)


def test_the_same_seed_gives_the_same_head_and_another_one_another(noisy):
    first, again, other = (fit(noisy, 1.2, seed=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first.logits, again.logits)
    assert not np.array_equal(first.rows, other.rows)


def test_a_target_that_is_not_reached_is_said(noisy):
    with pytest.raises(ValueError, match=r"after 3 epochs; expected it to rise to 50"):
        fit_overconfident_head(*noisy, target_nll=50, hidden=8, max_epochs=3)
