"""Read the data sets of images: MedMNIST files, CIFAR-100, Tiny ImageNet, and a user's copy of ImageNet.

Each reader takes the paths that `fetch` returns and gives images, class numbers, the part ("train", "val" or "test")
of every row, and the names of the classes. Images are an array of shape (n, height, width, 3), uint8; those of
ImageNet, which are large and of different shapes, are the paths of their files instead. Pillow decodes what is
compressed and is imported where that is done.
"""

import io
import os
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np

BLOOD_CELLS = (
    "basophil", "eosinophil", "erythroblast", "immature granulocyte", "lymphocyte", "monocyte", "neutrophil",
    "platelet",
)  # fmt: skip
BREAST_TUMOURS = ("malignant", "normal or benign")
PARTS = ("train", "val", "test")
CIFAR_SIDE = 32
CIFAR_ROW = 2 + 3 * CIFAR_SIDE**2  # bytes: superclass, class, and the three colours of the image one after another
IMAGE_ENDINGS = (".jpeg", ".jpg", ".png")


def read_bloodmnist(paths):
    """BloodMNIST: the official file, with its split."""
    return (*_read_medmnist(paths["bloodmnist.npz"]), BLOOD_CELLS)


def read_breastmnist(paths):
    """BreastMNIST: the official file; its grey images get three equal colours."""
    return (*_read_medmnist(paths["breastmnist.npz"]), BREAST_TUMOURS)


def read_bloodmnist_rebuilt(paths):
    """The images of BloodMNIST made again from the photographs; the split is not the official one."""
    with np.load(paths["bloodmnist_like_28.npz"]) as arrays:
        part = np.array(PARTS, dtype=object)[arrays["split"]]
        return arrays["images"], arrays["labels"].astype(np.int64), part, BLOOD_CELLS


def read_cifar100(paths):
    """CIFAR-100: the three files of the binary version."""
    images, y, part = [], [], []
    for name, size in (("train", 50_000), ("test", 10_000)):
        rows = np.fromfile(paths[f"{name}.bin"], np.uint8)
        if len(rows) != size * CIFAR_ROW:
            raise ValueError(f"{paths[f'{name}.bin']} has {len(rows):,} bytes; expected {size * CIFAR_ROW:,}.")
        rows = rows.reshape(size, CIFAR_ROW)
        y.append(rows[:, 1].astype(np.int64))
        images.append(rows[:, 2:].reshape(size, 3, CIFAR_SIDE, CIFAR_SIDE).transpose(0, 2, 3, 1))
        part.append(np.full(size, name, dtype=object))
    classes = tuple(paths["fine_label_names.txt"].read_text(encoding="utf-8").split())
    return np.concatenate(images), np.concatenate(y), np.concatenate(part), classes


def read_cifar100_test(paths):
    """The test images of CIFAR-100 but one, in sheets of 40 by 50."""
    with np.load(paths["cifar100_test.npz"]) as arrays:
        sheets = [_cut_sheet(arrays[key]) for key in sorted(arrays.files) if key.startswith("sheet_")]
        images = np.concatenate(sheets)[: int(arrays["n"])]
        y = arrays["labels"].astype(np.int64)
        return images, y, np.full(len(y), "test", dtype=object), tuple(arrays["classes"].tolist())


def read_tiny_imagenet(paths):
    """The validation part of Tiny ImageNet; class numbers are those of the 1,000 classes of ImageNet."""
    wnids, classes = read_imagenet_classes()
    number = {wnid: i for i, wnid in enumerate(wnids)}
    # The original archive, which holds the training part as well, or one of the validation part alone.
    if "val.zip" in paths:
        path, folder = paths["val.zip"], ""
    else:
        path, folder = paths["tiny-imagenet-200.zip"], "tiny-imagenet-200/val/"
    with zipfile.ZipFile(path) as archive:  # its checksum has been verified
        annotations = archive.read(f"{folder}val_annotations.txt").decode().splitlines()
        rows = [line.split("\t") for line in annotations]  # file, class, and the corners of a box
        images = np.stack([_decode(archive.read(f"{folder}images/{row[0]}")) for row in rows])
    y = np.array([number[row[1]] for row in rows])
    return images, y, np.full(len(y), "val", dtype=object), classes


def read_imagenet(paths):
    """A user's own copy of the validation part of ImageNet: ``val/<wnid>/<file>``, by class and name of the file."""
    root = paths["val"]
    wnids, classes = read_imagenet_classes()
    images, y = [], []
    for number, wnid in enumerate(wnids):
        names = sorted(name for name in _entries(root / wnid) if name.lower().endswith(IMAGE_ENDINGS))
        images.extend(root / wnid / name for name in names)
        y.extend([number] * len(names))
    if not images:
        raise FileNotFoundError(
            f"{root} has no images in folders such as {wnids[0]}/; expected one folder for each class."
        )
    return np.array(images, dtype=object), np.array(y), np.full(len(y), "val", dtype=object), classes


def read_imagenet_classes():
    """Return the identifiers of the 1,000 classes of ImageNet in the order of their numbers, and their names."""
    text = files("clustcal.datasets").joinpath("imagenet_classes.txt").read_text(encoding="utf-8")
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    return [wnid for wnid, _ in lines], tuple(name.replace("_", " ") for _, name in lines)


def read_image(path):
    """Return the pixels of an image file as an array of shape (height, width, 3), uint8."""
    return _decode(Path(path).read_bytes())


def _read_medmnist(path):
    with np.load(path) as arrays:
        images = np.concatenate([arrays[f"{part}_images"] for part in PARTS])
        y = np.concatenate([arrays[f"{part}_labels"][:, 0] for part in PARTS]).astype(np.int64)
        part = np.repeat(np.array(PARTS, dtype=object), [len(arrays[f"{part}_labels"]) for part in PARTS])
    return _with_colours(images), y, part


def _with_colours(images):
    return images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)


def _cut_sheet(content):
    """A picture of 40 rows and 50 columns of images."""
    sheet = _decode(content.tobytes())
    images = sheet.reshape(40, CIFAR_SIDE, 50, CIFAR_SIDE, 3).transpose(0, 2, 1, 3, 4)
    return images.reshape(-1, CIFAR_SIDE, CIFAR_SIDE, 3)


def _entries(folder):
    return os.listdir(folder) if folder.is_dir() else []


def _decode(content):
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Reading these images needs Pillow: pip install pillow.") from error
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))
