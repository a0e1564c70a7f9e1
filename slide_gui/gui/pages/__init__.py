"""The pages of the main window. Each page shows and changes the open data, their layers, or stored results."""
