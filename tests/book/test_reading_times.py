"""The times that chapters and the plan of the course state are counted: words, formulas, code, outputs, questions."""

import pytest
from reading_times import Content, count, stated, times, with_time

PAGE = """\
---
kernelspec:
  name: python3
---

# A title of five words

Time: 3 minutes.

(a-label)=
One sentence with $x$ and $y = 1$, a [link](../theory/elsewhere.md) and {cite:p}`somebody2020`.
It's well-known: {glue:text}`number:.2f` words.

$$
x = 1
$$ (eq-one)

:::{admonition} Note
:class: tip
Two words, and $$y = 2$$
:::

```{math}
:label: eq-two
z = 3
```

```{code-cell} ipython3
a = 1

b = 2
```

```{code-cell} ipython3
---
mystnb:
  figure:
    caption: |
      Four words of caption.
    name: fig-a
  image:
    alt: |
      These are not counted.
tags: [hide-input]
---
plt.plot([1, 2])
```

```{code-cell} ipython3
:tags: [remove-cell]
glue("number", 1.0)
```

<section id="an-explorer" class="explorer" hidden>
</section>

## Quiz

```{quiz}
1. Is it?

   - [x] Yes
     It is.
   - [ ] No
     It is.
```

## Exercises

:::{exercise}
:label: ex-a
Many words that nobody has to read before they do the exercise.
:::

```{solution-start} ex-a
```

```{code-cell} ipython3
many = "lines"
```

```{solution-end}
```

## References

```{bibliography}
```
"""


def test_what_a_page_holds_is_counted_as_by_hand():
    found = count(PAGE)
    assert (found.formulas, found.displayed, found.lines, found.outputs) == (2, 3, 2, 1)
    assert (found.questions, found.panels, found.exercises) == (1, 1, 1)
    # The title 5, the time 3, the sentences 8 (the link and the citation are a word each) and 5 (the number has two, with
    # its format), the note 3, the caption 4; of the quiz its heading, the question with its number, answers and reasons.
    assert found.words == 5 + 3 + 8 + 5 + 3 + 4 + (1 + 3 + 1 + 2 + 1 + 2)


def test_what_is_folded_or_removed_is_not_read():
    more = PAGE.replace("## References", '```{code-cell} ipython3\n:tags: [remove-cell]\na = "b"\n```\n\n## References')
    longer = PAGE.replace("Many words", "Many more and still more words")
    assert count(more) == count(longer) == count(PAGE)
    assert count(PAGE.replace("tags: [hide-input]\n", "")).lines == count(PAGE).lines + 1


def test_minutes_add_up_from_the_rates():
    assert Content(words=1400).reading == 10
    assert Content(words=1400, questions=5).reading == 15
    assert Content(words=1400, displayed=20).reading == 25
    assert Content(exercises=4).practice == 60


def test_the_time_is_written_where_it_stands_and_nowhere_else():
    written = with_time(PAGE)
    line = f"Time: {count(PAGE).reading} minutes; the exercises take about 15 more."
    assert written == PAGE.replace("Time: 3 minutes.", line)
    assert with_time(written) == written
    assert count(written).reading == count(PAGE).reading


def test_a_directive_that_nobody_has_thought_of_stops_the_count():
    with pytest.raises(ValueError, match="directive is 'mermaid'"):
        count("# A\n\n```{mermaid}\na\n```\n")


@pytest.mark.parametrize("chapter", [name for name, content in times().items() if content.exercises])
def test_the_time_that_a_chapter_states_is_that_of_its_content(chapter):
    content = times()[chapter]
    reading, practice = stated(chapter)
    assert abs(reading - content.reading) <= max(5, 0.1 * content.reading), "python tools/reading_times.py --write"
    assert practice == content.practice, "python tools/reading_times.py --write"
