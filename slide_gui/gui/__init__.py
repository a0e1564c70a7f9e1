"""The graphical interface, whose thread computes nothing that takes longer than a frame."""
