"""A language whose every text tells that it went through the catalogue, so that nothing has to be translated."""

from __future__ import annotations

from gettext import NullTranslations

__all__ = ["Bracketed"]


class Bracketed(NullTranslations):
    """Each text is the English one between ⟦ and ⟧."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, one: str, many: str, n: int) -> str:
        return f"⟦{one if n == 1 else many}⟧"
