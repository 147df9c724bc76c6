"""Summaries of attention and attribution, of a small transformer with weights at random."""

import numpy as np
import pytest

from clustcal.experiments.directions import attention_summaries as summaries

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def found():
    torch.manual_seed(0)
    settings = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, num_labels=3
    )
    model = transformers.BertForSequenceClassification(settings).eval()
    model.set_attn_implementation("eager")
    tokens = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    batch = summaries._of_batch(model, {"input_ids": tokens, "attention_mask": mask})
    alone = summaries._of_batch(model, {"input_ids": tokens[1:, :3], "attention_mask": mask[1:, :3]})
    return batch, alone


def test_padding_changes_nothing(found):
    batch, alone = found
    for name in batch:
        np.testing.assert_allclose(batch[name][1], alone[name][0], atol=1e-5)


def test_shapes_and_ranges(found):
    batch, _ = found
    assert batch["attention"].shape == (2, 2 * 2 * 3)
    assert batch["attribution"].shape == (2, summaries.SHARES + 2)
    for values in batch.values():
        assert values.min() >= 0
        assert values.max() <= 1 + 1e-6
    largest = batch["attribution"][:, 1:-1]
    assert (np.diff(largest, axis=1) <= 1e-7).all()
    np.testing.assert_allclose(largest[1, :3].sum(), 1, atol=1e-5)  # three tokens in all


def test_entropy_is_1_where_all_tokens_count_alike():
    shares = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]])
    np.testing.assert_allclose(summaries._entropy(shares, mask), [1, 1, 0], atol=1e-6)
