"""Components of the Weights page: the selected pixel, the image, and one module per view."""
