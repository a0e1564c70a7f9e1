"""What the Weights page is made of: what is pointed at, the image to point at, and one module a view."""
