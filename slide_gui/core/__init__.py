"""The computations of SLIDE in NumPy. They do not use files, threads or Qt."""
