"""The configuration of Sphinx, which `build.py` starts."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from docutils.utils.math.unichar2tex import uni2tex_table

from slide_gui import __version__

project, author, release = "slide-gui", "The slide-gui maintainers", __version__
project_copyright = author
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["gallery", "guide"]  # read by sphinx_gallery, included by pages
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
default_role = "literal"  # docstrings name code in single backticks
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # the docstrings have the types
autodoc_default_options = {  # scikit-learn makes these methods
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, set_transform_request, "
    "set_decision_function_request"
}
numpydoc_show_class_members = False
html_title = project
html_theme = "pydata_sphinx_theme"
html_theme_options = {"header_links_before_dropdown": 6, "secondary_sidebar_items": ["page-toc"]}
single_pages = ("index", "install", "tutorial", "api", "command-line", "results", "glossary", "citing")
html_sidebars = dict.fromkeys(single_pages, ())  # they have no pages below them
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["wrapped.css"]
html_math_renderer = "mathml"
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": "",
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,  # reported times would make pages differ between builds
    "write_computation_times": False,
}


def setup(app):
    """Write formulas as MathML, which browsers show without a script from the network."""

    def renderer(as_block):
        def visit(writer, node):
            writer.body.append(tex2mathml(node.astext().translate(uni2tex_table), as_block=as_block))
            raise nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", renderer(False), renderer(True))
