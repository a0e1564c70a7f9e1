"""The paper's evaluation: its protocol, its runs and its tables."""
