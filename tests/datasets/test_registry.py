"""The registry is complete, and finds what it holds by name."""

import re

import pytest

from clustcal.datasets import registry

SOURCES = sorted({registry.get_dataset(name).source.name for name in registry.dataset_names()})


def test_the_data_sets_of_the_book_are_registered():
    expected = {
        "adult", "bank_marketing", "credit_approval", "credit_card_default", "diabetes130", "diabetes130-any",
        "diabetes130-los", "stroke", "support2", "mimic-los", "mimic-los-demo", "wids", "emotion", "imdb", "bloodmnist",
        "bloodmnist-rebuilt", "breastmnist", "cifar100", "cifar100-test", "tiny-imagenet", "imagenet",
    }  # fmt: skip
    assert set(registry.dataset_names()) == expected


@pytest.mark.parametrize("name", registry.dataset_names())
def test_every_data_set_says_what_it_is(name):
    dataset = registry.get_dataset(name)
    assert dataset.title
    assert dataset.target
    assert dataset.description
    assert dataset.kind in registry.KINDS
    assert (dataset.features or 0) > 0 if dataset.kind == "table" else dataset.classes > 1


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_names_page_licence_and_citation(name):
    source = registry.get_source(name)
    assert source.page.startswith("https://")
    assert source.licence
    assert source.citation


@pytest.mark.parametrize("name", SOURCES)
def test_every_open_file_has_addresses_size_and_checksum(name):
    source = registry.get_source(name)
    for file in source.files:
        if source.is_open:
            assert all(url.startswith("https://") for url in file.urls)
            kind, digits = file.checksum
            assert re.fullmatch({"sha256": "[0-9a-f]{64}", "md5": "[0-9a-f]{32}"}[kind], digits)
            assert kind == "md5" or file.size > 0


@pytest.mark.parametrize("name", SOURCES)
def test_every_closed_source_says_how_to_get_it(name):
    source = registry.get_source(name)
    assert source.is_open or source.how_to_get


def test_packings_of_a_source_are_kept_apart():
    archive, tables = registry.get_source("imdb").packings
    assert [file.path for file in archive] == ["aclImdb_v1.tar.gz"]
    assert [file.path for file in tables] == ["train.csv.xz", "test.csv.xz"]
    assert registry.get_source("imdb").files == archive


@pytest.mark.parametrize("name", SOURCES)
def test_addresses_on_github_are_pinned_to_a_commit(name):
    urls = [url for file in registry.get_source(name).files for url in file.urls if "github" in url]
    assert all(re.search("/[0-9a-f]{40}/", url) for url in urls)


@pytest.mark.parametrize("name", ["mimic-los", "wids"])
def test_gated_sources_say_where_to_ask(name):
    source = registry.get_source(name)
    assert not source.is_open
    assert "https://physionet.org/" in source.how_to_get


def test_two_tasks_can_share_a_source():
    assert registry.get_source("diabetes130-los") is registry.get_source("diabetes130")


def test_a_source_is_found_by_its_own_name():
    assert registry.get_source("mimic_iv_demo") is registry.get_dataset("mimic-los-demo").source


@pytest.mark.parametrize("find", [registry.get_dataset, registry.get_source])
@pytest.mark.parametrize("name", ["titanic", None, 3, ["adult"]])
def test_an_unknown_name_lists_the_known_ones(find, name):
    with pytest.raises(ValueError, match=r"is not a known data set.*adult, .*stroke, .*wids"):
        find(name)
