"""SLIDE: one linear denoiser in closed form, the stack of them, and its estimator."""
