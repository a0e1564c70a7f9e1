"""Pages compose widgets and tie them to the workspace."""
