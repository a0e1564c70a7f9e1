"""The window of the guide, and the card that shows one step of the tour."""
