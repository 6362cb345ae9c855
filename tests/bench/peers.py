#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CuPy, PyTorch and Numba on the cases of bench, where they are installed: the same columns, for the same GPU.

    python3 tests/bench/peers.py --csv peers.csv [--case TEXT ...] [--quick] [--seconds N]
    python3 tests/bench/plot.py bench.csv peers.csv

Timed as bench does: batches of back-to-back calls between two events, libraries interleaved, outputs preallocated
where the library takes one, medians; small calls therefore cost what the library's Python front end costs. Results are
checked. With --gpulite FILE, gpulite is called through ctypes in the same process on the same memory, from

    nvcc -O3 -arch=sm_90a -shared -Xcompiler -fPIC -DGPULITE_IMPLEMENTATION -I. -o libgpulite.so gpulite_kernels.cu
"""

import argparse
import csv
import ctypes
import math
import statistics
import subprocess
import sys
import time

try:
    import torch

    if not torch.cuda.is_available():
        torch = None
except ImportError:
    torch = None
try:
    import cupy

    cupy.cuda.runtime.getDeviceCount()
except Exception:  # also: no GPU, no driver
    cupy = None
try:
    import warnings

    import numpy

    # names that NumPy 2.4 and later no longer have, and Numba 0.68 looks up when it is first used
    for name, now in (("row_stack", "vstack"), ("trapz", "trapezoid"), ("in1d", "isin")):
        if not hasattr(numpy, name):
            setattr(numpy, name, getattr(numpy, now))
    from numba import cuda as nb
    from numba.core.errors import NumbaPerformanceWarning

    warnings.simplefilter("ignore", NumbaPerformanceWarning)
    if not nb.is_available():
        nb = None
except Exception:
    nb = None

SIZE = {"f32": 4, "f64": 8, "f16": 2, "i32": 4, "u8": 1, "bf16": 2}
UNIT = {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "i32": 0.0}
COLUMNS = (
    "family,case,dtype,shape,who,bytes,flops,median_us,min_us,q1_us,q3_us,max_us,batches,calls,graph_us,gbps,gflops,"
    "share_roof,share_nominal,ratio,want_ratio,want_share,check"
).split(",")
POWERS = (12, 16, 20, 24, 26, 28, 30)


# ---- gpulite through ctypes: gpul_array as the header lays it out ----


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("memory", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("owned", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
    ]


class Shape(ctypes.Structure):
    _fields_ = [("dim", ctypes.c_int64 * 4), ("ndim", ctypes.c_int32), ("order", ctypes.c_int32)]


class Gpulite:
    DTYPE = {"f32": 1, "f64": 2, "i32": 3, "i64": 4, "u8": 5, "f16": 6, "bf16": 7}
    OP = {"sum": 1, "min": 3, "max": 4, "abs-sum": 5, "mean": 7, "var": 8, "argmin": 9}

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.gpul_wrap.argtypes = [ctypes.POINTER(Array), ctypes.c_void_p, ctypes.c_int32, Shape]
        self.lib.gpul_last_error.restype = ctypes.c_void_p
        a, s = ctypes.POINTER(Array), ctypes.c_void_p
        for name, types in {
            "vecadd": [a, a, a, s],
            "vecmul": [a, a, a, s],
            "copy": [a, a, s],
            "fill": [a, ctypes.c_double, s],
            "reduce": [a, a, ctypes.c_int32, ctypes.c_int32, s],
            "dot": [a, a, a, s],
            "gemv": [a, ctypes.c_double, a, a, ctypes.c_double, s],
            "matmul": [a, a, a, s],
            "histogram": [a, a, ctypes.c_double, ctypes.c_double, s],
        }.items():
            getattr(self.lib, "gpul_" + name).argtypes = types

    def wrap(self, tensor, dtype, shape, order=0):
        array, s = Array(), Shape()
        for i in range(4):
            s.dim[i] = shape[i] if i < len(shape) else 1
        s.ndim, s.order = len(shape), order
        self.must(self.lib.gpul_wrap(ctypes.byref(array), tensor.data_ptr(), self.DTYPE[dtype], s))
        return array

    def must(self, status):
        if status != 0:
            raise RuntimeError(f"gpulite status {status}")

    def bind(self, name, *args):
        """A call with everything converted beforehand; on PyTorch's current stream, the default one."""
        function, must = getattr(self.lib, "gpul_" + name), self.must
        ready = [ctypes.byref(a) if isinstance(a, Array) else a for a in args] + [None]
        keep = args

        def call():
            must(function(*ready))
            return keep and None

        return call


# ---- timing, with whichever library has events ----


class Events:
    def __init__(self):
        if torch:
            self.a, self.b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        else:
            self.a, self.b = cupy.cuda.Event(), cupy.cuda.Event()

    def sync(self):
        (torch.cuda.synchronize if torch else cupy.cuda.runtime.deviceSynchronize)()

    def batch(self, call, lead, calls):
        self.sync()
        for _ in range(lead):
            call()
        self.a.record()
        for _ in range(calls):
            call()
        self.b.record()
        self.b.synchronize()
        ms = self.a.elapsed_time(self.b) if torch else cupy.cuda.get_elapsed_time(self.a, self.b)
        return 1e3 * ms / calls


class Contender:
    def __init__(self, who, call, check):
        self.who, self.call, self.check, self.us, self.note = who, call, check, [], ""


def measure(events, contenders):
    for c in contenders:
        try:
            c.call()
            estimate = events.batch(c.call, 1, 1)
            if estimate < 2000:
                estimate = events.batch(c.call, 2, 5)
            c.calls = max(1, math.ceil((1000 if estimate < 50 else 300) / max(estimate, 1)))
            c.lead = min(max(math.ceil(50 / max(estimate, 1)), 1), 12)
            c.batches = 9 if estimate < 4000 else 5 if estimate < 20000 else 2
        except Exception as e:
            c.note = f"FAIL {type(e).__name__}: {e}"
    for i in range(9):
        for c in contenders:
            if c.note or i >= c.batches:
                continue
            try:
                c.us.append(events.batch(c.call, c.lead, c.calls))
            except Exception as e:
                c.note = f"FAIL {type(e).__name__}: {e}"
    for c in contenders:
        if not c.note:
            try:
                good = c.check is None or bool(c.check(c.call()))
                c.note = "none" if c.check is None else "ok" if good else "FAIL wrong result"
            except Exception as e:
                c.note = f"FAIL {type(e).__name__}: {e}"


# ---- data: PyTorch makes it, the others look at the same memory ----


def tdtype(name):
    return {
        "f32": torch.float32,
        "f64": torch.float64,
        "f16": torch.float16,
        "i32": torch.int32,
        "u8": torch.uint8,
        "i64": torch.int64,
        "bf16": torch.bfloat16,
    }[name]


def uniform(n, dtype, lo, hi):
    if dtype in ("i32", "u8"):
        return torch.randint(int(lo), int(hi), (n,), dtype=tdtype(dtype), device="cuda")
    return torch.empty(n, dtype=tdtype(dtype), device="cuda").uniform_(lo, hi)


def close(got, wanted, scale, tolerance):
    return abs(float(got) - float(wanted)) <= tolerance * float(scale)


def elementwise(case, dtype, power):
    n = 1 << power
    x, y, out = uniform(n, dtype, -2, 2), uniform(n, dtype, -2, 2), torch.empty(n, dtype=tdtype(dtype), device="cuda")
    wanted = {
        "vecadd": lambda: x + y,
        "vecmul": lambda: x * y,
        "copy": lambda: x,
        "fill": lambda: torch.full_like(x, 1.5),
    }[case]
    check = lambda _: torch.equal(out, wanted())
    calls = {
        "torch": {
            "vecadd": lambda: torch.add(x, y, out=out),
            "vecmul": lambda: torch.mul(x, y, out=out),
            "copy": lambda: out.copy_(x),
            "fill": lambda: out.fill_(1.5),
        }[case]
    }
    if cupy:
        a, b, c = cupy.asarray(x), cupy.asarray(y), cupy.asarray(out)
        calls["cupy"] = {
            "vecadd": lambda: cupy.add(a, b, out=c),
            "vecmul": lambda: cupy.multiply(a, b, out=c),
            "copy": lambda: cupy.copyto(c, a),
            "fill": lambda: c.fill(1.5),
        }[case]
    if nb and case in ("vecadd", "vecmul") and dtype != "f16" and power <= 28:
        kernel = numba_kernels()[case]
        arrays = [nb.as_cuda_array(t) for t in (x, y, out)]
        blocks = (n + 255) // 256
        calls["numba"] = lambda: kernel[blocks, 256](*arrays)
    if gpulite:
        g = [gpulite.wrap(t, dtype, (n,)) for t in (out, x, y)]
        calls["gpulite"] = (
            gpulite.bind("fill", g[0], 1.5)
            if case == "fill"
            else gpulite.bind("copy", g[0], g[1]) if case == "copy" else gpulite.bind(case, *g)
        )
    operands = {"vecadd": 3, "vecmul": 3, "copy": 2, "fill": 1}[case]
    return n * SIZE[dtype] * operands, n if operands == 3 else 0, [Contender(w, f, check) for w, f in calls.items()]


def reduction(case, dtype, power):
    n = 1 << power
    width = 1e6 if dtype == "i32" else 1
    x = uniform(n, dtype, -width, width)
    y = uniform(n, dtype, -width, width) if case == "dot" else None
    total = lambda t: float(torch.sum(t, dtype=torch.float64))
    pieces = [x[i : i + (1 << 28)] for i in range(0, n, 1 << 28)]
    mags = sum(total(p.abs()) for p in pieces)
    if case == "dot":
        wanted = sum(
            total(p.double() * q.double()) for p, q in zip(pieces, (y[i : i + (1 << 28)] for i in range(0, n, 1 << 28)))
        )
    elif case in ("sum", "mean"):
        wanted = total(x) / (n if case == "mean" else 1)
    elif case == "abs-sum":
        wanted = mags
    elif case == "var":
        mean = total(x) / n
        wanted = sum(total((p.double() - mean) ** 2) for p in pieces) / n
    else:
        wanted = float({"min": torch.min, "max": torch.max, "argmin": torch.argmin}[case](x))
    scale = {"sum": mags, "abs-sum": mags, "dot": mags, "mean": mags / n, "var": wanted}.get(case, 0)
    tolerance = 1e-9 if dtype != "f32" else 2e-4
    check = lambda result: close(result, wanted, scale, tolerance)
    if case == "argmin":  # of equal ones the libraries may return any
        wanted = float(torch.min(x))
        check = lambda result: float(x[int(result)]) == wanted
    calls = {}
    if dtype != "i32" or case in ("sum", "min", "max", "argmin"):
        calls["torch"] = {
            "sum": lambda: torch.sum(x),
            "min": lambda: torch.min(x),
            "max": lambda: torch.max(x),
            "abs-sum": lambda: torch.linalg.vector_norm(x, 1),
            "argmin": lambda: torch.argmin(x),
            "mean": lambda: torch.mean(x),
            "var": lambda: torch.var(x, correction=0),
            "dot": lambda: torch.dot(x, y),
        }[case]
    if cupy:
        a, b = cupy.asarray(x), cupy.asarray(y) if y is not None else None
        calls["cupy"] = {
            "sum": lambda: cupy.sum(a),
            "min": lambda: cupy.min(a),
            "max": lambda: cupy.max(a),
            "abs-sum": lambda: cupy_abs_sum()(a),
            "argmin": lambda: cupy.argmin(a),
            "mean": lambda: cupy.mean(a),
            "var": lambda: cupy.var(a),
            "dot": lambda: cupy.dot(a, b),
        }[case]
        if case == "abs-sum" and dtype == "i32":
            del calls["cupy"]
    if nb and case == "sum" and power <= 24:
        array, reducer = nb.as_cuda_array(x), numba_kernels()["sum"]
        calls["numba"] = lambda: reducer(array)
    contenders = [Contender(w, f, check) for w, f in calls.items()]
    if gpulite:
        kind = (
            "i64"
            if case == "argmin" or (dtype == "i32" and case in ("sum", "abs-sum"))
            else "f64" if dtype == "i32" and case in ("mean", "var") else dtype
        )
        out = torch.empty(1, dtype=tdtype(kind), device="cuda")
        g = [gpulite.wrap(out, kind, ()), gpulite.wrap(x, dtype, (n,))]
        call = (
            gpulite.bind("dot", *g, gpulite.wrap(y, dtype, (n,)))
            if case == "dot"
            else gpulite.bind("reduce", *g, gpulite.OP[case], -(2**31))
        )
        contenders.append(Contender("gpulite", call, lambda _: check(out)))
    return n * SIZE[dtype] * (2 if case == "dot" else 1), n, contenders


def axis_reduction(case, dtype, rows, axis):
    cols = (1 << 24) // rows
    x = uniform(rows * cols, dtype, -1, 1).reshape(rows, cols)
    out = torch.empty(cols if axis == 0 else rows, dtype=tdtype(dtype), device="cuda")
    wanted = torch.sum(x.double(), axis) if case == "axis-sum" else torch.amax(x, axis).double()
    mags = torch.sum(x.double().abs(), axis)
    check = lambda _: bool(((out.double() - wanted).abs() <= (1e-12 if dtype == "f64" else 2e-5) * mags).all())
    calls = {
        "torch": (lambda: torch.sum(x, axis, out=out)) if case == "axis-sum" else (lambda: torch.amax(x, axis, out=out))
    }
    if cupy:
        a, c = cupy.asarray(x), cupy.asarray(out)
        calls["cupy"] = (
            (lambda: cupy.sum(a, axis, out=c)) if case == "axis-sum" else (lambda: cupy.amax(a, axis, out=c))
        )
    if gpulite:
        calls["gpulite"] = gpulite.bind(
            "reduce",
            gpulite.wrap(out, dtype, (out.numel(),)),
            gpulite.wrap(x, dtype, (rows, cols)),
            gpulite.OP[case[5:]],
            axis,
        )
    return (rows * cols + out.numel()) * SIZE[dtype], rows * cols, [Contender(w, f, check) for w, f in calls.items()]


def histogram(dtype, dist, n, bins):
    lo, hi = (-4.0, 4.0) if dist == "normal" else (0.0, 1.0)
    if dist == "uniform":
        x = uniform(n, dtype, 0, 1)
    elif dist == "normal":
        x = torch.randn(n, dtype=tdtype(dtype), device="cuda")
    elif dist == "constant":
        x = torch.full((n,), 0.3, dtype=tdtype(dtype), device="cuda")
    else:
        x = torch.linspace(0, 1, n, dtype=tdtype(dtype), device="cuda")
    inside = int(((x >= lo) & (x <= hi)).sum())
    check = lambda result: int(result.sum()) == inside
    calls = {"torch-histc": lambda: torch.histc(x, bins, lo, hi)}
    # histc counts in the type of the data: past 2^24 a bin of f32 may round
    checks = {"torch-histc": lambda result: abs(float(result.double().sum()) - inside) <= 0.01 * inside}
    if cupy and n <= 1 << 28:
        a = cupy.asarray(x)
        calls["cupy"] = lambda: cupy.histogram(a, bins, (lo, hi))[0]
    contenders = [Contender(w, f, checks.get(w, check)) for w, f in calls.items()]
    if gpulite:
        counts = torch.empty(bins, dtype=torch.int32, device="cuda")
        contenders.append(
            Contender(
                "gpulite",
                gpulite.bind("histogram", gpulite.wrap(counts, "i32", (bins,)), gpulite.wrap(x, dtype, (n,)), lo, hi),
                lambda _: check(counts),
            )
        )
    return n * SIZE[dtype] + 4 * bins, 0, contenders


def gemv(case, dtype, rows, cols):
    a = uniform(rows * cols, dtype, -1, 1)
    a = a.reshape(rows, cols) if case == "gemv-row" else a.reshape(cols, rows).t()
    x, out = uniform(cols, dtype, -1, 1), torch.empty(rows, dtype=tdtype(dtype), device="cuda")
    scale = (cols + 2) * UNIT[dtype]
    some = slice(0, min(rows, 1024))
    wanted, mags = a[some].double() @ x.double(), a[some].double().abs() @ x.double().abs()
    check = lambda _: bool(((out[some].double() - wanted).abs() <= scale * mags).all()) and not bool(out.isnan().any())
    calls = {"torch": lambda: torch.mv(a, x, out=out)}
    if cupy:
        b, v, w = cupy.asarray(a), cupy.asarray(x), cupy.asarray(out)
        calls["cupy"] = lambda: cupy.dot(b, v, out=w)
    if gpulite:
        calls["gpulite"] = gpulite.bind(
            "gemv",
            gpulite.wrap(out, dtype, (rows,)),
            1.0,
            gpulite.wrap(a, dtype, (rows, cols), 0 if case == "gemv-row" else 1),
            gpulite.wrap(x, dtype, (cols,)),
            0.0,
        )
    return (
        (rows * cols + rows + cols) * SIZE[dtype],
        2 * rows * cols,
        [Contender(w, f, check) for w, f in calls.items()],
    )


_numba, _cupy_abs = {}, None


def numba_kernels():
    if not _numba:

        @nb.jit
        def add(a, b, c):
            i = nb.grid(1)
            if i < c.size:
                c[i] = a[i] + b[i]

        @nb.jit
        def mul(a, b, c):
            i = nb.grid(1)
            if i < c.size:
                c[i] = a[i] * b[i]

        _numba.update(vecadd=add, vecmul=mul, sum=nb.reduce(lambda a, b: a + b))
    return _numba


def cupy_abs_sum():
    global _cupy_abs
    _cupy_abs = _cupy_abs or cupy.ReductionKernel("T x", "T y", "abs(x)", "a + b", "y = a", "0", "abs_sum")
    return _cupy_abs


def all_cases():
    quick = (12, 20, 28)
    for case in ("vecadd", "vecmul", "copy", "fill"):
        for dtype in ("f32", "f64", "f16"):
            for p in POWERS:
                yield "elementwise", case, dtype, f"2^{p}", p in quick, (elementwise, case, dtype, p)
    for case in ("sum", "min", "max", "abs-sum", "argmin", "mean", "var", "dot"):
        for dtype in ("f32", "f64", "i32"):
            if dtype == "i32" and case in ("dot", "mean", "var"):
                continue
            for p in POWERS:
                yield "reduce", case, dtype, f"2^{p}", p in quick, (reduction, case, dtype, p)
    for case, dtype in (("axis-sum", "f32"), ("axis-sum", "f64"), ("axis-max", "f32")):
        for rows in (8, 64, 512, 4096, 32768, 262144, 2097152):
            for axis in (0, 1):
                yield "axis", case, dtype, f"{rows}x{(1 << 24) // rows} axis={axis}", rows in (8, 4096, 2097152), (
                    axis_reduction,
                    case,
                    dtype,
                    rows,
                    axis,
                )
    for dtype in ("f32", "f64"):
        for n in (1000000, 1 << 28):
            for dist in ("uniform", "normal", "constant", "sorted"):
                for bins in (16, 150, 256, 512, 4096, 32768, 65536, 1000000):
                    name = "10^6" if n == 1000000 else "2^28"
                    yield (
                        "histogram",
                        "histogram",
                        dtype,
                        f"{dist} n={name} bins={bins}",
                        dtype == "f32" and dist == "uniform" and bins in (256, 4096, 65536),
                        (histogram, dtype, dist, n, bins),
                    )
    for dtype in ("f32", "f64"):
        for rows, cols in (
            (16384, 16384),
            (8192, 8192),
            (4096, 4096),
            (1000, 1000),
            (256, 256),
            (1 << 20, 64),
            (64, 1 << 20),
            (1 << 22, 8),
            (8, 1 << 22),
        ):
            for case in ("gemv-row", "gemv-col"):
                yield "gemv", case, dtype, f"{rows}x{cols}", rows == cols, (gemv, case, dtype, rows, cols)


def command(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip().split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def main():
    global gpulite
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", default="peers.csv")
    parser.add_argument(
        "--case", action="append", default=[], help="only cases whose 'family:case dtype shape' contains this"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--gpulite", help="shared library of gpulite, to time it in this process")
    parser.add_argument("--commit", default="")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    chosen = [
        c
        for c in all_cases()
        if (not args.case or any(t in f"{c[0]}:{c[1]} {c[2]} {c[3]}" for t in args.case)) and (c[4] or not args.quick)
    ]
    if args.list:
        for c in chosen:
            print(f"{c[0]}:{c[1]} {c[2]} {c[3]}")
        return 0
    if torch is None:
        print("peers.py needs PyTorch with a GPU (CuPy and Numba come in where they are installed)", file=sys.stderr)
        return 2
    gpulite = Gpulite(args.gpulite) if args.gpulite else None
    torch.backends.cuda.matmul.allow_tf32 = False
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "driver": command("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "toolkit": f"CUDA {torch.version.cuda}, PyTorch {torch.__version__}"
        + (f", CuPy {cupy.__version__}" if cupy else "")
        + (f", Numba {__import__('numba').__version__}" if nb else ""),
        "commit": args.commit or command("git", "describe", "--always", "--dirty", "--tags"),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "timing": "medians of event-timed batches of back-to-back calls from Python, contenders interleaved, buffers reused",
    }
    events, start, left, failed = Events(), time.monotonic(), 0, 0
    with open(args.csv, "w", newline="", encoding="utf-8") as f:
        for key, value in facts.items():
            f.write(f"# {key}: {value}\n")
            print(f"# {key}: {value}")
        table = csv.writer(f, lineterminator="\n")
        table.writerow(COLUMNS)
        for i, (family, case, dtype, shape, _, (build, *how)) in enumerate(chosen):
            if time.monotonic() - start > args.seconds:
                left = len(chosen) - i
                break
            try:
                size, flops, contenders = build(*how)
            except Exception as e:
                print(f"{case} {dtype} {shape}: not run: {type(e).__name__}: {e}")
                torch.cuda.empty_cache()
                continue
            measure(events, contenders)
            told = []
            mine = next((statistics.median(c.us) for c in contenders if c.who == "gpulite" and c.us), 0)
            for c in contenders:
                m = statistics.median(c.us) if c.us else 0
                q = statistics.quantiles(c.us, n=4, method="inclusive") if len(c.us) > 1 else [m, m, m]
                bad = c.note.startswith("FAIL")
                failed += bad and c.who == "gpulite"
                table.writerow(
                    [
                        family,
                        case,
                        dtype,
                        shape,
                        c.who,
                        size,
                        flops,
                        f"{m:.4f}",
                        f"{min(c.us, default=0):.4f}",
                        f"{q[0]:.4f}",
                        f"{q[2]:.4f}",
                        f"{max(c.us, default=0):.4f}",
                        len(c.us),
                        getattr(c, "calls", 0),
                        0,
                        f"{size / m / 1e3 if m else 0:.2f}",
                        f"{flops / m / 1e3 if m else 0:.2f}",
                        0,
                        0,
                        f"{m / mine if mine and m else 0:.4f}",
                        0,
                        0,
                        " ".join(c.note.replace(",", ";").split()),
                    ]
                )
                told.append(f"{c.who} {m:.2f} us" + (f" ({c.note})" if bad else ""))
            f.flush()
            print(f"{case:<11} {dtype:<5} {shape:<30} {'   '.join(told)}", flush=True)
            del contenders
            if size > 1 << 30:
                torch.cuda.empty_cache()
    if left:
        print(f"{left} cases left out after {args.seconds:.0f} s")
    return 1 if failed else 0


gpulite = None

if __name__ == "__main__":
    sys.exit(main())
