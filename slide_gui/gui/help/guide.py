"""The guide window, in which the user reads and searches the pages in resources/help."""

from PySide6.QtCore import Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QTextCursor, QTextDocument, QTextFormat
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QTabBar, QTextBrowser, QVBoxLayout, QWidget

from slide_gui.gui.theme import theme_changed
from slide_gui.gui.widgets.controls import PlainLabel, named
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.resources import resource

# The title of each page of the guide, by file name.
GUIDE_PAGES = {
    "guide.md": "Guide",
    "tour.md": "Tour",
    "glossary.md": "Glossary",
    "paper.md": "Paper",
    "measurements.md": "Measurements",
    "cluster.md": "Clusters",
    "licences.md": "Licences",
}

_ABOVE_HEADING, _ABOVE_PARAGRAPH, _ABOVE_ITEM = 18, 8, 4


class Guide(QDialog):
    """A window that shows the pages of the guide and can stay open while the user works.

    Signals
    -------
    command_requested(str)
        The user clicked a link ``command:NAME``; the argument is the name of the command.
    data_requested(str)
        The user clicked a link ``data:KEY``; the argument is the key of the data set.

    Raises
    ------
    FileNotFoundError
        If the pages are missing from the installation.
    """

    command_requested = Signal(str)
    data_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Guide to slide-gui")
        self.resize(880, 600)  # With its title bar, the window fits on a screen of 960 × 640 pixels.
        layout = flush(QVBoxLayout(self), 6, (12, 12, 12, 12))
        top = nested(layout, QHBoxLayout())
        self.tabs = placed(top, named(QTabBar(self, drawBase=False), "Pages of the guide"))
        for title in GUIDE_PAGES.values():
            self.tabs.addTab(title)
        # Pictures on the pages are loaded from the folder in `searchPaths`.
        self.text = placed(layout, QTextBrowser(self, openLinks=False, searchPaths=[str(resource("help"))]))
        self.text.setAccessibleName("Text of the guide")
        self.text.document().setDocumentMargin(12)
        # No horizontal scroll bar is needed, because all text wraps. Qt would still show one, because it rounds
        # up the widths of tables.
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text.anchorClicked.connect(self._follow)
        top.addStretch(1)
        self.missing = placed(top, PlainLabel("", self))
        self.search = placed(top, QLineEdit(self, placeholderText="Find in this page", clearButtonEnabled=True))
        self.search.setAccessibleName("Find in this page")
        self.search.setMaximumWidth(240)
        self.search.textEdited.connect(self._find_first)
        self.search.returnPressed.connect(self._find_next)
        self.tabs.currentChanged.connect(self._show)
        self._show(0)
        theme_changed().connect(self._recolour)
        self.search.setFocus()

    def turn_to(self, name: str) -> None:
        """Show the page of the guide with this file name, which must be a key of `GUIDE_PAGES`."""
        self.tabs.setCurrentIndex(list(GUIDE_PAGES).index(name))

    @Slot()
    def _recolour(self) -> None:
        """Display the current page again after a change of the theme, because its links still have the old colours."""
        place = self.text.verticalScrollBar().value()
        self._show(self.tabs.currentIndex())
        self.text.verticalScrollBar().setValue(place)

    @Slot(int)
    def _show(self, number: int) -> None:
        name = list(GUIDE_PAGES)[number]
        text = (resource("help") / name).read_text(encoding="utf-8")
        if name == "licences.md":
            from slide_gui.licences import as_markdown

            text += as_markdown()
        self.text.setMarkdown(text)
        self._space_out()
        self.missing.clear()

    def _space_out(self) -> None:
        """Add space above paragraphs and headings, and wrap long lines of code. Qt does neither by default."""
        block = self.text.document().begin().next()
        while block.isValid():
            layout = block.blockFormat()
            heading = layout.headingLevel() > 0
            if QTextCursor(block).currentTable() is None:
                above = _ABOVE_ITEM if block.textList() is not None else _ABOVE_PARAGRAPH
                # No space is added between the lines of a code block, each of which has this property.
                fence = QTextFormat.Property.BlockCodeFence
                if layout.hasProperty(fence) and block.previous().blockFormat().hasProperty(fence):
                    above = 0
                layout.setTopMargin(_ABOVE_HEADING if heading else above)
                layout.setNonBreakableLines(False)
                QTextCursor(block).setBlockFormat(layout)
            block = block.next()

    @Slot(QUrl)
    def _follow(self, link: QUrl) -> None:
        """Follow a link to a page, a command or a data set; let the operating system open any other link."""
        name = link.path()
        if link.scheme() == "command":
            self.command_requested.emit(name)
        elif link.scheme() == "data":
            self.data_requested.emit(name)
        elif name in GUIDE_PAGES:
            self.turn_to(name)
        elif link.isRelative():
            QDesktopServices.openUrl(QUrl.fromLocalFile(str((resource("help") / name).resolve())))
        else:
            QDesktopServices.openUrl(link)

    @Slot()
    def _find_first(self) -> None:
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        self._find_next()

    @Slot()
    def _find_next(self) -> None:
        """Select the next match of the search text; after the last match, continue at the top of the page."""
        wanted = self.search.text()
        has_match = not wanted or self.text.find(wanted)
        if not has_match:
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            has_match = self.text.find(wanted, QTextDocument.FindFlag(0))
        self.missing.setText("" if has_match else "not found on this page")
