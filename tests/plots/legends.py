"""What a legend says."""


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
