"""The paper's experiments: how data are split, prepared and modelled, and the commands that run the studies."""
