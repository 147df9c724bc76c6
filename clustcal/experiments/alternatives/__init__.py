"""Studies of calibrators beside those of the paper, or beside its settings."""
