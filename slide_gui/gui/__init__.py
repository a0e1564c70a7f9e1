"""The window, whose thread computes nothing that takes longer than a frame."""
