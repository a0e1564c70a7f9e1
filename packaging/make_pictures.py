"""Take the pictures of the window that the README shows; needs a display or QT_QPA_PLATFORM=offscreen."""

from pathlib import Path

from slide_gui.gui.app import take_screenshot

if __name__ == "__main__":
    folder = Path(__file__).parent / "pictures"
    for theme in ("light", "dark"):
        take_screenshot(folder / f"weights-{theme}.png", theme=theme)
