"""Stacked denoising autoencoders, with which the paper compares SLIDE."""
