"""Read and write sessions, model files, data sources and the provenance of figures."""
