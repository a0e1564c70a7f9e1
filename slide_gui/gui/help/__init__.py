"""The guide window, and the card that shows one step of the tour."""
