"""The mathematics of SLIDE in NumPy, without files, threads or Qt."""
