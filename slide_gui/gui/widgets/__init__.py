"""One QWidget a file: set_… in, signals out; none knows the workspace or an estimator."""
