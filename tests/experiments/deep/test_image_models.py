"""Networks that read images see them in the form they were trained on."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from clustcal.experiments.deep import image_models
from clustcal.experiments.deep.image_models import PreparedImages

torch = pytest.importorskip("torch")


def numbers(tensor):
    return tensor.detach().numpy()


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
