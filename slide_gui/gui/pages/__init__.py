"""The pages of the window; each composes widgets and connects them to the workspace."""
