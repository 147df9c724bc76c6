"""Activations and HiddenStates against values worked out by hand, and what they leave behind."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from clustcal.representations import Activations, HiddenStates

torch = pytest.importorskip("torch", reason="torch is not installed; representations of networks need it")
nn = torch.nn

# A network of two channels: the first adds 1 to the picture, the second doubles it.
PICTURES = np.array([[[[0.0, 1.0], [2.0, 5.0]]], [[[1.0, 1.0], [1.0, 1.0]]]], dtype=np.float32)


def two_channels():
    convolution = nn.Conv2d(1, 2, kernel_size=1)
    with torch.no_grad():
        convolution.weight[:] = torch.tensor([1.0, 2.0]).reshape(2, 1, 1, 1)
        convolution.bias[:] = torch.tensor([1.0, 0.0])
    return nn.Sequential(convolution, nn.Dropout(0.5), nn.Flatten(), nn.Linear(8, 3))


class Failing(nn.Module):
    """Two layers and an error after the first."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, rows):
        self.first(rows)
        raise RuntimeError("out of memory")


class TestActivations:
    def test_feature_maps_are_averaged(self):
        # Means of the pictures are 2 and 1; the channels hold mean + 1 and 2 * mean.
        Z = Activations(two_channels(), layer="0").fit_transform(PICTURES)
        np.testing.assert_allclose(Z, [[3.0, 4.0], [2.0, 2.0]])

    @pytest.mark.parametrize(
        "behind", [nn.ReLU(inplace=True), nn.Dropout(0.5, inplace=True), nn.Hardtanh(0, 1, inplace=True)]
    )
    @pytest.mark.parametrize("pooling", ["average", None])
    def test_a_layer_that_works_in_place_behind_it_changes_nothing(self, behind, pooling):
        model = nn.Sequential(nn.Identity(), nn.Linear(2, 2, bias=False), behind)
        with torch.no_grad():
            model[1].weight[:] = torch.eye(2)
        rows = np.array([[-1.0, 2.0], [3.0, -4.0]], dtype=np.float32)
        np.testing.assert_array_equal(Activations(model, layer="1", pooling=pooling).transform(rows), rows)

    def test_frames_have_named_columns(self):
        """artefactual issue 306, scikit-learn issue 26460."""
        activations = Activations(two_channels(), layer="0").set_output(transform="pandas")
        with pytest.raises(NotFittedError):
            activations.get_feature_names_out()
        frame = activations.fit_transform(PICTURES)
        assert frame.columns.tolist() == ["activations0", "activations1"]
        np.testing.assert_allclose(frame, [[3.0, 4.0], [2.0, 2.0]])
        assert not hasattr(clone(activations), "_n_features_out")

    def test_without_pooling_a_row_is_all_numbers_of_the_layer(self):
        Z = Activations(two_channels(), layer="0", pooling=None).transform(PICTURES)
        np.testing.assert_allclose(Z[0], [1, 2, 3, 6, 0, 2, 4, 10])

    def test_a_layer_with_one_vector_per_row_is_returned_as_it_is(self):
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
        with torch.no_grad():
            model[0].weight[:] = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
        rows = [[1.0, 2.0], [3.0, 1.0]]
        np.testing.assert_allclose(Activations(model, layer="0").transform(rows), [[3, -1], [4, 2]])
        np.testing.assert_allclose(Activations(model, layer="1").transform(rows), [[3, 0], [4, 2]])

    def test_layer_inside_a_block_is_found_by_its_path(self):
        model = nn.Sequential(nn.Sequential(nn.Identity(), nn.ReLU()), nn.Linear(2, 1))
        np.testing.assert_allclose(Activations(model, layer="0.1").transform([[-1.0, 2.0]]), [[0.0, 2.0]])

    @pytest.mark.parametrize("batch_size", [1, 2, 7])
    def test_batches_do_not_show_in_the_values(self, batch_size):
        pictures = np.random.default_rng(0).normal(size=(7, 1, 2, 2))
        Z = Activations(two_channels(), layer="0", batch_size=batch_size).transform(pictures)
        means = pictures.mean(axis=(1, 2, 3))
        np.testing.assert_allclose(Z, np.column_stack([means + 1, 2 * means]), rtol=1e-6)

    def test_dropout_and_batch_norm_are_those_of_evaluation(self):
        model = nn.Sequential(nn.Dropout(0.9), nn.BatchNorm1d(2)).train()
        Z = Activations(model, layer="1").transform([[1.0, 2.0], [3.0, 4.0]])
        # Before any training the running mean is 0 and the variance 1.
        np.testing.assert_allclose(Z, [[1, 2], [3, 4]], rtol=1e-4)
        assert model[1].num_batches_tracked == 0

    @pytest.mark.parametrize("X", [PICTURES, PICTURES.astype(np.float64), torch.from_numpy(PICTURES)])
    def test_arrays_and_tensors_of_any_precision_give_the_same_float64(self, X):
        Z = Activations(two_channels(), layer="0").transform(X)
        assert Z.dtype == np.float64
        np.testing.assert_allclose(Z, [[3.0, 4.0], [2.0, 2.0]])

    def test_frames_are_taken(self):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 0.0]})
        np.testing.assert_allclose(Activations(nn.Sequential(nn.Identity()), layer="0").transform(frame), frame)

    def test_whole_numbers_stay_whole_as_embeddings_need(self):
        model = nn.Sequential(nn.Embedding.from_pretrained(torch.tensor([[0.0], [10.0], [20.0]])), nn.Flatten())
        np.testing.assert_allclose(Activations(model, layer="1").transform([[0, 2], [1, 1]]), [[0, 20], [10, 10]])

    def test_input_is_left_as_it_was(self):
        rows = np.ones((3, 2))
        rows.flags.writeable = False
        Activations(nn.Sequential(nn.ReLU(inplace=True)), layer="0").transform(-rows)
        np.testing.assert_array_equal(rows, 1.0)

    def test_the_modes_of_all_parts_come_back(self):
        model = two_channels().train()
        model[1].eval()  # frozen by hand
        Activations(model, layer="0").transform(PICTURES)
        assert [part.training for part in model.modules()] == [True, True, False, True, True]

    def test_modes_and_hooks_come_back_after_an_error(self):
        model = Failing().train()
        with pytest.raises(RuntimeError, match="out of memory"):
            Activations(model, layer="first").transform([[1.0, 2.0]])
        assert all(part.training for part in model.modules())
        assert not model.first._forward_hooks

    def test_no_hook_and_no_gradient_is_left(self):
        model = two_channels()
        Activations(model, layer="0").transform(PICTURES)
        assert not model[0]._forward_hooks
        assert model[0].weight.grad is None
        assert model[0].weight.requires_grad

    def test_device_is_where_the_model_is_when_it_is_given_by_name(self):
        model = two_channels()
        Activations(model, layer="0", device="cpu").transform(PICTURES)
        assert model[0].weight.device == torch.device("cpu")

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
    def test_a_gpu_gives_the_same_values_and_the_model_comes_back(self):
        model = two_channels()
        Z = Activations(model, layer="0", device="cuda").transform(PICTURES)
        np.testing.assert_allclose(Z, [[3.0, 4.0], [2.0, 2.0]], rtol=1e-5)
        assert model[0].weight.device == torch.device("cpu")

    def test_clone_keeps_the_model_and_the_parameters(self):
        original = Activations(two_channels(), layer="0", pooling=None, batch_size=5)
        copy = clone(original)
        assert copy is not original
        assert copy.get_params(deep=False) == original.get_params(deep=False)

    def test_pickle_round_trip_gives_the_same_values(self):
        original = Activations(two_channels(), layer="0")
        copy = pickle.loads(pickle.dumps(original))
        np.testing.assert_array_equal(copy.transform(PICTURES), original.transform(PICTURES))

    def test_unknown_layer_is_refused_with_the_names_that_there_are(self):
        with pytest.raises(ValueError, match=re.escape("layer is 'fc'; expected one of ['0', '1', '2', '3'].")):
            Activations(two_channels(), layer="fc").fit()

    def test_layer_that_runs_twice_is_refused(self):
        relu = nn.ReLU()
        model = nn.Sequential(nn.Linear(2, 2), relu, nn.Linear(2, 2), relu)
        with pytest.raises(ValueError, match="layer '1' ran 2 times in one pass"):
            Activations(model, layer="1").transform([[1.0, 2.0]])

    def test_layer_that_never_runs_is_refused(self):
        model = two_channels()
        model[0].unused = nn.ReLU()
        with pytest.raises(ValueError, match=r"layer '0\.unused' ran 0 times"):
            Activations(model, layer="0.unused").transform(PICTURES)

    def test_layer_of_several_outputs_is_refused(self):
        model = nn.Sequential(nn.LSTM(2, 3, batch_first=True))
        with pytest.raises(ValueError, match="layer '0' put out tuple for 4 rows"):
            Activations(model, layer="0").transform(np.ones((4, 5, 2)))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"model": "resnet"}, "model is a str; expected a torch.nn.Module."),
            ({"pooling": "max"}, "pooling is 'max'; expected one of ('average', None)."),
            ({"batch_size": 0}, "batch_size is 0; expected a whole number of at least 1."),
        ],
    )
    def test_parameters_are_checked_at_fit(self, parameters, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            Activations(two_channels(), layer="0").set_params(**parameters).fit(PICTURES)

    def test_empty_rows_are_refused(self):
        with pytest.raises(ValueError, match="X is empty"):
            Activations(two_channels(), layer="0").transform(PICTURES[:0])


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "good", "film", "is", "long"]
TEXTS = ["film", "the good film is long", "the film is good"]


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers", reason="transformers is not installed; texts need it")


@pytest.fixture(scope="module")
def make_tokenizer(transformers):
    """Tokenizers with one token per word of WORDS, and with [CLS] and [SEP] around a text if asked for."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    def make(special=True, **options):
        words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
        words.pre_tokenizer = pre_tokenizers.Whitespace()
        if special:
            words.post_processor = processors.TemplateProcessing(
                single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
            )
        names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
        return transformers.PreTrainedTokenizerFast(tokenizer_object=words, **names, **options)

    return make


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer()


@pytest.fixture(scope="module")
def bert(transformers):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        num_labels=3,
    )
    return transformers.BertForSequenceClassification(config).eval()


@torch.no_grad()
def states_of(model, tokenizer, text):
    """Hidden states of the last layer for one text alone, where nothing is padded."""
    encoded = tokenizer([text], return_tensors="pt")
    return model(**encoded, output_hidden_states=True).hidden_states[-1][0].double().numpy()


class TestHiddenStates:
    @pytest.mark.parametrize(
        ("pooling", "pool"),
        [("cls", lambda h: h[0]), ("mean", lambda h: h.mean(axis=0)), ("last", lambda h: h[-1])],
        ids=["cls", "mean", "last"],
    )
    def test_padding_does_not_count(self, bert, tokenizer, pooling, pool):
        Z = HiddenStates(bert, tokenizer, pooling=pooling).fit_transform(TEXTS)
        np.testing.assert_allclose(Z, [pool(states_of(bert, tokenizer, text)) for text in TEXTS], atol=1e-6)

    @pytest.mark.parametrize(
        ("side", "pooling", "film", "longer"),
        [
            # With [CLS] and [SEP] the texts have 3 and 7 tokens; the four of padding come after or before the 3.
            ("right", "cls", 0, 0),
            ("right", "mean", 1, 3),
            ("right", "last", 2, 6),
            ("left", "cls", 4, 0),
            ("left", "mean", 5, 3),
            ("left", "last", 6, 6),
        ],
    )
    def test_tokens_are_found_on_either_side_of_the_padding(self, make_tokenizer, side, pooling, film, longer):
        class Positions(nn.Module):
            """States that are the position, from 0 on; padding is 99."""

            config = SimpleNamespace()

            def forward(self, input_ids, attention_mask, output_hidden_states, **others):
                position = torch.arange(input_ids.shape[1], dtype=torch.float32)
                states = torch.where(attention_mask.bool(), position, 99.0)[:, :, None]
                return SimpleNamespace(hidden_states=(None, states))

        states = HiddenStates(Positions(), make_tokenizer(padding_side=side), pooling=pooling)
        np.testing.assert_array_equal(states.transform(TEXTS[:2])[:, 0], [film, longer])

    def test_last_token_of_a_decoder_padded_on_the_left(self, transformers, make_tokenizer):
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            vocab_size=len(WORDS), n_embd=8, n_layer=1, n_head=2, n_positions=16, bos_token_id=2, eos_token_id=3
        )
        decoder = transformers.GPT2LMHeadModel(config).eval()
        left, right = (make_tokenizer(special=False, padding_side=side) for side in ("left", "right"))
        Z = HiddenStates(decoder, right, pooling="last").transform(TEXTS)
        np.testing.assert_allclose(Z, [states_of(decoder, right, text)[-1] for text in TEXTS], atol=1e-6)
        longest = HiddenStates(decoder, left, pooling="last").transform(TEXTS)[1]
        np.testing.assert_allclose(longest, Z[1], atol=1e-6)

    @pytest.mark.parametrize("batch_size", [1, 2, 3])
    def test_rows_keep_the_order_of_the_texts(self, bert, tokenizer, batch_size):
        Z = HiddenStates(bert, tokenizer, batch_size=batch_size).transform(TEXTS)
        np.testing.assert_allclose(Z, [states_of(bert, tokenizer, text)[0] for text in TEXTS], atol=1e-6)

    def test_result_is_float64(self, bert, tokenizer):
        assert HiddenStates(bert, tokenizer).transform(TEXTS).dtype == np.float64

    def test_series_and_arrays_of_texts_are_taken(self, bert, tokenizer):
        states = HiddenStates(bert, tokenizer)
        np.testing.assert_array_equal(states.transform(pd.Series(TEXTS)), states.transform(TEXTS))
        np.testing.assert_array_equal(states.transform(np.array(TEXTS)), states.transform(TEXTS))

    def test_long_texts_are_cut_to_what_the_model_can_take(self, bert, tokenizer):
        # 16 positions hold [CLS], 14 words and [SEP].
        states = HiddenStates(bert, tokenizer)
        np.testing.assert_allclose(states.transform(["film " * 100]), states.transform(["film " * 14]), atol=1e-6)

    def test_max_length_cuts_earlier(self, bert, tokenizer):
        cut = HiddenStates(bert, tokenizer, max_length=4).transform(["the good film is long"])
        np.testing.assert_allclose(cut, HiddenStates(bert, tokenizer).transform(["the good"]), atol=1e-6)

    def test_mode_comes_back(self, bert, tokenizer):
        bert.train()
        first = HiddenStates(bert, tokenizer).transform(TEXTS)
        assert bert.training
        assert bert.bert.encoder.training
        bert.eval()
        np.testing.assert_array_equal(first, HiddenStates(bert, tokenizer).transform(TEXTS))  # no dropout in the first

    def test_clone_keeps_model_and_tokenizer(self, bert, tokenizer):
        copy = clone(HiddenStates(bert, tokenizer, pooling="last"))
        assert copy.model is bert
        assert copy.tokenizer is tokenizer
        assert copy.pooling == "last"

    @pytest.mark.parametrize(
        ("texts", "message"),
        [
            ("one text", "X is 'one text'; expected a sequence of texts."),
            ([], "X is empty; expected at least one text."),
            (["film", 3], "Text 1 of X is 3; expected a str."),
        ],
    )
    def test_what_is_no_list_of_texts_is_refused(self, bert, tokenizer, texts, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            HiddenStates(bert, tokenizer).transform(texts)

    def test_text_without_tokens_is_refused_by_its_number(self, bert, make_tokenizer):
        with pytest.raises(ValueError, match="Text 1 of X has no tokens"):
            HiddenStates(bert, make_tokenizer(special=False)).transform(["the film", "", "film"])

    def test_model_with_encoder_and_decoder_is_refused(self, transformers, tokenizer):
        config = transformers.T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
        with pytest.raises(ValueError, match="model is a T5Model; expected a model of transformers"):
            HiddenStates(transformers.T5Model(config), tokenizer).fit(TEXTS)

    def test_tokenizer_that_cannot_pad_is_refused(self, bert, make_tokenizer):
        tokenizer = make_tokenizer()
        tokenizer.pad_token = None
        with pytest.raises(ValueError, match="tokenizer has no padding token"):
            HiddenStates(bert, tokenizer).transform(TEXTS)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"model": nn.Linear(2, 2)}, "model is a Linear; expected a model of transformers"),
            ({"tokenizer": None}, "tokenizer is None; expected the tokenizer of the model."),
            ({"pooling": "max"}, "pooling is 'max'; expected one of ('cls', 'mean', 'last')."),
            ({"max_length": 0}, "max_length is 0; expected None or a whole number of at least 1."),
        ],
    )
    def test_parameters_are_checked_at_fit(self, bert, tokenizer, parameters, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            HiddenStates(bert, tokenizer).set_params(**parameters).fit(TEXTS)
