"""The export dialog: format, width, levels and colours of the weight figure, alone or as a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

__all__ = ["ExportDialog"]
