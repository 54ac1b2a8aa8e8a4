#!/usr/bin/env python3
"""Softmax here and in PyTorch, in turns in one process on the same arrays, beside PyTorch's copy.

    python3 bench/peers/pytorch.py [--threads N] [--log] [--library libanymax.so] [ROWSxCOLUMNS...]

Needs PyTorch (Debian: python3-torch). Without a library only PyTorch is measured. Results go to
memory that has been touched: a fresh array costs more than the softmax that fills it."""
import argparse
import ctypes
import os
import sys
import time


def has_avx512():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
            return "avx512f" in info.read()
    except OSError:
        return False


if has_avx512():  # PyTorch 1.13 takes AVX2 by itself
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")
import torch  # noqa: E402

SHAPES = "65536x64 16384x512 4096x4096 512x32768 64x131072 8x1048576 64x512".split()
TURN_SECONDS, SPIN_SECONDS, SETTLE_SECONDS = 5e-4, 0.03, 0.01  # as in contest.c
CHECKED = 1 << 20


class Device(ctypes.Structure):  # anymax_device_desc
    _fields_ = [("selector", ctypes.c_char_p), ("threads", ctypes.c_uint32),
                ("pretend", ctypes.c_char_p), ("no_cache", ctypes.c_bool)]


class Tensor(ctypes.Structure):  # anymax_tensor
    _fields_ = [("buffer", ctypes.c_void_p), ("data", ctypes.c_void_p),
                ("offset_bytes", ctypes.c_size_t), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_uint32), ("shape", ctypes.c_int64 * 6),
                ("strided", ctypes.c_bool), ("stride", ctypes.c_int64 * 6)]


class Anymax:
    """A stream of the library, and softmax on it."""

    def __init__(self, path, threads):
        self.lib = ctypes.CDLL(path)
        self.lib.anymax_error_message.restype = ctypes.c_char_p
        self.device, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.anymax_device_open(ctypes.byref(Device(b"cpu", threads)),
                                               ctypes.byref(self.device)))
        self.check(self.lib.anymax_stream_create(self.device, None, ctypes.byref(self.stream)))

    def check(self, status):
        if status:
            sys.exit(self.lib.anymax_error_message().decode())

    def softmax(self, x, y, log):
        """A function that runs it once. anymax_map begins with its kind, and is zero otherwise."""
        tensors = [Tensor(data=t.data_ptr(), rank=2, shape=tuple(t.shape)) for t in (x, y)]
        kind = (ctypes.c_int * 64)(1 if log else 0)

        def run():
            self.check(self.lib.anymax_map_forward(self.stream, kind, ctypes.byref(tensors[0]),
                                                   ctypes.byref(tensors[1])))
            self.check(self.lib.anymax_stream_sync(self.stream))
        return run


def turn(run, batch, threads):
    if threads > 1:
        time.sleep(SPIN_SECONDS)
    start = time.perf_counter()
    run()
    while threads > 1 and time.perf_counter() - start < SETTLE_SECONDS:
        run()
    start = time.perf_counter()
    for _ in range(batch):
        run()
    return (time.perf_counter() - start) / batch


def contest(runs, seconds, threads):
    """Times of each round, by contestant."""
    batch, times = [], [[] for _ in runs]
    for run in runs:
        run()
        batch.append(int(TURN_SECONDS / max(turn(run, 1, threads), 1e-7)) + 1)
    start = time.perf_counter()
    while len(times[0]) < 7 or (time.perf_counter() - start < seconds and len(times[0]) < 101):
        round_ = min(len(t) for t in times)
        for i in range(len(runs)):  # another one begins each round
            who = (i + round_) % len(runs)
            times[who].append(turn(runs[who], batch[who], threads))
    return times


def error(x, y, log):
    """Largest relative error of evenly spread rows."""
    step = max(1, x.shape[0] // (CHECKED // x.shape[1] + 1))
    want = torch.softmax(x[::step].double(), 1)
    want = want.log() if log else want
    return float(((y[::step].double() - want).abs() / want.abs()).max())


def measure(shape, options, anymax):
    rows, n = (int(part) for part in shape.split("x"))
    torch.manual_seed(2)
    x, y = torch.randn(rows, n) * 2, torch.zeros(rows, n)
    function = torch.log_softmax if options.log else torch.softmax
    runs = [lambda: y.copy_(x), lambda: function(x, 1, out=y)]
    if anymax:
        runs.append(anymax.softmax(x, y, options.log))
    errors = []
    for run in runs[1:]:
        y.zero_()
        run()
        errors.append(error(x, y, options.log))
    times = contest(runs, options.seconds, options.threads)
    part = 4 if options.threads > 1 else 2  # the faster quarter with threads, else the median
    pick = [sorted(t)[len(t) // part] for t in times]
    gbps = [8e-9 * rows * n / t for t in pick]
    line = f"{shape:>11} {gbps[0]:7.1f} {gbps[1]:7.1f} {pick[0] / pick[1]:6.2f} {errors[0]:8.1e}"
    if anymax:
        line += f" {gbps[2]:7.1f} {pick[1] / pick[2]:13.2f} {errors[1]:8.1e}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description="softmax here and in PyTorch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="log_softmax")
    parser.add_argument("--library", help="path of libanymax.so, to run it in turn")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each shape")
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    anymax = Anymax(options.library, options.threads) if options.library else None
    capability = os.environ.get("ATEN_CPU_CAPABILITY", "default")
    print(f"{'log_softmax' if options.log else 'softmax'} forward, f32, {options.threads} "
          f"thread(s), PyTorch {torch.__version__} ({capability}); GB/s of a read and a write")
    print("      shape    copy PyTorch  share    error"
          + ("  anymax anymax/PyTorch    error" if anymax else ""))
    for shape in options.shapes or SHAPES:
        measure(shape, options, anymax)


if __name__ == "__main__":
    main()
