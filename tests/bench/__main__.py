"""Run benchmarks by name: `python -m tests.bench [--small] [NAME …]`.

Each line shows a figure as a multiple of its floor or reference, measured in the same run, and whether it meets its
bound. The exit code is 0 if all bounds are met. Real data are used if SLIDE_GUI_DATA names a folder that holds them.
"""

import argparse
import os
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument("--small", action="store_true", help="tiny data, only to see whether each benchmark runs")
    options = parser.parse_args()
    if options.small:
        os.environ["SLIDE_GUI_BENCH_SMALL"] = "1"
    from slide_gui.blas import set_threads
    from tests.bench import denoiser, imputation, runs, svm, window

    set_threads()
    benchmarks = denoiser.BENCHMARKS | imputation.BENCHMARKS | runs.BENCHMARKS | svm.BENCHMARKS | window.BENCHMARKS
    unknown = [name for name in options.names if name not in benchmarks]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(benchmarks)}")
    figures, start = [], time.perf_counter()
    for name in options.names or benchmarks:
        for figure in benchmarks[name]():
            figures.append(figure)
            print(figure.line(), flush=True)
    kept = sum(figure.met for figure in figures)
    print(f"{kept} of {len(figures)} bounds kept, in {(time.perf_counter() - start) / 60:.1f} min")
    return 0 if kept == len(figures) else 1


sys.exit(main())
