"""The mathematics of SLIDE in NumPy: no files, no threads, no Qt."""
