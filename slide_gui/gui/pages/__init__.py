"""The pages of the window, which combine widgets and connect them to the workspace."""
