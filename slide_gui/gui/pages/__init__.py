"""The pages of the main window: Weights, Error curves, Classifier, Benchmark and Runs."""
