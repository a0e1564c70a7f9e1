"""The window of the guide, and the card of the tour."""
