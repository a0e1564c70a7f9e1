"""The window: shows and asks; computes nothing that takes longer than a frame."""
