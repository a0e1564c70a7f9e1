"""Sessions, model files, data sources and the provenance of figures."""
