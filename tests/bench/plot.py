#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures from the CSV of bench (and of peers.py): plain SVG, no packages needed.

    python3 tests/bench/plot.py bench.csv [peers.csv ...] [--out DIR]

writes DIR/ratios.svg (the best other library's time over gpulite's, a point a case) and DIR/roofline.svg (bandwidth
against the bytes a call moves, with the roof that the same run measured). From the CSV of bench --random it writes
DIR/random.svg (which share of the random cases has which ratio, or a smaller one).
"""

import argparse
import csv
import math
import os
from collections import defaultdict
from xml.sax.saxutils import escape

# the order and the names of the rows of the ratio picture: family -> case -> row
ROWS = [
    ("elementwise", ["vecadd", "vecmul", "copy", "fill"]),
    ("reduce", ["sum", "min", "max", "abs-sum", "argmin", "dot", "mean", "var"]),
    ("axis", ["axis-sum", "axis-max"]),
    ("histogram", ["histogram"]),
    ("gemv", ["gemv-row", "gemv-col"]),
    ("matmul", ["matmul"]),
]
DTYPES = [
    ("f32", "#2166ac", "circle"),
    ("f64", "#d6604d", "square"),
    ("f16", "#1b9e77", "up"),
    ("bf16", "#66a61e", "down"),
    ("i32", "#7b3294", "diamond"),
    ("u8", "#b8860b", "cross"),
]
COLOR = {name: color for name, color, _ in DTYPES}
SHAPE = {name: shape for name, _, shape in DTYPES}
FAMILY_COLOR = {
    "elementwise": "#2166ac",
    "reduce": "#d6604d",
    "axis": "#e6a040",
    "histogram": "#7b3294",
    "gemv": "#1b9e77",
}
INK, SOFT, GRID = "#24292f", "#6e7781", "#e4e7eb"
ZOOM_FROM = 48e6  # bytes: past the L2 cache of the GPUs of today
FONT = "font-family='Helvetica, Arial, sans-serif'"


class Svg:
    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def add(self, part):
        self.parts.append(part)

    def line(self, x1, y1, x2, y2, color=GRID, width=1.0, dash=None):
        self.add(
            f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}' stroke-width='{width}'"
            + (f" stroke-dasharray='{dash}'" if dash else "")
            + "/>"
        )

    def rect(self, x, y, w, h, fill, opacity=1.0):
        self.add(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h:.1f}' fill='{fill}' fill-opacity='{opacity}'/>"
        )

    def text(self, x, y, words, size=12, color=INK, anchor="start", weight="normal", turn=0):
        at = f" transform='rotate({turn} {x:.1f} {y:.1f})'" if turn else ""
        self.add(
            f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' fill='{color}' text-anchor='{anchor}' "
            f"font-weight='{weight}'{at}>{escape(str(words))}</text>"
        )

    def mark(self, shape, x, y, color, r=3.4, hollow=False, title=None):
        fill = (
            f"fill='#ffffff' stroke='{color}' stroke-width='1.3'" if hollow else f"fill='{color}' fill-opacity='0.75'"
        )
        tip = f"<title>{escape(title)}</title>" if title else ""
        if shape == "circle":
            self.add(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{r}' {fill}>{tip}</circle>")
            return
        points = {
            "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
            "diamond": [(0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)],
            "up": [(0, -1.25), (1.2, 0.95), (-1.2, 0.95)],
            "down": [(0, 1.25), (1.2, -0.95), (-1.2, -0.95)],
            "cross": [
                (-1.3, -0.45),
                (-0.45, -0.45),
                (-0.45, -1.3),
                (0.45, -1.3),
                (0.45, -0.45),
                (1.3, -0.45),
                (1.3, 0.45),
                (0.45, 0.45),
                (0.45, 1.3),
                (-0.45, 1.3),
                (-0.45, 0.45),
                (-1.3, 0.45),
            ],
        }[shape]
        at = " ".join(f"{x + 0.92 * r * px:.1f},{y + 0.92 * r * py:.1f}" for px, py in points)
        self.add(f"<polygon points='{at}' {fill}>{tip}</polygon>")

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write(
                f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
                f"width='{self.width}' height='{self.height}'>\n"
            )
            f.write(f"<rect width='{self.width}' height='{self.height}' fill='#ffffff'/>\n")
            f.write("\n".join(self.parts) + "\n</svg>\n")


def read(paths):
    """facts of the first file that has them, and case -> {who: row}"""
    facts, cases = {}, defaultdict(dict)
    for path in paths:
        with open(path, newline="", encoding="utf-8") as f:
            lines = []
            for line in f:
                if line.startswith("#"):
                    key, _, value = line[1:].partition(":")
                    facts.setdefault(key.strip(), value.strip())
                elif line.strip():
                    lines.append(line)
        for row in csv.DictReader(lines):
            key = (row["family"], row["case"], row["dtype"], row["shape"])
            for name in ("bytes", "flops", "median_us", "min_us", "max_us"):
                row[name] = float(row[name] or 0)
            row["good"] = not row["check"].startswith("FAIL") and row["median_us"] > 0
            # a gpulite measured again beside the Python libraries does not replace bench's
            if row["who"] not in cases[key]:
                cases[key][row["who"]] = row
    return facts, cases


def compare(cases):
    """one entry a case where gpulite and a peer both have a good result"""
    out = []
    for (family, case, dtype, shape), who in cases.items():
        ours = who.get("gpulite")
        peers = [r for name, r in who.items() if name not in ("gpulite", "read") and r["good"]]
        if family == "host" or not ours or not ours["good"]:
            continue
        best = min(peers, key=lambda r: r["median_us"]) if peers else None
        out.append(
            {
                "family": family,
                "case": case,
                "dtype": dtype,
                "shape": shape,
                "us": ours["median_us"],
                "bytes": ours["bytes"],
                "flops": ours["flops"],
                "peer": best["who"] if best else "",
                "peer_us": best["median_us"] if best else 0,
                "ratio": best["median_us"] / ours["median_us"] if best else 0,
            }
        )
    return out


def human(value):
    for limit, unit in ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB")):
        if value >= limit:
            return f"{value / limit:.0f} {unit}"
    return f"{value:.0f} B"


def number(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def subtitle(facts):
    parts = [
        facts.get("gpu", ""),
        facts.get("toolkit", "").split(",")[0],
        "driver " + facts.get("driver", "?"),
        facts.get("commit", ""),
        facts.get("date", "")[:10],
    ]
    return " · ".join(p for p in parts if p and p != "driver ?")


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def ratios(facts, points, path):
    """Rows are operations, x is the ratio on a log scale. In a row, points spread downwards from small to large problems."""
    rows = []
    for family, names in ROWS:
        for name in names:
            here = [p for p in points if p["family"] == family and p["case"] == name and p["ratio"] > 0]
            if name == "histogram":  # what its peers do depends on the bins alone
                for title, lo, hi in (
                    ("histogram, up to 256 bins", 0, 256),
                    ("histogram, 512 to 32768", 257, 32768),
                    ("histogram, 65536 and 10^6", 32769, 1 << 62),
                ):
                    part = [p for p in here if lo <= int(p["shape"].rpartition("=")[2]) <= hi]
                    if part:
                        rows.append((family, title, part))
            elif here:
                rows.append(
                    (
                        family,
                        name.replace("gemv-row", "gemv, row-major")
                        .replace("gemv-col", "gemv, column-major")
                        .replace("axis-", "")
                        + (" along an axis" if family == "axis" else ""),
                        here,
                    )
                )
    if not rows:
        return
    left, right, top, row_h, gap = 206, 112, 108, 40, 12
    width = 980
    height = top + 46
    last = None
    tops = []
    for family, _, _ in rows:
        if last is not None and family != last:
            height += gap
        tops.append(height - 46)
        height += row_h
        last = family
    s = Svg(width, height)
    every = [p["ratio"] for _, _, part in rows for p in part]
    low, high = min(0.8, min(every) / 1.1), max(2.0, max(every) * 1.1)
    low, high = max(low, 1 / 64), min(high, 256)
    span = width - left - right

    def x(r):
        return left + span * (math.log(min(max(r, low), high)) - math.log(low)) / (math.log(high) - math.log(low))

    bottom = height - 46
    s.text(24, 34, "How many times faster than the fastest other library", 20, weight="bold")
    s.text(
        24,
        55,
        "time of the best of cuBLAS, CUB and plain CUDA"
        + (
            ", CuPy, PyTorch, Numba"
            if any(p["peer"].startswith(("torch", "cupy", "numba")) for _, _, q in rows for p in q)
            else ""
        )
        + " / time of gpulite; a point a case, larger problems lower in their row",
        12,
        SOFT,
    )
    s.text(24, 72, subtitle(facts), 12, SOFT)
    s.rect(left, top - 6, x(1.0) - left, bottom - top + 12, "#d6604d", 0.06)
    for tick in (1 / 32, 1 / 16, 1 / 8, 0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200):
        if low <= tick <= high:
            s.line(x(tick), top - 6, x(tick), bottom + 6, INK if tick == 1 else GRID, 1.4 if tick == 1 else 1)
            s.text(
                x(tick),
                bottom + 22,
                f"{tick:g}" if tick >= 0.25 else f"1/{1 / tick:.0f}",
                11,
                INK if tick == 1 else SOFT,
                "middle",
            )
    s.text(left + span / 2, bottom + 38, "ratio (log scale); right of 1: gpulite is faster", 11, SOFT, "middle")
    s.text(width - 24, top - 14, "mean · worst", 11, SOFT, "end")
    used = []
    for (family, title, part), y in zip(rows, tops):
        s.line(left, y + row_h, width - right, y + row_h, GRID, 0.7)
        s.text(left - 12, y + row_h / 2 + 4, title, 12.5, anchor="end")
        ordered = sorted(part, key=lambda p: (p["bytes"], p["dtype"]))
        for i, p in enumerate(ordered):
            at = y + 6 + (row_h - 12) * (i / (len(ordered) - 1) if len(ordered) > 1 else 0.5)
            s.mark(
                SHAPE.get(p["dtype"], "circle"),
                x(p["ratio"]),
                at,
                COLOR.get(p["dtype"], SOFT),
                3.2,
                title=f"{p['case']} {p['dtype']} {p['shape']}: {p['us']:.2f} us, {p['peer']} {p['peer_us']:.2f} us, ratio {p['ratio']:.2f}",
            )
            if p["dtype"] not in used:
                used.append(p["dtype"])
        m = mean([p["ratio"] for p in part])
        s.line(x(m), y + 3, x(m), y + row_h - 3, INK, 2)
        worst = min(p["ratio"] for p in part)
        s.text(
            width - 24,
            y + row_h / 2 + 4,
            f"{number(m)} · {number(worst)}",
            12,
            anchor="end",
            color=INK if worst >= 1 else "#b2182b",
        )
    at = left
    for dtype, color, shape in DTYPES:
        if dtype in used:
            s.mark(shape, at + 4, top - 18, color, 4)
            s.text(at + 13, top - 14, dtype, 12)
            at += 56
    s.line(at + 8, top - 25, at + 8, top - 11, INK, 2)
    s.text(at + 16, top - 14, "geometric mean", 12, SOFT)
    s.write(path)


def roofline(facts, points, path):
    """Bandwidth against bytes for what only moves memory; arithmetic against intensity for matmul, when it was run."""
    points = [p for p in points if p["us"] > 0]
    memory = [p for p in points if p["family"] in FAMILY_COLOR and p["bytes"] > 0]
    matmul = [p for p in points if p["family"] == "matmul"]
    if not memory and not matmul:
        return
    read_roof, copy_roof = float(facts.get("read_gbps", 0) or 0), float(facts.get("copy_gbps", 0) or 0)
    try:
        nominal = float(facts.get("nominal_gbps", 0) or 0)
    except ValueError:
        nominal = 0
    nominal = nominal if nominal == nominal else 0
    width, panel, left, right, top, bottom = 980, 400, 76, 34, 112, 56
    large = [p for p in memory if p["bytes"] >= ZOOM_FROM]
    panels = (1 if memory else 0) + (1 if matmul else 0) + (1 if large else 0)
    height = 40 + panels * (panel + top - 40) + 12
    s = Svg(width, height)
    s.text(24, 34, "How close to the memory of the GPU", 20, weight="bold")
    s.text(
        24,
        55,
        "filled: gpulite; hollow: the fastest other library of the same case; operands below the size of the L2 cache stay in it, "
        "so they can pass the roof",
        12,
        SOFT,
    )
    s.text(24, 72, subtitle(facts), 12, SOFT)
    span = width - left - right
    y0 = top
    if memory:
        y1 = y0 + panel - bottom
        lo_b, hi_b = min(p["bytes"] for p in memory) / 1.3, max(p["bytes"] for p in memory) * 1.3
        rates = [p["bytes"] / t / 1e3 for p in memory for t in (p["us"], p["peer_us"]) if t > 0]
        lo_r, hi_r = max(min(rates) / 1.3, 1), max(max(rates), nominal) * 1.25

        def x(b):
            return left + span * math.log(b / lo_b) / math.log(hi_b / lo_b)

        def y(r):
            return y1 - (y1 - y0) * math.log(max(r, lo_r) / lo_r) / math.log(hi_r / lo_r)

        for e in range(int(math.log2(lo_b)), int(math.log2(hi_b)) + 1):
            if e % 4 == 0 and lo_b <= 2.0**e <= hi_b:
                s.line(x(2.0**e), y0, x(2.0**e), y1)
                s.text(x(2.0**e), y1 + 18, human(2.0**e), 11, SOFT, "middle")
        for decade in range(0, 6):
            for step in (1, 2, 5):
                r = step * 10.0**decade
                if lo_r <= r <= hi_r:
                    s.line(left, y(r), width - right, y(r))
                    s.text(left - 8, y(r) + 4, f"{r:g}", 11, SOFT, "end")
        s.text(left + span / 2, y1 + 38, "bytes that a call has to move", 12, SOFT, "middle")
        s.text(22, (y0 + y1) / 2, "GB/s", 12, SOFT, "middle", turn=-90)
        labels = [(nominal, "nominal", "4 3"), (read_roof, "read, measured", None), (copy_roof, "copy, measured", None)]
        labels = sorted((l for l in labels if l[0] > 0), reverse=True)
        for value, name, dash in labels:
            s.line(left, y(value), width - right, y(value), INK, 1.0, dash)
        for hollow in (True, False):
            for p in memory:
                t = p["peer_us"] if hollow else p["us"]
                if t <= 0:
                    continue
                who = p["peer"] if hollow else "gpulite"
                s.mark(
                    "circle",
                    x(p["bytes"]),
                    y(p["bytes"] / t / 1e3),
                    FAMILY_COLOR[p["family"]],
                    2.6 if hollow else 3.2,
                    hollow,
                    f"{who}: {p['case']} {p['dtype']} {p['shape']}: {t:.2f} us, {p['bytes'] / t / 1e3:.0f} GB/s",
                )
        at = left
        for family, color in FAMILY_COLOR.items():
            if any(p["family"] == family for p in memory):
                s.mark("circle", at + 5, y0 - 15, color, 4.5)
                words = {"reduce": "reductions", "axis": "reductions along an axis"}.get(family, family)
                s.text(at + 14, y0 - 11, words, 12)
                at += 32 + 7 * len(words)
        y0 += panel + top - 40
    if large:
        y0 -= 28
        y1 = y0 + panel - bottom
        lo_b, hi_b = min(p["bytes"] for p in large) / 1.2, max(p["bytes"] for p in large) * 1.2
        best = max([p["bytes"] / t / 1e3 for p in large for t in (p["us"], p["peer_us"]) if t > 0] + [nominal])
        hi_r, lo_r = best * 1.04, best * 0.45
        s.text(
            left,
            y0 - 11,
            f"the same from {ZOOM_FROM / 1e6:.0f} MB up, linear; a triangle at the lower edge: below it",
            12,
            SOFT,
        )

        def xz(b):
            return left + 12 + (span - 24) * math.log(b / lo_b) / math.log(hi_b / lo_b)

        def yz(r):
            return y1 - (y1 - y0) * (max(r, lo_r) - lo_r) / (hi_r - lo_r)

        for e in range(int(math.log2(lo_b)), int(math.log2(hi_b)) + 1):
            if lo_b <= 2.0**e <= hi_b:
                s.line(xz(2.0**e), y0, xz(2.0**e), y1)
                s.text(xz(2.0**e), y1 + 18, human(2.0**e), 11, SOFT, "middle")
        tick = 500 if hi_r > 2500 else 100
        for i in range(int(lo_r // tick) + 1, int(hi_r // tick) + 1):
            s.line(left, yz(i * tick), width - right, yz(i * tick))
            s.text(left - 8, yz(i * tick) + 4, f"{i * tick}", 11, SOFT, "end")
        s.text(left + span / 2, y1 + 38, "bytes that a call has to move", 12, SOFT, "middle")
        s.text(22, (y0 + y1) / 2, "GB/s", 12, SOFT, "middle", turn=-90)
        for value, name, dash in labels:
            if value > lo_r:
                s.line(left, yz(value), width - right, yz(value), INK, 1.2, dash)
                s.text(left + 6, yz(value) - 4, f"{name} {value:.0f}", 10.5, INK)
        families = list(FAMILY_COLOR)
        for hollow in (True, False):
            for p in large:
                t = p["peer_us"] if hollow else p["us"]
                if t <= 0:
                    continue
                r = p["bytes"] / t / 1e3
                s.mark(
                    "circle" if r >= lo_r else "down",
                    xz(p["bytes"]) + 5 * (families.index(p["family"]) - 2),
                    yz(r),
                    FAMILY_COLOR[p["family"]],
                    2.6 if hollow else 3.2,
                    hollow,
                    f"{p['peer'] if hollow else 'gpulite'}: {p['case']} {p['dtype']} {p['shape']}: {t:.2f} us, {r:.0f} GB/s",
                )
        y0 += panel + top - 40
    if matmul:
        y0 -= 10
        y1 = y0 + panel - bottom
        intensity = [p["flops"] / p["bytes"] for p in matmul]
        lo_i, hi_i = min(intensity) / 1.5, max(intensity) * 1.5
        rates = [p["flops"] / t / 1e6 for p in matmul for t in (p["us"], p["peer_us"]) if t > 0]
        lo_r, hi_r = min(rates) / 1.5, max(rates) * 1.6

        def xi(i):
            return left + span * math.log(i / lo_i) / math.log(hi_i / lo_i)

        def yf(r):
            return y1 - (y1 - y0) * math.log(max(r, lo_r) / lo_r) / math.log(hi_r / lo_r)

        for e in range(int(math.log2(lo_i)) - 1, int(math.log2(hi_i)) + 2):
            if lo_i <= 2.0**e <= hi_i:
                s.line(xi(2.0**e), y0, xi(2.0**e), y1)
                s.text(xi(2.0**e), y1 + 18, f"{2.0 ** e:g}", 11, SOFT, "middle")
        for decade in range(-3, 4):
            for step in (1, 2, 5):
                r = step * 10.0**decade
                if lo_r <= r <= hi_r:
                    s.line(left, yf(r), width - right, yf(r))
                    s.text(left - 8, yf(r) + 4, f"{r:g}", 11, SOFT, "end")
        s.text(
            left + span / 2, y1 + 38, "floating-point operations a byte (every operand moved once)", 12, SOFT, "middle"
        )
        s.text(22, (y0 + y1) / 2, "TFLOP/s", 12, SOFT, "middle", turn=-90)
        roof = max(read_roof, copy_roof) or nominal
        if roof > 0:  # TFLOP/s = intensity * GB/s / 1000, cut at both ends of the picture
            a, b = max(lo_i, lo_r * 1e3 / roof), min(hi_i, hi_r * 1e3 / roof)
            if a < b:
                s.line(xi(a), yf(a * roof / 1e3), xi(b), yf(b * roof / 1e3), INK, 1.2)
        for hollow in (True, False):
            for p in matmul:
                t = p["peer_us"] if hollow else p["us"]
                if t <= 0:
                    continue
                s.mark(
                    SHAPE.get(p["dtype"], "circle"),
                    xi(p["flops"] / p["bytes"]),
                    yf(p["flops"] / t / 1e6),
                    COLOR.get(p["dtype"], SOFT),
                    3.0 if hollow else 3.8,
                    hollow,
                    f"{p['peer'] if hollow else 'gpulite'}: matmul {p['dtype']} {p['shape']}: {t:.2f} us, {p['flops'] / t / 1e6:.1f} TFLOP/s",
                )
        at = left
        s.text(at, y0 - 11, "matmul", 12, weight="bold")
        at += 64
        for dtype, color, shape in DTYPES:
            if any(p["dtype"] == dtype for p in matmul):
                s.mark(shape, at + 5, y0 - 15, color, 4.2)
                s.text(at + 14, y0 - 11, dtype, 12)
                at += 56
        if roof > 0:
            s.line(at + 4, y0 - 15, at + 24, y0 - 15, INK, 1.2)
            s.text(at + 30, y0 - 11, "the memory's roof, measured", 12, SOFT)
    s.write(path)


def distribution(facts, points, path):
    """A family a panel: the share of cases with at most this ratio, over the ratio; the worst case by name."""
    prefix = "random-"
    names = ["elementwise", "reduce", "gemv", "histogram", "matmul"]
    panels = []
    for name in names:
        here = [p for p in points if p["family"] == prefix + name and p["ratio"] > 0]
        if here:
            panels.append((name, sorted(here, key=lambda p: p["ratio"])))
    if not panels:
        return
    every = [p["ratio"] for _, part in panels for p in part]
    low, high = max(min(0.5, min(every) / 1.1), 1 / 64), min(max(2.0, max(every) * 1.1), 256)
    left, right, top, panel, gap, width = 150, 150, 100, 104, 26, 980
    height = top + len(panels) * (panel + gap) + 42
    span = width - left - right
    s = Svg(width, height)

    def x(r):
        return left + span * math.log(min(max(r, low), high) / low) / math.log(high / low)

    s.text(24, 34, "Random cases: how many times faster than the best peer", 20, weight="bold")
    s.text(
        24,
        55,
        "share of cases (%) with this ratio or less; peers: CUB, cuBLAS, and kernels written for the one case; "
        f"seed {facts.get('seed', '?')}",
        12,
        SOFT,
    )
    s.text(24, 72, subtitle(facts), 12, SOFT)
    bottom = top + len(panels) * (panel + gap) - gap
    for i, (name, part) in enumerate(panels):
        y0 = top + i * (panel + gap)
        y1 = y0 + panel
        s.rect(left, y0, x(1.0) - left, panel, "#d6604d", 0.06)
        for tick in (1 / 64, 1 / 32, 1 / 16, 1 / 8, 0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200):
            if low <= tick <= high:
                s.line(x(tick), y0, x(tick), y1, INK if tick == 1 else GRID, 1.4 if tick == 1 else 1)
                if i == len(panels) - 1:
                    words = f"{tick:g}" if tick >= 0.25 else f"1/{1 / tick:.0f}"
                    s.text(x(tick), bottom + 32, words, 11, INK if tick == 1 else SOFT, "middle")
        for share in (0, 0.5, 1):
            s.line(left, y1 - panel * share, width - right, y1 - panel * share, GRID, 0.8)
            s.text(left - 8, y1 - panel * share + 4, f"{100 * share:.0f}", 10, SOFT, "end")
        values = [p["ratio"] for p in part]
        color = FAMILY_COLOR.get(name, "#b8860b")
        points_at = [(x(values[0]), y1)]
        for k, r in enumerate(values):  # steps: the share jumps at each case
            points_at += [(x(r), y1 - panel * k / len(values)), (x(r), y1 - panel * (k + 1) / len(values))]
        points_at.append((width - right, y0))
        at = " ".join(f"{a:.1f},{b:.1f}" for a, b in points_at)
        s.add(f"<polyline points='{at}' fill='none' stroke='{color}' stroke-width='2'/>")
        words = "reductions" if name == "reduce" else name
        s.text(24, y0 + 16, words, 13, weight="bold")
        s.text(24, y0 + 33, f"{len(part)} cases", 11, SOFT)
        below = sum(r < 1 for r in values) / len(values)
        first = values[min(len(values) - 1, int(0.01 * len(values)))]
        for k, line in enumerate(
            (f"mean {number(mean(values))}", f"1st percentile {number(first)}", f"below 1: {100 * below:.0f} %")
        ):
            s.text(width - right + 12, y0 + 16 + 17 * k, line, 11.5, INK)
        worst = part[0]
        dx = x(worst["ratio"])
        s.mark(
            "circle",
            dx,
            y1,
            "#b2182b" if worst["ratio"] < 1 else color,
            3.6,
            title=f"{worst['case']} {worst['dtype']} {worst['shape']}",
        )
        label = f"{number(worst['ratio'])}: {worst['case']} {worst['dtype']} {worst['shape']} ({worst['peer']})"
        label = label if len(label) <= 118 else label[:115] + "..."
        s.text(left, y1 + 14, "worst " + label, 10.5, "#b2182b" if worst["ratio"] < 1 else SOFT)
    s.text(left + span / 2, bottom + 52, "ratio (log scale); right of 1: gpulite is faster", 11, SOFT, "middle")
    s.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--out", default=None, help="where the pictures go; by default beside the first CSV")
    args = parser.parse_args()
    out = args.out or os.path.dirname(os.path.abspath(args.csv[0]))
    os.makedirs(out, exist_ok=True)
    facts, cases = read(args.csv)
    points = compare(cases)
    for name, draw in (("ratios", ratios), ("roofline", roofline), ("random", distribution)):
        path = os.path.join(out, name + ".svg")
        draw(facts, points, path)
        if os.path.exists(path):
            print(path)


if __name__ == "__main__":
    main()
