"""Where the project lives: the one place in the package that says so, the same as in `_config.yml`."""

REPOSITORY = "https://github.com/clustcal/clustcal"
BRANCH = "main"
SCORE_FILES = f"{REPOSITORY}/raw/{BRANCH}/clustcal/datasets/score_files"  # for what the wheel has no room for
