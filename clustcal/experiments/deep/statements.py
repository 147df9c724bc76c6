"""The statements of the paper's text on images and texts, judged by the rules written down in ``relations.yml``.

A statement is a function from the tables of our networks to its judgements; what its rule compares stands there word
for word. Those that rest on more than the two tables are in `further_statements`. Builds on `network_tables` and
`relation_verdicts`.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from clustcal.experiments.deep.design import SEEDS
from clustcal.experiments.deep.network_tables import CLUSTERED, METRICS, STAND_INS
from clustcal.experiments.deep.relation_verdicts import EQUAL, OPEN, find_common, find_sign
from clustcal.experiments.deep.relations import find_relations

HOLDS, FAILS, UNDECIDED, BLOCKED, NOT_ATTEMPTED = "holds", "fails", "undecided", "blocked", "not attempted"
IMAGES, TEXTS = ("BloodMNIST", "CIFAR-100"), ("IMDB", "Emotion")  # those of which networks of ours are judged
MANY_CLASSES = ("CIFAR-100", "ImageNet")
# One unit of the last digit of a log-loss that the paper prints.
LAST_DIGIT = {"BloodMNIST": 1e-4, "CIFAR-100": 1e-4, "ImageNet": 1e-4, "IMDB": 1e-3, "Emotion": 1e-3}
LOWER, HIGHER = "lower", "higher"


class Judgement(NamedTuple):
    """What became of a statement, or of a part of it: ours in words, the verdict, and the splits that it rests on."""

    part: str
    ours: str
    verdict: str
    splits: int = len(SEEDS)


class MissingRows(Exception):
    """A network lacks the rows that a statement needs; the message names it."""


class Tables(dict):
    """By the paper's name of a data set the table of methods of the network that is judged."""

    def __missing__(self, name):
        raise MissingRows(name)

    def mean(self, name, method, metric="NLL"):
        """Return the mean of a metric over the splits."""
        table = self[name]
        return float(table.loc[table["method"] == method, METRICS[metric]].mean())

    def sign(self, name, one, two, metric="NLL"):
        """Return how one method stands to another, see `find_sign`."""
        return find_sign(*find_common(self[name], one, two, METRICS[metric]), LAST_DIGIT[name])

    def say(self, name, one, two, metric="NLL"):
        """Return the same in words, with the mean difference: below half of a printed digit it is called equal."""
        column = METRICS[metric]
        first, second = find_common(self[name], one, two, column)
        return f"{self.sign(name, one, two, metric)} ({np.mean(first - second):+.5f})"

    def best(self, name, methods, metric="NLL"):
        """Return the method of the lowest mean."""
        return min(methods, key=lambda method: self.mean(name, method, metric))


def list_methods(name):
    """Return the methods of a data set as the paper's table lists them."""
    relations = find_relations()
    listed = relations.loc[(relations["dataset"] == name) & (relations["listed"] != ""), "listed"].iloc[0]
    return listed.split("; ")


def judge_statements(statements, tables):
    """Judge statements.

    Parameters
    ----------
    statements : dict of str to callable
        By id: from what is known to an iterable of `Judgement`.
    tables : object
        What the callables take, such as `Tables`.

    Returns
    -------
    lines : list of dict
        With ``id``, ``part``, ``ours``, ``verdict`` and ``splits``.
    """
    lines = []
    for name, statement in statements.items():
        try:
            found = list(statement(tables))
        except MissingRows as missing:
            found = [Judgement("", f"no results yet for {missing}", NOT_ATTEMPTED)]
        for judgement in found:
            has_rows = judgement.verdict not in (BLOCKED, NOT_ATTEMPTED)
            lines.append({"id": name, **judgement._asdict(), "splits": judgement.splits if has_rows else 0})
    return lines


def images_all_improve(tables):
    fails, count = [], 0
    for name in IMAGES:
        for method in list_methods(name)[1:]:
            count += 1
            nll, brier = (tables.mean(name, method, m) / tables.mean(name, "Base", m) for m in ("NLL", "Brier"))
            lost = tables.mean(name, "Base", "Acc") - tables.mean(name, method, "Acc")
            if nll > 0.99 or brier > 0.99 or lost > 0.01:
                fails.append(f"{method} on {name}")
    yield Judgement("", f"not so: {', '.join(fails)}; of {count}" if fails else f"all {count}", _holds(not fails))


def images_clustered_vector_competitive(tables):
    ratios = {n: tables.mean(n, "Vector clustered") / tables.mean(n, "Binwise-TS") for n in IMAGES}
    yield Judgement("", _numbers(ratios), _holds(max(ratios.values()) <= 1.02))


def images_clustering_gains(tables):
    signs = {name: tables.sign(name, "Vector clustered", "Vector") for name in IMAGES}
    found = set(signs.values())
    verdict = FAILS if HIGHER in found or found == {EQUAL} else HOLDS if LOWER in found else UNDECIDED
    said = {name: tables.say(name, "Vector clustered", "Vector") for name in IMAGES}
    yield Judgement("", _words(said), verdict)


def images_clustered_vector_first(tables):
    for name in MANY_CLASSES:
        if STAND_INS[name].judged is None:
            yield Judgement(name, "", BLOCKED)
            continue
        good, said = True, []
        for metric in ("NLL", "Brier"):
            values = {method: tables.mean(name, method, metric) for method in list_methods(name)}
            own, first = values["Vector clustered"], min(values.values())
            place = 1 + sum(value < own for value in values.values())
            good &= place <= 2 or own <= 1.01 * first
            said.append(f"{metric} place {place}, {own / first:.4f} of the first")
        yield Judgement(name, "; ".join(said), _holds(good))


def images_ece_ranks_differently(tables):
    firsts = {n: [tables.best(n, list_methods(n), metric) for metric in ("ECE", "NLL")] for n in IMAGES}
    differ = sum(ece != nll for ece, nll in firsts.values())
    said = "; ".join(f"{name}: {ece} by ECE, {nll} by NLL" for name, (ece, nll) in firsts.items())
    yield Judgement("", said, _holds(differ >= 2))


def ece_against_nll_share(tables):
    for name, stand_in in STAND_INS.items():
        if stand_in.judged is None:
            yield Judgement(name, "", BLOCKED)
        elif name not in tables:
            yield Judgement(name, f"no results yet for {name}", NOT_ATTEMPTED)
        else:
            opposite, differ = count_opposite_pairs(tables, name)
            yield Judgement(name, f"{opposite} of {differ} pairs", _holds(opposite >= 0.05 * differ))


def count_opposite_pairs(tables, name):
    """Return how many pairs of listed methods ECE and NLL put in opposite order, and how many differ in both."""
    found = [(tables.mean(name, method, "ECE"), tables.mean(name, method)) for method in list_methods(name)]
    products = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in combinations(found, 2)]
    return sum(product < 0 for product in products), sum(product != 0 for product in products)


def images_dirichlet_collapse(tables):
    for name in MANY_CLASSES:
        if STAND_INS[name].judged is None:
            yield Judgement(name, "", BLOCKED)
            continue
        sign = tables.sign(name, "Dirichlet", "Base")
        lost = tables.mean(name, "Base", "Acc") - tables.mean(name, "Dirichlet", "Acc")
        said = f"NLL {tables.mean(name, 'Base'):.4f} to {tables.mean(name, 'Dirichlet'):.4f}, accuracy lost {lost:.4f}"
        yield Judgement(name, said, FAILS if lost < 0.03 else find_verdict([sign], [HIGHER]))


def images_dirichlet_clustered_collapse(tables):
    for name in MANY_CLASSES:
        if STAND_INS[name].judged is None:
            yield Judgement(name, "", BLOCKED)
            continue
        one, two = find_common(tables[name], "Dirichlet" + CLUSTERED, "Dirichlet", "nll")
        sign = find_sign(one, two, LAST_DIGIT[name])
        said = f"{two.mean():.4f} to {one.mean():.4f} ({len(one)} split{'s' * (len(one) != 1)}): {sign}"
        yield Judgement(name, said, find_verdict([sign], [HIGHER]), len(one))


def dirichlet_few_classes(tables):
    signs = {name: tables.sign(name, "Dirichlet", "Base") for name in ("BloodMNIST", "Emotion")}
    yield Judgement("", _words(signs), find_verdict(signs.values(), [LOWER] * 2))


def imdb_parametric_reduce(tables):
    table = tables["IMDB"]
    auc = table.groupby("method")["auc"].mean()
    methods = [f"{name}{kind}" for name in ("Platt", "Beta", "TS") for kind in ("", CLUSTERED)]
    reduced = {m: 1 - tables.mean("IMDB", m) / tables.mean("IMDB", "Base") for m in methods}
    moved = {m: abs(tables.mean("IMDB", m, "Acc") - tables.mean("IMDB", "Base", "Acc")) for m in methods}
    turned = {m: abs(auc[m] - auc["Base"]) for m in methods}
    good = min(reduced.values()) >= 0.20 and max(moved.values()) <= 0.005 and max(turned.values()) <= 0.005
    said = f"least reduction {min(reduced.values()):.3f}; accuracy moves by {max(moved.values()):.4f} at most"
    yield Judgement("", f"{said}, AUC by {max(turned.values()):.4f}", _holds(good))


def imdb_global_reduction(tables):
    percent = max(find_reductions(tables, ["Platt", "Beta"]).values())
    yield Judgement("", f"{percent:.1f} %", _holds(17.5 <= percent <= 70))


def imdb_binwise_reduction(tables):
    binwise = _binwise("IMDB")
    reductions = find_reductions(tables, list_methods("IMDB"))
    first = max(reductions, key=reductions.get)
    by_brier = tables.best("IMDB", list_methods("IMDB"), "Brier")
    percent = max(reductions[method] for method in binwise)
    said = f"{percent:.1f} %; largest reduction: {first}, lowest Brier score: {by_brier}"
    yield Judgement("", said, _holds(20 <= percent <= 80 and first in binwise and by_brier in binwise))


def find_reductions(tables, methods):
    """Return by how many percent each method lowers the log-loss on IMDB."""
    base = tables.mean("IMDB", "Base")
    return {method: 100 * (1 - tables.mean("IMDB", method) / base) for method in methods}


def imdb_clustering_helps(tables):
    signs = {name: tables.sign("IMDB", name + CLUSTERED, name) for name in ("TS", "Beta")}
    said = {name: tables.say("IMDB", name + CLUSTERED, name) for name in signs}
    yield Judgement("", _words(said), find_verdict(signs.values(), [LOWER] * 2))


def emotion_global_gains(tables):
    methods = ("Vector", "Dirichlet", "TS")
    shares = {m: 1 - tables.mean("Emotion", m) / tables.mean("Emotion", "Base") for m in methods}
    brier = {m: 1 - tables.mean("Emotion", m, "Brier") / tables.mean("Emotion", "Base", "Brier") for m in methods}
    signs = [tables.sign("Emotion", m, "Base", metric) for m in methods for metric in ("NLL", "Brier")]
    is_modest = max(shares.values()) <= 0.15
    said = f"NLL lower by a share of {_numbers(shares)}; Brier score by {_numbers(brier)}"
    yield Judgement("", said, find_verdict(signs, [LOWER] * 6) if is_modest else FAILS)


def emotion_clustered(tables):
    signs = {name: tables.sign("Emotion", name + CLUSTERED, name) for name in ("Vector", "Dirichlet", "TS")}
    said = {name: tables.say("Emotion", name + CLUSTERED, name) for name in signs}
    yield Judgement("", _words(said), find_verdict(signs.values(), [LOWER, HIGHER, HIGHER]))


def emotion_binwise(tables):
    methods = list_methods("Emotion")
    first = {metric: tables.best("Emotion", methods, metric) for metric in ("NLL", "Brier", "ECE")}
    equal = tables.sign("Emotion", "Binwise-Vector", first["Brier"], "Brier") == EQUAL
    sign = tables.sign("Emotion", "Binwise-TS", "Binwise-Vector")
    good = first["NLL"] == "Binwise-Vector" and (first["Brier"] == "Binwise-Vector" or equal)
    good &= first["ECE"] == "Binwise-TS"
    said = f"first by {_words(first)}; Binwise-TS against Binwise-Vector: {sign}"
    yield Judgement("", said, find_verdict([sign], [HIGHER]) if good else FAILS)


def text_binwise_first(tables):
    signs, said = {}, {}
    for name in (*TEXTS, *IMAGES):
        binwise = tables.best(name, _binwise(name))
        clustered = tables.best(name, [method for method in list_methods(name) if method.endswith(CLUSTERED)])
        signs[name] = tables.sign(name, binwise, clustered)
        said[name] = tables.say(name, binwise, clustered)
    wrong = any(signs[name] in (HIGHER, EQUAL) for name in TEXTS) or any(signs[name] == LOWER for name in IMAGES)
    is_open = any(signs[name] == OPEN for name in signs)
    yield Judgement("", f"bin-wise {_words(said)}", FAILS if wrong else UNDECIDED if is_open else HOLDS)


def text_ece_against_nll(tables):
    pairs = {
        "IMDB": ("Beta clustered", "Beta", LOWER, HIGHER),
        "Emotion": ("Binwise-TS", "Binwise-Vector", HIGHER, LOWER),
    }
    for name, (one, two, by_nll, by_ece) in pairs.items():
        if name not in tables:
            yield Judgement(name, f"no results yet for {name}", NOT_ATTEMPTED)
            continue
        signs = {metric: tables.sign(name, one, two, metric) for metric in ("NLL", "ECE")}
        yield Judgement(name, f"{one} is {_words(signs)}", find_verdict(signs.values(), [by_nll, by_ece]))


STATEMENTS = {
    "images-all-improve": images_all_improve,
    "images-clustered-vector-competitive": images_clustered_vector_competitive,
    "images-clustering-gains": images_clustering_gains,
    "images-clustered-vector-first": images_clustered_vector_first,
    "images-ece-ranks-differently": images_ece_ranks_differently,
    "ece-against-nll-share": ece_against_nll_share,
    "images-dirichlet-collapse": images_dirichlet_collapse,
    "images-dirichlet-clustered-collapse": images_dirichlet_clustered_collapse,
    "dirichlet-few-classes": dirichlet_few_classes,
    "imdb-parametric-reduce": imdb_parametric_reduce,
    "imdb-global-reduction": imdb_global_reduction,
    "imdb-binwise-reduction": imdb_binwise_reduction,
    "imdb-clustering-helps": imdb_clustering_helps,
    "emotion-global-gains": emotion_global_gains,
    "emotion-clustered": emotion_clustered,
    "emotion-binwise": emotion_binwise,
    "text-binwise-first": text_binwise_first,
    "text-ece-against-nll": text_ece_against_nll,
}


def _binwise(name):
    return [method for method in list_methods(name) if method.startswith("Binwise-")]


def _holds(condition):
    return HOLDS if condition else FAILS


def find_verdict(signs, expected):
    """Return the verdict on signs: all as expected, or undecided where none is against it and one is open."""
    pairs = list(zip(signs, expected, strict=True))
    if any(sign not in (one, OPEN) for sign, one in pairs):
        return FAILS
    return UNDECIDED if any(sign == OPEN for sign, _ in pairs) else HOLDS


def _words(found):
    return ", ".join(f"{name}: {word}" for name, word in found.items())


def _numbers(found):
    return ", ".join(f"{name} {value:.4f}" for name, value in found.items())
