"""The HTML page of a reproduction: relative links, no network, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from slide_gui import __version__
from slide_gui.figures.evaluation import TextTable
from slide_gui.reproduction.figures import ReproducedItem
from slide_gui.text import duration

_STYLE = """
:root { color-scheme: light dark; --back: #F7F7F8; --card: #FFFFFF; --line: #E2E3E7; --text: #1D1F24; --muted: #6B707B;
  --accent: #2F6FDE; }
@media (prefers-color-scheme: dark) {
  :root { --back: #1B1D21; --card: #24272C; --line: #363A41; --text: #E8EAED; --muted: #9AA0AB; --accent: #6FA3FF; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 8px; }
h2 { font-size: 19px; margin: 0 0 12px; }
a { color: var(--accent); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 20px; margin: 24px 0; }
img { display: block; width: 100%; height: auto; background: #FFFFFF; border-radius: 4px; margin: 0 0 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 12px 0; }
dt { color: var(--muted); }
dd { margin: 0; }
nav, .files, .note { color: var(--muted); font-size: 13px; }
.scroll { overflow-x: auto; margin: 12px 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: right; padding: 4px 7px; border-bottom: 1px solid var(--line); }
th, td:first-child { white-space: normal; }
th:first-child, td:first-child { text-align: left; min-width: 10em; }
tr.paper td { color: var(--muted); }
"""


def reading_page(items: Sequence[ReproducedItem], left_out: Sequence[str], complete: bool) -> str:
    """Return the page.

    Parameters
    ----------
    items : sequence of ReproducedItem
        Completed items.
    left_out : sequence of str
        Sentences on differences from the paper.
    complete : bool
        True if all items are completed.
    """
    title = "Rapid Feature Learning with Stacked Linear Denoisers: figures and tables, reproduced"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="note">Xu, Weinberger and Sha; reproduced by slide-gui {escape(__version__)}.</p>',
    ]
    if not complete:
        parts.append("<p><strong>The reproduction is incomplete: run the same command again to resume.</strong></p>")
    if left_out:
        parts.append("<h2>Differences from the paper</h2>\n<ul>")
        parts += [f"<li>{escape(sentence)}</li>" for sentence in left_out]
        parts.append("</ul>")
    links = " · ".join(f'<a href="#{escape(item.name)}">{escape(item.title)}</a>' for item in items)
    parts.append(f"<nav>{links}</nav>")
    parts += [_section(item) for item in items]
    parts.append("</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def _section(item: ReproducedItem) -> str:
    lines = [f'<section id="{escape(item.name)}">', f"<h2>{escape(item.title)}</h2>"]
    pictures = [name for name in item.files if name.endswith(".png")]
    lines += [
        f'<a href="{escape(name)}"><img src="{escape(name)}" alt="{escape(item.title)}"></a>' for name in pictures
    ]
    lines += [_table(table) for table in item.tables]
    lines.append("<dl>")
    for name, words in (
        ("Data", item.data),
        ("Made", item.how),
        ("Took", f"{duration(item.seconds)} this time, including the reading of data"),
        ("In the paper", item.paper),
    ):
        lines.append(f"<dt>{name}</dt><dd>{escape(words)}</dd>")
    lines.append("</dl>")
    links = " ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in item.files)
    lines.append(f'<p class="files">{links}</p>\n</section>')
    return "\n".join(lines)


def _table(table: TextTable) -> str:
    lines = [f"<h3>{escape(table.title)}</h3>"]
    for head, *rows in table.blocks(escape, "<strong>{}</strong>"):
        lines += ['<div class="scroll"><table>', f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
        for cells in rows:
            mark = ' class="paper"' if cells[0].strip().startswith("paper") else ""
            lines.append(f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        lines.append("</table></div>")
    lines += [f'<p class="note">{escape(note)}</p>' for note in table.notes]
    return "\n".join(lines)
