"""The state of the window. These modules define no widgets; QtCore is the only Qt module that they use."""
