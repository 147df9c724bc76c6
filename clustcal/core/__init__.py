"""What everything else stands on: one form of probabilities, checks, families of maps, their optimum, folds."""
