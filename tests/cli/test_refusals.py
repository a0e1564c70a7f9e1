"""Commands that cannot run end with one sentence and an exit code, and write nothing."""

from pathlib import Path

import pytest

USAGE = {
    "nonsense": "neither a file nor one of the subcommands",
    "--nonsense": "required",
    "fit": "DATA",
    "fit small.npz --noise 1": "noise is 1.0",
    "fit small.npz --noise much": "--noise",
    "fit small.npz --squashing cubic": "squashing is 'cubic'",
    "weights small.npz --depth 0": "depth is 0",
    "weights small.npz --pixels 6,0": "rows 0 to 5",
    "weights small.npz --pixels 3": "ROW,COLUMN",
    "weights small.npz --pixels 1,1 --pixels 2,2": "2 times for 1",
    "weights small.npz --width huge": "width is 'huge'",
    "weights small.npz -o w.jpg": "must end in",
    "weights small.npz --unknown": "--unknown",
    "weights small.npz --animate depth": "invalid choice: 'depth' (choose from 'noise')",
    "weights small.npz --animate noise -o w.pdf": "must end in .gif",
    "weights small.npz --animate noise --bundle b": "exclude each other",
    "weights small.npz --animate noise --format png": "--format 'png' is none of gif",
    "weights small.npz -o w.gif": "must end in .pdf, .svg, .png or .csv",
    "flow tiny.npz --row 60": "--row is 60; the training set of tiny has 60 rows",
    "flow tiny.npz -o x.txt": "must end in",
    "flow tiny.npz --corruption -1": "expected a seed of 0 or more",
    "flow tiny.npz --image three.csv": "holds 3 numbers; tiny has 64 features",
    "copies tiny.npz --layer 4": "layer is 4; at depth 3 it must be 1 to 3",
    "copies tiny.npz --shown 3": "shown is 3; it must be one of 1, 2, 4",
    "copies tiny.npz --pixel 9,9": "expected ROW,COLUMN",
    "train tiny.npz --evaluate validation": "validation",
    "train tiny.npz --method magic": "method is 'magic'; it must be one of",
    "train tiny.npz --widths 1,two": "widths",
    "train tiny.npz --loss square": "loss is 'square'",
    "train tiny.npz --figure picture.pdf": "expected confusion or widths, with .pdf",
    "train tiny.npz --figure widths.pdf --folds 2": "leave out one of them",
    "train tiny.npz --method pca-svm": "--kept is missing; pca-svm needs a fraction of the variance, between 0 and 1",
    "train tiny.npz --method randproj-svm": "--kept is missing; randproj-svm needs an integer number of directions",
    "train tiny.npz --method slide-svm-without-input --depth 0": "omits h⁰; use at least one layer",
    "train tiny.npz --method slide-svm-without-input --save-model m.npz": "cannot save SLIDE-SVM without h⁰",
    "train tiny.npz --classifier os.system": "--classifier: ",
    "train tiny.npz --classifier neural_network.MLPClassifier alpha": "expected NAME=VALUE after the class",
    "train tiny.npz --classifier svm.SVC": "--classifier: ",
    "train tiny.npz --classifier neighbors.KNeighborsClassifier --method raw-svm": "raw-svm",
    "train tiny.npz --method sda --units a": "expected integers with commas between",
    "train flowers.csv --folds 1": "--folds is 1",
    "train flowers.csv --folds 3 --held-out 0.2": "exclude each other",
    "train flowers.csv --held-out 0.95": "give 0 to 0.9",
    "train flowers.csv --folds 3 --fold 4": "unrecognized arguments: --fold 4",
    "train flowers.csv --shape 3by4": "expected rows and columns",
    "train flowers.csv --bins 1": "bins is 1; give 2 to 30 ranges",
    "sweep tiny.npz": "--store",
    "sweep tiny.npz --store r --method pca-svm": "--kept is missing; pca-svm needs a fraction",
    "sweep tiny.npz --store r --noise 0:1:0": "--noise",
    "sweep tiny.npz --store r --depth 4:x": "expected FROM:TO",
    "sweep tiny.npz --store r --choose": "add --on-split",
    "sweep tiny.npz --store r --pooled": "needs --choose",
    "sweep tiny.npz --store r --splits 0": "it must be 1 to 1000",
    "sweep tiny.npz --store r --figure c.doc": "must end in",
    "try": "DATA",
    "runs list absent": "this run store does not exist",
    "benchmark": "--store",
    "benchmark cifar=x.npz --store r": "cifar",
    "benchmark convex= --store r": "expected KEY=FILE",
    "benchmark convex=a.csv convex=b.csv --store r": "convex is named 2 times",
    "benchmark --methods magic --store r": "magic",
    "benchmark --splits 0 --store r": "splits",
    "benchmark --store r --tables errors.doc": "must end in",
    "reproduce": "--out",
    "reproduce --out o --splits 0": "splits",
    "datasets get convex cifar": "unknown data set 'cifar'",
    "x.slide-session --header": "is a session, which stores how its data are read",
    "flowers.csv --depth 2": "unrecognized arguments: --depth",
    "nowhere.csv --header": "is neither a file nor one of the subcommands",
}
FAILURES = {
    "fit row.csv": "row: has 1 row; at least two are needed to fit",
    "fit empty.csv": "empty.csv",
    "weights broken.npz": "broken.npz",
    "fit absent.csv": "absent.csv",
    "fit small.npz -o small.npz/m.npz": "small.npz",
    "train tiny.npz --widths 1,2": "widths",
    "train tiny.npz -o tiny.npz": "tiny.npz",
    "train tiny.npz --labels 1000": "1000",
    "train tiny.npz --classifier neural_network.MLPClassifier alpha=-1": "alpha",
    "train flowers.csv --folds 50": "40 rows, fewer than the 50 folds",
    "train flowers.csv --label-column colour": "no column 'colour'",
    "train flowers.csv --held-out 0 --depth 0": "has no test rows; hold rows out",
    "try absent.csv": "absent.csv",
    "try flowers.csv --label-column none": "choose the label column",
    "try flowers.csv --held-out 0": "test",
    "try alone.csv": "alone: no class has two rows, so no row can be held out for a test; add rows",
    "train alone.csv --depth 1": "alone: no class has two rows",
    "try three-rows.csv": "three-rows: no row can be held out; a class needs at least two rows",
    "fill tiny.npz -o x.csv": "tiny.npz: is not a file of text; give a table (.csv)",
    "fill . -o ../x.csv": ".: is not a file of text; give a table (.csv)",
    "benchmark --stored --store r": "r: this run store does not exist; check the name",
}


@pytest.mark.parametrize(
    ("code", "line", "sentence"),
    [(code, *case) for code, cases in ((2, USAGE), (1, FAILURES)) for case in cases.items()],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_that_a_command_that_cannot_run_ends_in_one_sentence_and_writes_nothing(
    cli, tiny, small, flowers, code, line, sentence
):
    Path("row.csv").write_text("a,b,label\n1,2,cat\n")
    Path("three.csv").write_text("1,2,3")
    Path("alone.csv").write_text("a,b,label\n1,2,cat\n2,1,dog\n3,1,cow\n")
    Path("three-rows.csv").write_text("a,b,label\n1,2,cat\n2,1,dog\n3,1,cat\n")
    Path("empty.csv").touch()
    Path("x.slide-session").touch()
    Path("broken.npz").write_bytes(small.read_bytes()[:300])
    before = set(Path().rglob("*"))
    output = cli(line, code=code)
    assert output.out == ""
    (found,) = (each for each in output.err.splitlines() if "please check" not in each)
    assert found.startswith("slide-gui: ")
    assert sentence in found
    assert set(Path().rglob("*")) == before
