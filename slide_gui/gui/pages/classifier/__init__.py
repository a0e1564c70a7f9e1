"""The Classifier page."""
