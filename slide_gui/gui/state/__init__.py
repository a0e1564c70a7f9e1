"""What the window holds, without a widget: QtCore only."""
