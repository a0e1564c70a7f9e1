"""SLIDE: a linear denoiser in closed form, the stack of denoisers, and its scikit-learn estimator."""
