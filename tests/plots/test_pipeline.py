"""The picture of the pipeline."""

from clustcal.plots import plot_pipeline


def test_the_pipeline_names_its_stages_in_boxes_that_do_not_overlap():
    ax = plot_pipeline()
    texts = " ".join(text.get_text() for text in ax.texts)
    assert [
        word for word in ("classifier", "representation", "memberships", "global", "mixture") if word not in texts
    ] == []
    boxes = [box.get_window_extent() for box in ax.patches]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
