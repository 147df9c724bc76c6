"""The four future directions that the paper names, each tried in a small study of its own."""
