"""Stacked denoising autoencoders, which the paper compares SLIDE with."""
