"""Quantities that the window displays to explain fitted models: weights, representations, predictions, comparisons."""
