"""Read and write sessions, model files and the provenance of figures, and describe the sources of data sets."""
