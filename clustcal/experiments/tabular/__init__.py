"""The tabular study: XGBoost on tables, the paper's 21 methods and ours, and what is read off their results."""
