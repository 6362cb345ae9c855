# SPDX-License-Identifier: MIT
"""Makes the reference data of the tests with NumPy (2.4). Run it in this folder: python3 make.py

half.bin       pairs of uint32: the bits of a float32, and those of the float16 that NumPy rounds it to
histogram.bin  cases of numpy.histogram; the layout is in case() below and in tests/test_histogram.c
linspace.bin   cases of histogram edges: int32 dtype, int32 bins (negative where NumPy refuses), float64 lo, hi, then,
               unless refused, bins + 1 float64 edges
reduce.bin     cases of reductions: int32 op, dtype, int64 n, padded data, float64 result (or int64)
print.bin      cases of str(array): int32 dtype, ndim, int64 shape[4], int64 bytes of the text, padded data and text
"""
import math
import struct
import warnings

import numpy as np

warnings.filterwarnings("ignore")
rng = np.random.default_rng(20261121)
F32, F64, I32, I64, U8 = 1, 2, 3, 4, 5
CODE = {"float32": F32, "float64": F64, "int32": I32, "int64": I64, "uint8": U8}
AUTO, LO_HI, EDGES = 0, 1, 2


def padded(a):
    data = a.tobytes()
    return data + b"\0" * (-len(data) % 8)


# ---- half.bin ----
bits = rng.integers(0, 2**32, 3000, dtype=np.uint32)
near = (rng.uniform(-70000, 70000, 500).astype(np.float32)).view(np.uint32)
small = (rng.uniform(-1e-4, 1e-4, 500).astype(np.float32)).view(np.uint32)
ties = (np.arange(0, 0x7C00, 61, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32) + np.uint32(0x1000))
bits = np.concatenate([bits, near, small, ties, ties - np.uint32(1), ties + np.uint32(1)])
values = bits.view(np.float32)
keep = ~np.isnan(values)
half = values[keep].astype(np.float16).view(np.uint16).astype(np.uint32)
np.stack([bits[keep], half], 1).astype("<u4").tofile("half.bin")

# ---- histogram.bin ----
out = open("histogram.bin", "wb")
cases = 0


def case(x, bins, kind, lo=0.0, hi=0.0, weights=None):
    """kind AUTO and LO_HI: bins is a number; EDGES: an array. Written: int32 dtype, kind, weights dtype (0: none), 0;
    int64 n, bins, pairs; float64 lo, hi; data; weights; edges (EDGES only); then without weights `pairs` of
    (uint32 bin, uint32 count), else bins float64 (float weights: the correctly rounded sums) or int64."""
    global cases
    x = np.ascontiguousarray(x)
    edges = np.asarray(bins, np.float64) if kind == EDGES else None
    n_bins = len(edges) - 1 if kind == EDGES else bins
    arguments = dict(bins=edges if kind == EDGES else bins)
    if kind == LO_HI:
        arguments["range"] = (float(lo), float(hi))
    try:
        counts, _ = np.histogram(x, **arguments)
    except (ValueError, IndexError) as e:
        print("left out:", x.dtype, len(x), n_bins, lo, hi, e)
        return
    out.write(struct.pack("<iiii", CODE[str(x.dtype)], kind, CODE[str(weights.dtype)] if weights is not None else 0, 0))
    pairs = [(i, int(counts[i])) for i in np.nonzero(counts)[0]] if weights is None else []
    out.write(struct.pack("<qqqdd", x.size, n_bins, len(pairs), lo, hi))
    out.write(padded(x))
    if weights is not None:
        out.write(padded(weights))
    if kind == EDGES:
        out.write(edges.tobytes())
    if weights is None:
        for i, c in pairs:
            out.write(struct.pack("<II", i, c))
    else:  # which element falls into which bin, from NumPy one element at a time in one call: its index as weight
        sums = [[] for _ in range(n_bins)]
        for k in range(x.size):
            one, _ = np.histogram(x[k:k + 1], **(arguments if kind != AUTO else dict(bins=bins, range=(x.min(), x.max()))))
            where = np.nonzero(one)[0]
            if len(where):
                sums[where[0]].append(weights[k])
        if weights.dtype.kind == "f":
            assert np.allclose(np.histogram(x, weights=weights.astype(np.float64), **arguments)[0],
                               [math.fsum(s) for s in sums], atol=1e-9 * max(1, float(np.abs(weights).max(initial=0))))
            out.write(struct.pack("<%dd" % n_bins, *[math.fsum(float(v) for v in s) for s in sums]))
        else:
            totals = [sum(int(v) for v in s) for s in sums]
            assert np.allclose(np.histogram(x, weights=weights.astype(np.float64), **arguments)[0], totals)
            out.write(struct.pack("<%dq" % n_bins, *totals))
    cases += 1


def around(edges, dtype, most=1200):
    """Values on, just below and just above edges, and far outside."""
    e = np.asarray(edges).astype(dtype)
    if len(e) * 3 > most:
        e = e[np.unique(np.concatenate([[0, 1, len(e) - 2, len(e) - 1], rng.integers(0, len(e), most // 3)]))]
    inf = dtype(np.inf)
    x = np.concatenate([e, np.nextafter(e, inf), np.nextafter(e, -inf), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30]])
    return rng.permutation(x.astype(dtype))


for dtype in (np.float32, np.float64):
    for bins in (1, 2, 3, 5, 7, 10, 64, 100, 150, 255, 256, 257, 1000, 4096, 65536):
        for lo, hi in ((0, 1), (-1, 1), (0.1, 0.7), (-3.3, 1234.567), (1e-3, 1.1e-3), (-7, -7 + 1 / 3)):
            if bins > 1000 and (lo, hi) not in ((0, 1), (-3.3, 1234.567)):
                continue
            edges = np.linspace(lo, hi, bins + 1, dtype=dtype)
            if np.any(edges[:-1] >= edges[1:]):
                continue
            case(around(edges, dtype, 300 if bins > 100 else 600), bins, LO_HI, lo, hi)
    for k in range(40):  # random ranges and numbers of bins
        bins = int(10 ** rng.uniform(0, 4))
        lo = float(rng.normal() * 10 ** rng.uniform(-3, 3))
        hi = lo + float(10 ** rng.uniform(-2, 4))
        edges = np.linspace(lo, hi, bins + 1, dtype=dtype)
        if np.any(edges[:-1] >= edges[1:]):
            continue
        case(np.concatenate([around(edges, dtype, 90), rng.uniform(lo - 0.1 * (hi - lo), hi + 0.1 * (hi - lo), 100).astype(dtype)]),
             bins, LO_HI, lo, hi)
    for bins in (1, 2, 10, 33, 100, 1000, 65536):  # automatic range
        x = rng.normal(size=300).astype(dtype)
        case(x, bins, AUTO)
        inner = np.linspace(x.min(), x.max(), bins + 1, dtype=dtype)
        extra = np.concatenate([inner, np.nextafter(inner, dtype(-9)), np.nextafter(inner, dtype(9))])[:600]
        case(np.clip(np.concatenate([x, extra]), x.min(), x.max()).astype(dtype), bins, AUTO)
    for value in (0, 1, -2.5, 1e6, 0.1):  # one value only: the range widens
        case(np.full(5, value, dtype), 10, AUTO)
        case(around([value - 0.5, value, value + 0.5], dtype), 10, LO_HI, value, value)
    case(np.array([], dtype), 10, AUTO)
    case(np.array([], dtype), 10, LO_HI, 2, 3)
    case(np.array([np.nan, np.inf, -np.inf], dtype), 4, LO_HI, 0, 1)
    case(np.array([np.nan, 1, 2], dtype), 4, LO_HI, 0, 3)
    case(np.array([3.0], dtype), 5, AUTO)
    for edges in ([0, 1, 2, 4, 8], [0, 0, 1, 1, 1, 2], [-1, 1e-3, 1e-3, 5], [1, 1], [0.1, 0.2, 0.3, 0.7], [-np.inf, 0, np.inf],
                  np.sort(rng.normal(size=1001)), np.logspace(-3, 3, 40), np.sort(rng.normal(size=5001))):
        e = np.asarray(edges, np.float64)
        case(around(e[np.isfinite(e)], dtype, 600), e, EDGES)
    for wt in (np.float32, np.float64, np.int32, np.int64):
        for n, bins in ((0, 3), (1, 1), (300, 7), (500, 40)):
            x = rng.normal(size=n).astype(dtype)
            w = (rng.normal(size=n) * 10 ** rng.uniform(-8, 8, n)).astype(wt) if wt in (np.float32, np.float64) else \
                rng.integers(-2**31, 2**31, n).astype(wt) * (2**20 if wt is np.int64 else 1)
            case(x, bins, LO_HI, -2, 2, w)
            if n > 1:
                case(x, np.sort(rng.normal(size=bins + 1)), EDGES, weights=w)

for dtype in (np.int32, np.int64, np.uint8):
    info = np.iinfo(dtype)
    small = rng.integers(0, 256, 700).astype(dtype)
    for bins, lo, hi in ((256, 0, 256), (255, 0, 255), (10, 0, 9), (10, 0, 10), (7, 0.5, 200.25), (3, 100, 101), (5, 77, 77),
                         (100, -50, 300), (65536, 0, 255), (150, 0, 255), (13, 3.3, 254.7)):
        case(small, bins, LO_HI, lo, hi)
    for bins in (1, 2, 10, 97, 255, 256, 4096):
        case(small, bins, AUTO)
    case(np.full(4, 5, dtype), 10, AUTO)
    case(np.array([], dtype), 10, AUTO)
    case(small, [0, 1, 2, 50, 50.5, 128, 255], EDGES)
    case(small, 12, LO_HI, 0, 256, rng.integers(-1000, 1000, 700).astype(np.int64))
    case(small, 12, LO_HI, 0, 256, rng.normal(size=700))
    if dtype is not np.uint8:
        wide = rng.integers(info.min // 2, info.max // 2, 400).astype(dtype)
        case(wide, 100, AUTO)
        case(wide, 1000, LO_HI, float(info.min // 4), float(info.max // 4))
        case(np.array([info.min, info.max, 0, -1, 1], dtype), 16, LO_HI, float(info.min), float(info.max))
        case(np.array([info.min // 2, info.max // 2, 0, -1, 1], dtype), 16, AUTO)
out.close()

# ---- linspace.bin ----
with open("linspace.bin", "wb") as f:
    for dtype in (np.float32, np.float64, np.int32, np.uint8):
        for bins in (1, 2, 3, 7, 10, 49, 98, 100, 150, 255, 1000):
            for lo, hi in ((0, 1), (0.1, 0.7), (-3.3, 1234.567), (5, 5), (1e-300, 2e-300), (-1e30, 1e30), (0, 5e-324), (-2, 1 / 3)):
                kind = np.dtype(dtype)
                if bins > 200 and lo not in (0.1, -3.3):
                    continue
                a, b = (lo - 0.5, hi + 0.5) if lo == hi else (float(lo), float(hi))
                edges = np.linspace(a, b, bins + 1, dtype=kind if kind.kind == "f" else np.float64).astype(np.float64)
                refused = np.any(edges[:-1] >= edges[1:])  # "Too many bins for data range"
                f.write(struct.pack("<iidd", CODE[kind.name], -bins if refused else bins, lo, hi))
                if not refused:
                    f.write(edges.tobytes())

# ---- reduce.bin ----
SUM, PROD, MIN, MAX, ABS_SUM, SUM_SQ, MEAN, VAR, ARGMIN, ARGMAX, COUNT = range(1, 12)
functions = {SUM: np.sum, PROD: np.prod, MIN: np.min, MAX: np.max, ABS_SUM: lambda a: np.sum(np.abs(a)),
             SUM_SQ: lambda a: np.sum(a * a), MEAN: np.mean, VAR: np.var, ARGMIN: np.argmin, ARGMAX: np.argmax,
             COUNT: np.count_nonzero}
with open("reduce.bin", "wb") as f:
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8):
        real = np.dtype(dtype).kind == "f"
        arrays = [rng.integers(0, 10, 37).astype(dtype), np.arange(1, 6).astype(dtype), np.zeros(9, dtype), np.ones(1, dtype),
                  np.array([3, 1, 2, 1, 3, 3, 1], dtype), rng.integers(0, 3, 300).astype(dtype)]
        if real:
            arrays += [rng.normal(size=101).astype(dtype), np.array([1, np.nan, 0, np.nan], dtype), np.array([np.nan], dtype),
                       np.array([np.inf, -np.inf, np.nan, 2], dtype), np.array([np.inf, 1, -np.inf], dtype),
                       np.array([-0.0, 0.0, -0.0], dtype), np.array([0.0, -0.0], dtype), np.array([np.inf, np.inf], dtype),
                       (1e6 + rng.normal(size=50)).astype(dtype), np.array([], dtype), np.full(70, -0.0, dtype)]
        else:
            info = np.iinfo(dtype)
            arrays += [np.array([info.max, info.max, info.min, 1], dtype), rng.integers(info.min, info.max, 50, dtype=dtype),
                       np.array([], dtype)]
            if info.min < 0:
                arrays.append(np.array([-3, 2, -3, 5, 5], dtype))
        for a in arrays:
            for op, function in functions.items():
                if a.size == 0 and op in (MIN, MAX, ARGMIN, ARGMAX):
                    continue
                b = a if real or op in (MIN, MAX, ARGMIN, ARGMAX, MEAN, VAR, COUNT) else a.astype(np.int64)
                if op in (MEAN, VAR, SUM, ABS_SUM, SUM_SQ, PROD) and real:
                    b = a.astype(np.float64)  # the reference sums in a wider type
                r = function(b)
                whole = op in (ARGMIN, ARGMAX, COUNT) or (not real and op not in (MEAN, VAR))
                f.write(struct.pack("<iiq", op, CODE[np.dtype(dtype).name], a.size))
                f.write(padded(a))
                f.write(struct.pack("<q", int(r)) if whole else struct.pack("<d", float(r)))

# ---- print.bin ----
rng = np.random.default_rng(13)
CODE["float16"] = 6
with open("print.bin", "wb") as f:
    def shown(a):
        text = str(a).encode()
        shape = list(a.shape) + [1] * (4 - a.ndim)
        f.write(struct.pack("<ii4qq", CODE[a.dtype.name], a.ndim, *shape, len(text)) + padded(a) + text + b"\0" * (-len(text) % 8))

    for dtype in (np.float16, np.float32, np.float64):
        tiny, big = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        for values in ([0], [1], [-0.0], [0.1], [1, 2, 3], [1.5, -2.25, 3], [np.nan], [np.inf], [-np.inf, 1], [np.nan, 1.25, np.inf],
                       [1e4, 2e-4], [1e-4], [9.9e-5], [1000, 1], [1001, 1], [1e3, 0.999], [tiny], [big, -big], [big, tiny, 0],
                       [1 / 3, 2 / 3, 1], [1e4, -5e-5, np.nan], [1e4, -5e-5, -np.inf], [100, np.nan], [99.5, -np.inf, 0.125],
                       [12345, 1, 0], [65504, 30000], [-1, 0], [0.5, 0, -0.0], [9.999999999, 1], [0.00012345678912, 0.5],
                       [123456.789, 5], [99999999, 1e5], [1e8, 1e6], [1e8, 5e7], [1e16], [123456789.123], [2.5e-5], [0, 0, 0],
                       [-16.67486590439421], [0.00445573541]):
            a = np.array(values, np.float64).astype(dtype)
            shown(a)
            if a.size == 1:
                shown(a[0:1].reshape(()))
        for scale in (1, 1e-3, 1e3, 1e6, 1e-7, 1e30, 1e200, 1e-310):
            shown((rng.normal(size=13) * scale).astype(dtype))
        for scale in (1, 1e4):
            shown((rng.normal(size=(3, 5)) * scale).astype(dtype))
            shown((rng.normal(size=(2, 3, 17)) * scale).astype(dtype))
            shown(np.round(rng.normal(size=(2, 1, 2, 3)) * scale, 2).astype(dtype))
        shown(rng.normal(size=100).astype(dtype))
        shown(rng.normal(size=1001).astype(dtype))
    for dtype in (np.int32, np.int64, np.uint8):
        info = np.iinfo(dtype)
        for shape in ((0,), (3, 0, 2), (1,), (9,), (40,), (1000,), (1001,), (3, 4), (7, 6), (2, 2, 3), (1, 2, 3, 2), (2, 30)):
            shown(rng.integers(0, 100, shape).astype(dtype))
        shown(np.array(info.min, dtype))
        shown(np.array([info.max, info.min, 0], dtype))
    for shape in ((30, 40), (1, 1001), (1001, 1), (5, 300), (300, 6), (11, 12, 13), (2, 600, 2), (7, 7, 7, 7), (6, 6, 6, 6), (2, 2, 2, 200),
                  (200, 2, 1, 3)):
        shown(rng.integers(0, 256, shape).astype(np.uint8))
    for dtype in (np.float16, np.float32, np.float64):  # above a power of 2 numbers lie farther apart than below it
        powers = np.ldexp(np.ones(60), np.arange(60) - (24 if dtype == np.float16 else 40)).astype(dtype)
        for i in range(0, 40, 5):
            shown(powers[i:i + 5])
            shown(-powers[i])
        shown(powers[18])
print(cases, "histograms")
