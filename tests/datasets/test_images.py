"""The readers of images, on small files of the same form and on the files themselves."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clustcal.datasets import fetch, images, load

PIL = pytest.importorskip("PIL.Image", reason="images are decoded with Pillow")
COUNTS = {"train": 3, "val": 1, "test": 2}


def draw(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def encode(pixels, form):
    stream = io.BytesIO()
    options = {"lossless": True} if form == "WEBP" else {}
    PIL.fromarray(pixels).save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize("colours", [(), (3,)], ids=["grey", "in colour"])
def test_a_medmnist_file_gives_its_parts_in_order(tmp_path, colours):
    arrays = {f"{part}_images": draw((n, 28, 28, *colours), n) for part, n in COUNTS.items()}
    arrays |= {f"{part}_labels": np.arange(n, dtype=np.uint8)[:, None] for part, n in COUNTS.items()}
    np.savez(tmp_path / "bloodmnist.npz", **arrays)
    X, y, part, classes = images.read_bloodmnist({"bloodmnist.npz": tmp_path / "bloodmnist.npz"})
    assert X.shape == (6, 28, 28, 3)
    assert y.tolist() == [0, 1, 2, 0, 0, 1]
    assert part.tolist() == ["train"] * 3 + ["val"] + ["test"] * 2
    assert len(classes) == 8
    for colour in range(3):
        expected = arrays["test_images"][1, ..., colour] if colours else arrays["test_images"][1]
        assert_array_equal(X[5, ..., colour], expected)


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """A user's unpacked copy of the binary version of CIFAR-100, in which every row is known."""
    folder = tmp_path / "cifar100" / "cifar-100-binary"
    folder.mkdir(parents=True)
    for name, size in (("train", 50_000), ("test", 10_000)):
        rows = np.zeros((size, 2 + 3072), np.uint8)
        rows[:, 0] = 77  # the superclass, which is not read
        rows[:, 1] = np.arange(size) % 100
        rows[:, 2] = 1  # red of the upper left pixel
        rows[:, 2 + 1024 + 33] = 2  # green of the second pixel of the second row
        rows[:, -1] = 3  # blue of the lower right pixel
        rows.tofile(folder / f"{name}.bin")
    (folder / "fine_label_names.txt").write_text("".join(f"class_{i}\n" for i in range(100)) + "\n")
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    return folder


def test_the_official_binaries_of_cifar100_are_read(cifar):
    data = load("cifar100")
    assert data.X.shape == (60_000, 32, 32, 3)
    assert data.X[59_999].sum(axis=(0, 1)).tolist() == [1, 2, 3]
    assert (data.X[0, 0, 0, 0], data.X[0, 1, 1, 1], data.X[0, 31, 31, 2]) == (1, 2, 3)
    assert (data.y[123], data.part[49_999], data.part[50_000]) == (23, "train", "test")
    assert data.classes[99] == "class_99"


def test_a_short_file_of_cifar100_is_refused(cifar):
    with open(cifar / "test.bin", "r+b") as stream:
        stream.truncate(1000)
    with pytest.raises(FileNotFoundError, match=r"cifar-100-binary\.tar\.gz"):
        load("cifar100")


def test_sheets_are_cut_row_by_row(tmp_path):
    pictures = draw((2000, 32, 32, 3), 0)
    sheet = pictures.reshape(40, 50, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(40 * 32, 50 * 32, 3)
    np.savez(
        tmp_path / "cifar100_test.npz",
        n=1999,
        sheet_00=np.frombuffer(encode(sheet, "WEBP"), np.uint8),
        labels=np.arange(1999, dtype=np.uint8),
        classes=np.array(["apple", "baby"]),
    )
    X, y, part, classes = images.read_cifar100_test({"cifar100_test.npz": tmp_path / "cifar100_test.npz"})
    assert_array_equal(X, pictures[:1999])
    assert (len(y), set(part), classes) == (1999, {"test"}, ("apple", "baby"))


@pytest.mark.parametrize(
    ("name", "folder"), [("val.zip", ""), ("tiny-imagenet-200.zip", "tiny-imagenet-200/val/")], ids=["part", "all"]
)
def test_tiny_imagenet_is_numbered_as_imagenet(tmp_path, name, folder):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        annotations = "val_0.JPEG\tn01443537\t0\t0\t1\t1\nval_1.JPEG\tn01440764\t0\t0\t1\t1\n"
        archive.writestr(f"{folder}val_annotations.txt", annotations)
        archive.writestr(f"{folder}images/val_1.JPEG", encode(np.full((64, 64), 200, np.uint8), "JPEG"))  # grey
        archive.writestr(f"{folder}images/val_0.JPEG", encode(np.full((64, 64, 3), 100, np.uint8), "JPEG"))
    X, y, part, classes = images.read_tiny_imagenet({name: tmp_path / name})
    assert X.shape == (2, 64, 64, 3)
    assert X.mean(axis=(1, 2, 3)).tolist() == [100, 200]
    assert [classes[i] for i in y] == ["goldfish", "tench"]
    assert set(part) == {"val"}


@pytest.fixture
def imagenet(tmp_path, monkeypatch):
    """A user's copy of ImageNet with three images of two classes, and files that are none."""
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path))
    for name in ("n01443537/b.JPEG", "n01443537/a.jpeg", "n01440764/ILSVRC2012_val_00000293.JPEG"):
        path = tmp_path / "imagenet" / "val" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(draw((40, 60, 3), len(name)), "JPEG"))
    (tmp_path / "imagenet" / "val" / "n01440764" / "notes.txt").write_text("no image")
    return tmp_path / "imagenet"


def test_a_users_imagenet_is_read_by_class_and_file(imagenet):
    data = load("imagenet")
    assert [path.name for path in data.X] == ["ILSVRC2012_val_00000293.JPEG", "a.jpeg", "b.JPEG"]
    assert data.y.tolist() == [0, 1, 1]
    assert data.classes[:2] == ["tench", "goldfish"]
    assert images.read_image(data.X[0]).shape == (40, 60, 3)


def test_a_folder_without_classes_is_refused(imagenet):
    for path in (imagenet / "val").iterdir():
        path.rename(imagenet / path.name)
    with pytest.raises(FileNotFoundError, match="has no images in folders such as n01440764/"):
        load("imagenet")


def test_without_imagenet_the_error_says_where_to_ask(empty_folder):
    with pytest.raises(FileNotFoundError, match=r"https://www.image-net.org/download.php"):
        load("imagenet")


def test_the_classes_of_imagenet_are_in_the_order_of_their_identifiers():
    wnids, classes = images.read_imagenet_classes()
    assert len(wnids) == len(classes) == 1000
    assert wnids == sorted(set(wnids))
    # Numbers that publications on ImageNet name: tiger shark 3, tabby 281, toilet tissue 999.
    assert (classes[3], classes[281], classes[999]) == ("tiger shark", "tabby", "toilet tissue")


# ------------------------------------------------------------------------------------------------ on the raw data


@pytest.mark.data
def test_breastmnist_has_the_published_split(raw_data):
    data = load("breastmnist")
    assert pd.Series(data.part).value_counts().to_dict() == {"train": 546, "val": 78, "test": 156}
    assert data.X.shape == (780, 28, 28, 3)
    assert np.bincount(data.y).tolist() == [210, 570]  # 210 malignant, 570 normal or benign


@pytest.mark.data
def test_the_rebuilt_bloodmnist_has_the_published_counts_of_cells(raw_data):
    data = load("bloodmnist-rebuilt")
    assert np.bincount(data.y).tolist() == [1218, 3117, 1551, 2895, 1214, 1420, 3329, 2348]
    assert pd.Series(data.part).value_counts().to_dict() == {"train": 11_965, "val": 1_710, "test": 3_417}
    assert len(data.X) - len(np.unique(data.X.reshape(len(data.X), -1), axis=0)) == 17


@pytest.mark.data
def test_the_test_images_of_cifar100_lack_one_baby(raw_data):
    data = load("cifar100-test")
    counts = pd.Series(np.array(data.classes)[data.y]).value_counts()
    assert counts[counts != 100].to_dict() == {"baby": 99}
    assert data.classes == sorted(data.classes)
    # The published mean of the training images, which the test images share to two digits.
    assert data.X.mean(axis=(0, 1, 2)) / 255 == pytest.approx([0.507, 0.487, 0.441], abs=0.005)


@pytest.mark.data
def test_tiny_imagenet_has_fifty_images_of_each_of_its_200_classes(raw_data):
    data = load("tiny-imagenet")
    wnids, _ = images.read_imagenet_classes()
    listed = (raw_data / "tiny_imagenet_val" / "wnids.txt").read_text().split()
    assert {wnids[i] for i in data.y} == set(listed)
    assert set(np.bincount(data.y)) == {0, 50}
    assert data.X.shape == (10_000, 64, 64, 3)


@pytest.mark.data
def test_published_outputs_are_in_place(raw_data):
    """Outputs are sources without a data set of their own: the networks of the study read them."""
    for source in ("cifar100_resnet20", "netcal_softmax"):
        assert all(path.is_file() for path in fetch(source).values())
