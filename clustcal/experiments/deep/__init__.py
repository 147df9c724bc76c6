"""The networks of the study of images and texts: how they are trained, and what they say about the rows that count.

Builds on `datasets`. torch, transformers and the packages that carry weights are imported by the function that needs
them.
"""
