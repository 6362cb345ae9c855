#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures from the CSV of bench (and of peers.py), by matplotlib.

    python3 tests/bench/plot.py bench.csv [peers.csv ...] [--out DIR]

writes DIR/ratios.svg (the fastest other library's time over gpulite's, a point a case), DIR/bandwidth.svg (how fast
memory is moved, over the bytes that a call moves) and DIR/compute.svg (matrix products, over their size). From the CSV of
bench --random it writes DIR/random.svg (which share of the random cases has which ratio, or a smaller one).
"""

import argparse
import csv
import math
import os
from collections import defaultdict
from statistics import geometric_mean, median

try:
    import matplotlib
except ImportError:
    raise SystemExit("the pictures need matplotlib (pip install matplotlib, or the package python3-matplotlib)")

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

INK, SOFT, GRID, SLOW = "#24292f", "#6e7781", "#e4e7eb", "#b2182b"
DTYPES = {  # colour and mark
    "f32": ("#2166ac", "o"),
    "f64": ("#d6604d", "s"),
    "f16": ("#1b9e77", "^"),
    "bf16": ("#66a61e", "v"),
    "i32": ("#7b3294", "D"),
    "u8": ("#b8860b", "P"),
}
FAMILIES = {  # name and colour
    "elementwise": ("elementwise", "#2166ac"),
    "functions": ("functions", "#4d4d4d"),
    "reduce": ("reductions", "#d6604d"),
    "axis": ("reductions along an axis", "#b8860b"),
    "gemv": ("gemv", "#1b9e77"),
    "histogram": ("histogram", "#7b3294"),
    "matmul": ("matmul", "#8c6d31"),
    "gemm_ex": ("gemm_ex", "#636363"),
}
HISTOGRAMS = (("histogram, up to 256 bins", 256), ("histogram, 512 to 32768", 32768), ("histogram, more bins", 1 << 62))
TITLES = {
    "gemv-row": "gemv, row-major",
    "gemv-col": "gemv, column-major",
    "axis-sum": "sum along an axis",
    "axis-max": "max along an axis",
    "f32-to-f16": "float32 to float16",
    "f64-to-f32": "float64 to float32",
    "matmul-tf32": "matmul, TF32",
    "matmul-emulated": "matmul, float32 emulated",
    "own-axpy": "GPUL_ELEMENTWISE: a x + y",
    "own-norm": "GPUL_REDUCE: norm",
}
# Floating-point operations of a multiprocessor in a clock cycle: CUDA C++ Programming Guide, table of arithmetic
# throughput, and for tensor cores (f64 from 8.0 on, 16-bit types) the architectures' white papers.
PEAK = {
    "8.0": {"f32": 128, "f64": 128, "f16": 2048, "bf16": 2048, "matmul-tf32": 1024},
    "9.0": {"f32": 256, "f64": 256, "f16": 4096, "bf16": 4096, "matmul-tf32": 2048, "matmul-emulated": 4096 / 3},
}
RATIO_TICKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)

plt.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": "gpulite",
        "text.color": INK,
        "axes.labelcolor": SOFT,
        "axes.edgecolor": GRID,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.frameon": False,
    }
)


def read(paths):
    """facts of the first file that has them, and case -> {who: row}"""
    facts, cases, seeds = {}, defaultdict(dict), []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as f:
            lines = []
            for line in f:
                if line.startswith("#"):
                    key, _, value = line[1:].partition(":")
                    facts.setdefault(key.strip(), value.strip())
                    if key.strip() == "seed":
                        seeds.append(value.strip())
                elif line.strip():
                    lines.append(line)
        for row in csv.DictReader(lines):
            # random cases of two seeds are two, however alike; peers.py has the same fixed cases
            draw = path if row["family"].startswith("random-") else ""
            key = (row["family"], row["case"], row["dtype"], row["shape"], draw)
            for name in ("bytes", "flops", "median_us"):
                row[name] = float(row[name] or 0)
            row["good"] = not row["check"].startswith("FAIL") and row["median_us"] > 0
            # a gpulite measured again beside the Python libraries does not replace bench's
            cases[key].setdefault(row["who"], row)
    facts["seed"] = ", ".join(dict.fromkeys(seeds))
    return facts, cases


def compare(cases):
    """one entry a case where gpulite has a good result; ratio 0 where no peer has one"""
    out = []
    for (family, case, dtype, shape, _), who in cases.items():
        ours = who.get("gpulite")
        if family == "host" or not ours or not ours["good"]:
            continue
        peers = [r for name, r in who.items() if name not in ("gpulite", "read") and r["good"]]
        best = min(peers, key=lambda r: r["median_us"], default=None)
        point = {"family": family, "case": case, "dtype": dtype, "shape": shape, "us": ours["median_us"]}
        point.update(bytes=ours["bytes"], flops=ours["flops"], peer=best["who"] if best else "")
        point["peer_us"] = best["median_us"] if best else 0
        point["ratio"] = point["peer_us"] / point["us"]
        out.append(point)
    return out


def digits(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def binary(value):
    """a size in bytes, a power of two"""
    for limit, unit in ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB")):
        if value >= limit:
            return f"{value / limit:.0f} {unit}"
    return f"{value:.0f} B"


def save(figure, path, title, subtitle, facts):
    parts = [facts.get("gpu"), facts.get("toolkit", "").split(",")[0], facts.get("commit"), facts.get("date", "")[:10]]
    if facts.get("driver"):
        parts.insert(2, "driver " + facts["driver"])
    height = figure.get_figheight()
    figure.text(0.025, 1 - 0.35 / height, title, fontsize=15, fontweight="bold")
    figure.text(0.025, 1 - 0.58 / height, subtitle, color=SOFT, fontsize=9.5)
    figure.text(0.025, 1 - 0.78 / height, " · ".join(p for p in parts if p), color=SOFT, fontsize=9.5)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def size_axis(axis, base, name, words):
    """a log scale of powers of two"""
    axis.set_xscale("log", base=2)
    low, high = (math.log2(v) for v in axis.get_xlim())
    axis.xaxis.set_major_locator(FixedLocator([2.0**e for e in range(math.ceil(low), int(high) + 1) if e % base == 0]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(name))
    axis.set_xlabel(words)


def ratio_axis(axis, low, high, labels):
    """a log scale of ratios: left of 1, gpulite is slower"""
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.axvspan(low, 1, color=SLOW, alpha=0.05, lw=0)
    axis.axvline(1, color=INK, lw=1.2)
    axis.xaxis.set_major_locator(FixedLocator([t for t in RATIO_TICKS if low <= t <= high]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t:g}"))
    axis.tick_params(axis="x", labelbottom=labels)


def ratios(facts, points, path):
    """Rows are operations. In a row, points spread downwards from small to large problems."""
    rows = defaultdict(list)
    for p in points:
        if p["ratio"] > 0 and p["family"] in FAMILIES:
            name = TITLES.get(p["case"], p["case"])
            if p["family"] == "histogram":  # what its peers do depends on the bins alone
                bins = int(p["shape"].rpartition("=")[2])
                name = next(title for title, most in HISTOGRAMS if bins <= most)
            rows[(list(FAMILIES).index(p["family"]), name)].append(p)
    if not rows:
        return
    order = [title for title, _ in HISTOGRAMS]
    names = sorted(rows, key=lambda k: (k[0], order.index(k[1]) if k[1] in order else 0))
    every = sorted(p["ratio"] for part in rows.values() for p in part)
    # the axis is cut where a few cases alone would stretch it
    high = max(2, every[int(0.99 * (len(every) - 1))] * 1.2)
    high = every[-1] * 1.1 if every[-1] < 1.5 * high else high
    low = min(0.8, every[0] / 1.15)
    figure, axis = plt.subplots(figsize=(9.8, 1.7 + 0.4 * len(names)))
    figure.subplots_adjust(
        left=0.22, right=0.87, top=1 - 1.3 / figure.get_figheight(), bottom=0.55 / figure.get_figheight()
    )
    used = set()
    for y, key in enumerate(names):
        part = sorted(rows[key], key=lambda p: (p["bytes"], p["dtype"]))
        for i, p in enumerate(part):
            color, mark = DTYPES.get(p["dtype"], (SOFT, "o"))
            at = y - 0.32 + 0.64 * (i / (len(part) - 1) if len(part) > 1 else 0.5)
            inside = p["ratio"] <= high
            axis.plot(
                min(p["ratio"], high), at, mark if inside else ">", color=color, ms=4.5, alpha=0.8, mew=0, clip_on=False
            )
            used.add(p["dtype"])
        here = [p["ratio"] for p in part]
        if max(here) > high:
            words = f"to {digits(max(here))} "
            axis.text(high, y - 0.2, words, ha="right", va="center", fontsize=8.5, color=SOFT)
        axis.plot([geometric_mean(here)] * 2, [y - 0.42, y + 0.42], color=INK, lw=1.8)
        words = f"{digits(geometric_mean(here))} · {digits(min(here))}"
        axis.text(
            1.13,
            y,
            words,
            transform=axis.get_yaxis_transform(),
            ha="right",
            va="center",
            color=SLOW if min(here) < 1 else INK,
        )
    axis.text(
        1.13,
        -0.85,
        "mean · worst",
        transform=axis.get_yaxis_transform(),
        ha="right",
        va="center",
        color=SOFT,
        fontsize=9,
    )
    ratio_axis(axis, low, high, True)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_yticks(range(len(names)), [name for _, name in names], color=INK, fontsize=10)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(
        "ratio, log scale; right of 1 gpulite is faster" + ("; an arrow: beyond the axis" if every[-1] > high else "")
    )
    marks = [plt.Line2D([], [], color=c, marker=m, ls="", ms=6, label=d) for d, (c, m) in DTYPES.items() if d in used]
    marks.append(plt.Line2D([], [], color=INK, marker="|", ls="", ms=11, mew=1.8, label="geometric mean"))
    axis.legend(
        handles=marks,
        loc="lower left",
        bbox_to_anchor=(0, 1 + 0.05 / len(names)),
        ncol=len(marks),
        handletextpad=0.2,
        columnspacing=1.2,
    )
    peers = "cuBLAS, CUB, plain CUDA"
    if any(p["peer"].startswith(("torch", "cupy", "numba")) for part in rows.values() for p in part):
        peers += ", CuPy, PyTorch, Numba"
    subtitle = f"time of the fastest other library ({peers}) / time of gpulite; a point a case, larger problems lower in their row"
    save(figure, path, "How many times faster than the fastest other library", subtitle, facts)


def band(axis, points, size, rate, color, line, label):
    """medians of the points of like size, and their range"""
    groups = defaultdict(list)
    for p in points:
        groups[round(2 * math.log2(size(p)))].append(p)
    groups = [groups[k] for k in sorted(groups)]
    at = [2 ** median(math.log2(size(p)) for p in g) for g in groups]
    axis.fill_between(
        at, [min(map(rate, g)) for g in groups], [max(map(rate, g)) for g in groups], color=color, alpha=0.16, lw=0
    )
    axis.plot(at, [median(map(rate, g)) for g in groups], line, color=color, lw=1.8, ms=3.5, label=label)


def rates(amount, scale):
    """what gpulite and what the fastest other library reaches"""
    return (lambda p: p[amount] / p["us"] / scale, lambda p: p[amount] / p["peer_us"] / scale)


def bandwidth(facts, points, path):
    """A family a panel: GB/s over the bytes that a call has to move."""
    panels = {
        f: [p for p in points if p["family"] == f and p["bytes"] > 0 and p["ratio"] > 0]
        for f in FAMILIES
        if f not in ("functions", "matmul")
    }
    panels = {f: part for f, part in panels.items() if part}
    if not panels:
        return
    roof = max(float(facts.get(k) or 0) for k in ("read_gbps", "copy_gbps"))
    ours, theirs = rates("bytes", 1e3)
    rows = (len(panels) + 2) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(9.8, 1.1 + 2.5 * rows), sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(
        left=0.08,
        right=0.975,
        top=1 - 1.2 / figure.get_figheight(),
        bottom=0.55 / figure.get_figheight(),
        hspace=0.22,
        wspace=0.06,
    )
    axes = list(axes.flat)
    for axis, (family, part) in zip(axes, panels.items()):
        band(axis, part, lambda p: p["bytes"], theirs, SOFT, "--", "the fastest other library")
        band(axis, part, lambda p: p["bytes"], ours, FAMILIES[family][1], "-", "gpulite")
        if roof:
            axis.axhline(roof, color=INK, lw=1)
        axis.set_title(FAMILIES[family][0])
    axes[0].set_ylim(bottom=0)
    if roof:
        words = f"fastest read, measured: {roof:.0f} GB/s"
        at = axes[0].get_yaxis_transform()
        axes[0].text(0.02, roof, words, transform=at, va="bottom", fontsize=8.5)
        axes[0].set_ylim(top=1.45 * roof)
    for k, axis in enumerate(axes):
        size_axis(axis, 4, lambda v, _: binary(v), "bytes that a call has to move")
        axis.label_outer()
        if k % 2 == 0:
            axis.set_ylabel("GB/s")
        if k >= len(panels):
            axis.axis("off")
        elif k + 2 >= len(panels):
            axis.tick_params(labelbottom=True)
            axis.set_xlabel("bytes that a call has to move")
    handles = [
        plt.Line2D([], [], color=INK, lw=1.8, label="gpulite (in colour): median of its cases of one size"),
        plt.Line2D([], [], color=SOFT, lw=1.8, ls="--", label="the fastest other library of each case: median"),
        plt.Rectangle((0, 0), 1, 1, color=SOFT, alpha=0.2, lw=0, label="from the slowest to the fastest case"),
    ]
    axes[len(panels) % len(axes)].legend(handles=handles, loc="center left")
    subtitle = "operands smaller than the L2 cache stay in it, so calls on them can pass the roof; short calls are bound by their launch"
    save(figure, path, "How fast memory is moved", subtitle, facts)


def compute(facts, points, path):
    """A dtype and arithmetic a panel: TFLOP/s of matrix products over their size."""
    part = [p for p in points if p["family"] == "matmul" and p["flops"] > 0 and p["ratio"] > 0]
    kinds = [("matmul", d) for d in DTYPES] + [("matmul-emulated", "f32"), ("matmul-tf32", "f32")]
    kinds = [k for k in kinds if any((p["case"], p["dtype"]) == k for p in part)]
    if not kinds:
        return
    capability, _, rest = facts.get("capability", "").partition(",")
    cycles = (
        float(rest.split()[0]) * float(facts.get("clock_mhz") or 0) if rest.split() else 0
    )  # of all SMs, in 10^6 a second
    ours, theirs = rates("flops", 1e6)
    rows = (len(kinds) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(9.8, 1.3 + 2.7 * rows), squeeze=False)
    figure.subplots_adjust(
        left=0.08,
        right=0.975,
        top=1 - 1.45 / figure.get_figheight(),
        bottom=0.55 / figure.get_figheight(),
        hspace=0.38,
        wspace=0.13,
    )
    for axis, (case, dtype) in zip(axes.flat, kinds):
        here = [p for p in part if (p["case"], p["dtype"]) == (case, dtype)]
        square = lambda p: len(set(p["shape"].split("x"))) == 1
        side = lambda p: (p["flops"] / 2) ** (1 / 3)
        for rate, color, line, fill in ((theirs, SOFT, "--", "white"), (ours, DTYPES[dtype][0], "-", DTYPES[dtype][0])):
            band(axis, [p for p in here if square(p)], side, rate, color, line, None)
            others = [p for p in here if not square(p)]
            axis.plot([side(p) for p in others], [rate(p) for p in others], "o", color=color, mfc=fill, ms=4.5)
        peaks = PEAK.get(capability, {})
        roof = peaks.get(case, peaks.get(dtype, 0) if case == "matmul" else 0) * cycles / 1e6
        if roof:
            axis.axhline(roof, color=INK, lw=1)
            axis.text(
                0.02,
                roof,
                f"{digits(roof)} TFLOP/s at {facts['clock_mhz']} MHz",
                transform=axis.get_yaxis_transform(),
                va="bottom",
                fontsize=8.5,
            )
        axis.set_ylim(0, 1.12 * max([roof] + [rate(p) for p in here for rate in (ours, theirs)]))
        axis.set_title(dtype if case == "matmul" else TITLES[case])
        size_axis(axis, 1, lambda v, _: f"{v:g}", "")
    for row in axes:
        row[0].set_ylabel("TFLOP/s")
    for axis in axes[-1]:
        axis.set_xlabel("size: third root of M N K")
    for axis in list(axes.flat)[len(kinds) :]:
        axis.axis("off")
    handles = [
        plt.Line2D([], [], color=INK, lw=1.8, label="gpulite (in colour), squares"),
        plt.Line2D([], [], color=INK, marker="o", ls="", ms=4.5, label="other shapes"),
        plt.Line2D([], [], color=SOFT, lw=1.8, ls="--", label="cuBLAS, the best it has, squares"),
        plt.Line2D([], [], color=SOFT, marker="o", mfc="white", ls="", ms=4.5, label="other shapes"),
    ]
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.06, 1 - 0.85 / figure.get_figheight()), ncol=4)
    save(
        figure,
        path,
        "Matrix products",
        "beside the fastest of cublasGemmEx and the first eight suggestions of cublasLt; emulated: beside its SGEMM",
        facts,
    )


def distribution(facts, points, path):
    """A family a panel: the share of cases with at most this ratio, over the ratio; the worst case by name."""
    panels = {
        f: sorted((p for p in points if p["family"] == "random-" + f and p["ratio"] > 0), key=lambda p: p["ratio"])
        for f in FAMILIES
    }
    panels = {f: part for f, part in panels.items() if part}
    if not panels:
        return
    every = [p["ratio"] for part in panels.values() for p in part]
    low, high = max(min(0.5, min(every) / 1.1), 1 / 64), min(max(2.0, max(every) * 1.1), 20)
    figure, axes = plt.subplots(len(panels), 1, figsize=(9.8, 1.3 + 1.3 * len(panels)), sharex=True, squeeze=False)
    figure.subplots_adjust(
        left=0.17, right=0.84, top=1 - 1.05 / figure.get_figheight(), bottom=0.55 / figure.get_figheight(), hspace=0.3
    )
    for axis, (family, part) in zip(axes.flat, panels.items()):
        name, color = FAMILIES[family]
        values, worst = [p["ratio"] for p in part], part[0]
        ratio_axis(axis, low, high, axis is axes[-1][0])
        axis.step(
            [values[0]] + values + [high],
            [0] + [100 * (k + 1) / len(values) for k in range(len(values))] + [100],
            where="post",
            color=color,
            lw=1.8,
        )
        axis.set_ylim(0, 102)
        axis.set_yticks((0, 50, 100))
        axis.text(-0.215, 0.85, name, transform=axis.transAxes, fontweight="bold", fontsize=10.5)
        axis.text(-0.215, 0.66, f"{len(part)} cases", transform=axis.transAxes, color=SOFT, fontsize=9)
        first = values[min(len(values) - 1, int(0.01 * len(values)))]
        below = 100 * sum(r < 1 for r in values) / len(values)
        words = f"mean {digits(geometric_mean(values))}\n1st percentile {digits(first)}\nbelow 1: {below:.0f} %"
        axis.text(1.015, 0.98, words, transform=axis.transAxes, va="top", fontsize=9.5, linespacing=1.4)
        slow = SLOW if worst["ratio"] < 1 else SOFT
        axis.plot(worst["ratio"], 0, "o", color=slow, ms=5, clip_on=False)
        label = f"worst {digits(worst['ratio'])}: {worst['case']} {worst['dtype']} {worst['shape']} ({worst['peer']})"
        axis.set_title(
            label if len(label) <= 112 else label[:109] + "...", color=slow, fontsize=8.5, fontweight="normal", pad=2
        )
    axes[-1][0].set_xlabel("ratio, log scale; right of 1 gpulite is faster")
    seed = facts["seed"]
    subtitle = f"share of cases (%) with this ratio or less; peers: CUB, cuBLAS, and kernels written for the one case; seeds {seed}"
    save(figure, path, "Random cases: how many times faster than the best peer", subtitle, facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--out", default=None, help="where the pictures go; by default beside the first CSV")
    args = parser.parse_args()
    out = args.out or os.path.dirname(os.path.abspath(args.csv[0]))
    os.makedirs(out, exist_ok=True)
    facts, cases = read(args.csv)
    points = compare(cases)
    for name, draw in (("ratios", ratios), ("bandwidth", bandwidth), ("compute", compute), ("random", distribution)):
        draw(facts, points, os.path.join(out, name + ".svg"))


if __name__ == "__main__":
    main()
