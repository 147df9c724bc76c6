"""Outputs that others have published, in the form of those of our own networks.

A ResNet of eight layers on CIFAR-100, with the 64 features before its last layer, and the softmax outputs of a
WideResNet and a DenseNet on CIFAR-100 and CIFAR-10, without features: for these only methods that use none.
"""

import numpy as np

from clustcal.datasets import fetch
from clustcal.experiments.deep.outputs import Outputs

SOFTMAX_FILES = {
    "cifar100-wideresnet": "wideresnet-16-4-cifar-100.npz",
    "cifar100-densenet": "densenet-bc-100-cifar-100.npz",
    "cifar10-wideresnet": "wideresnet-16-4-cifar-10.npz",
}
NAMES = ("cifar100-resnet20", *SOFTMAX_FILES)


def read_resnet20():
    """CIFAR-100: features (n, 64) and labels of the test images; weights (100, 64) and offsets of the last layer."""
    path = fetch("cifar100_resnet20")["resnet20_test_outputs.npz"]
    with np.load(path) as arrays:
        return arrays["features"], arrays["labels"].astype(np.int64), arrays["fc_weight"], arrays["fc_bias"]


def read_published(name):
    """Return the outputs of one of `NAMES`.

    The second representation of the ResNet is its logits, centred in every row: the layer after its features. Earlier
    layers are not published.

    Returns
    -------
    outputs : Outputs
    """
    if name == "cifar100-resnet20":
        features, y, weight, bias = read_resnet20()
        logits = features @ weight.T + bias
        representations = {"pooled": features, "logits": logits - logits.mean(axis=1, keepdims=True)}
        return Outputs(logits, y, np.arange(len(y)), representations)
    with np.load(fetch("netcal_softmax")[SOFTMAX_FILES[name]]) as arrays:
        return Outputs(
            np.log(arrays["predictions"]), arrays["ground_truth"], np.arange(len(arrays["ground_truth"])), {}
        )
