# SPDX-License-Identifier: Apache-2.0
"""Modules, kernels and launches."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, arrays
from .errors import MAX_THREADS, ArgumentError, SourcePlace, Trap, whole

if TYPE_CHECKING:
    from .files import Comparison


MAX_U32 = (1 << 32) - 1
MAX_U64 = (1 << 64) - 1


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    size: int  #: bytes
    align: int  #: bytes
    offset: int  #: in the parameter space
    type: str  #: PTX's, without the dot: "u64", "f32"; of a struct "b8"
    is_array: bool  #: a struct, or an array


@dataclass(frozen=True)
class Stats:
    """What a launch did, counted."""

    instructions: int  #: retired, by warps
    lane_operations: int  #: retired, by lanes
    products: int  #: multiply-adds of matrix instructions
    ctas: int  #: that have ended
    warps: int  #: theirs


class Printed(NamedTuple):
    """What one thread printed by one call of printf."""

    cta: int  #: its index in the grid, x fastest
    warp: int  #: of the CTA
    lane: int
    text: str


@dataclass(frozen=True)
class Result:
    """What a launch did beside what it left in the arrays."""

    stats: Stats
    printed: tuple[Printed, ...]  #: by CTA, in the order of each one's run
    printed_bytes_lost: int  #: beyond CUDA's buffer of 1 MiB
    trap: Trap | None  #: only where the launch was asked to return it

    @property
    def printf(self) -> str:
        """All that was printed, in its order."""
        return "".join(p.text for p in self.printed)

    def _repr_html_(self) -> str:
        from .html import table

        rows = [(name.replace("_", " "), f"{value:,}") for name, value in vars(self.stats).items()]
        text = table("done" if self.trap is None else "TRAP", ("", ""), rows)
        return text if not self.printed else text + f"<pre>{escaped(self.printf)}</pre>"


@dataclass(frozen=True)
class Site:
    """The other side of a finding: who did what with it."""

    line: int  #: of the PTX; 0: of no line
    places: tuple[SourcePlace, ...]  #: in the source, innermost first
    cta: tuple[int, int, int]  #: %ctaid
    warp: int  #: of the CTA


@dataclass(frozen=True)
class Finding:
    """One thing that a check found."""

    kind: str  #: of its check: "copy-not-awaited"
    is_fault: bool  #: the program is wrong; otherwise it is a note
    what: str  #: a clause: "reads what line 18 copies"
    place: str  #: CTA, warp, lanes, address and the like; may be ""
    hint: str  #: may be ""
    line: int  #: of the PTX; 0: of no line
    places: tuple[SourcePlace, ...] = ()  #: in the source, innermost first
    count: int = 1  #: how often, in the whole launch
    other: Site | None = None  #: of a race: the access before; of a copy: what copied


@dataclass(frozen=True)
class Check:
    """What one check found in a launch."""

    name: str
    summary: str  #: "2 errors, 1 note"; "" where nothing was found
    findings: tuple[Finding, ...]
    text: str  #: as ``lockwarp run --check`` prints it

    @property
    def is_fault(self) -> bool:
        """Whether one of its findings is a fault of the program."""
        return any(f.is_fault for f in self.findings)


@dataclass(frozen=True)
class Timing:
    """About how many cycles a launch takes, where they go, and why. ``str()`` is what ``lockwarp
    time`` prints; its error is stated in docs/time.md."""

    cycles: int  #: of the grid
    cta_cycles: int  #: of a CTA, the median
    microseconds: float  #: of the grid at the boost clock
    product: str  #: "H200"
    arch: str  #: "sm_90"
    tensor_share: float  #: of the tensor cores' peak, 0 to 1
    resident_ctas: int  #: at once on an SM
    limit: str  #: what limits them: "registers", "shared", "grid", ...
    stalls: dict[str, int] = field(repr=False)  #: cycles of warps, by Nsight Compute's words
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)  #: everything: what ``--json`` writes

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(self.text)}</pre>"


@dataclass(frozen=True)
class Checked:
    """A launch under checks."""

    result: Result
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check found a fault; notes may be there."""
        return not any(c.is_fault for c in self.checks)

    def __str__(self) -> str:
        return "".join(c.text for c in self.checks) or "nothing was found\n"

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(str(self))}</pre>"


@dataclass(frozen=True)
class Why:
    """Why a matrix is not what it should be. ``str()`` is what ``lockwarp why`` prints."""

    wrong: int  #: elements that are not as expected; 0: all are
    answer: str  #: the first line: "explains all 128 elements: the registers b0 and b1 of ..."
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)  #: everything: what ``--json`` writes

    @property
    def explained(self) -> bool:
        """Whether one change to the program makes all of it right."""
        return any(e["all"] for e in self.data["explanations"])

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The lines that the best explanation changes: ``line``, ``is``, ``becomes``."""
        best = self.data["explanations"][:1]
        return [c for e in best for part in e["parts"] for c in part["changes"]]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(self.text)}</pre>"


def escaped(text: str) -> str:
    """A text as HTML."""
    import html

    return html.escape(text)


def result_of(outcome: tuple[Any, ...], trap: str = "raise") -> Result:
    """What the core gave, as a Result; raises its Trap."""
    stats, printed, lost, fault, _ = outcome
    exception = Trap(fault) if fault else None
    result = Result(Stats(*stats),
                    tuple(Printed(cta, warp, lane, text.decode("utf-8", "replace"))
                          for cta, warp, lane, text in printed), lost, exception)
    if exception is not None:
        exception.result = result
        if trap == "raise":
            raise exception
    return result


def _places(given: Any) -> tuple[SourcePlace, ...]:
    return tuple(SourcePlace(*p) for p in given)


def _site(given: Any) -> Site | None:
    return None if given is None else Site(given["line"], _places(given["places"]), given["cta"],
                                           given["warp"])


def checked_of(outcome: tuple[Any, ...], trap: str) -> Checked:
    result = result_of(outcome, trap)
    return Checked(result, tuple(
        Check(c["check"], c["summary"], tuple(
            Finding(f["kind"], f["is_fault"], f["what"], f["place"], f["hint"], f["line"],
                    _places(f["places"]), f["count"], _site(f["other"]))
            for f in c["findings"]),
            c["text"]) for c in outcome[4]))


class Module:
    """A PTX module, read once: its kernels, and variables that last from launch to launch.

    ``source`` is PTX text, CUDA C++ text, or the path of a .ptx or .cu file (``str`` or
    ``os.PathLike``; text has a line break). CUDA is compiled by nvcc (``$NVCC``, ``$PATH`` or
    /usr/local/cuda/bin) or, where there is none, by NVRTC; ``options`` are the compiler's.
    ``arch`` is the machine to model, ``"sm_70"`` to ``"sm_121"``; without it that of the module's
    ``.target``.

    Raises :class:`lockwarp.Error` with everything that is wrong with the text.
    """

    def __init__(self, source: str | bytes | os.PathLike[str], arch: str | None = None, *,
                 name: str | None = None, options: Sequence[str] = ()):
        from . import cuda

        arch = arch or ""
        if not isinstance(arch, str):
            raise ArgumentError(f'arch {arch!r}: a name, as "sm_90"')
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).rstrip(b"\0").decode("utf-8", "replace")
        text = os.fspath(source)
        if "\n" not in text:
            if text.endswith(".cu") and not cuda.has_nvcc():
                with open(text, encoding="utf-8") as file:
                    ptx = cuda.nvrtc(file.read(), text, arch, list(options))
                self._core = _core.Module.of_text(ptx, name or text, arch)
            else:
                self._core = _core.Module.of_file(text, arch, list(options))
        elif cuda.is_cuda(text):
            ptx = cuda.compile(text, name or "kernel.cu", arch, list(options))
            self._core = _core.Module.of_text(ptx, name or "kernel.cu", arch)
        else:
            self._core = _core.Module.of_text(text, name or "module.ptx", arch)

    @property
    def entries(self) -> list[str]:
        """The kernels, as the module names them (mangled), in its order."""
        return self._core.entries

    @property
    def arch(self) -> str:
        """The machine that is modelled: "sm_80"."""
        return self._core.arch

    @property
    def ptx(self) -> str:
        """The text."""
        return self._core.source

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel of a name: its own, its function's ("scale" of ``_Z5scalePf``), or any part
        of its demangled name that no other has; without one the only kernel. What the machine
        would refuse of it is an Error now."""
        return Kernel(self._core.kernel(name or ""))

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __repr__(self) -> str:
        return f"<lockwarp.Module {', '.join(self.entries)} on {self.arch}>"


def dims(value: Any, name: str) -> tuple[int, int, int]:
    """A grid or a block: a number, or up to three of them, x first."""
    given = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(given) <= 3:
        raise ArgumentError(f"{name} {value!r}: one to three numbers, x first")
    x, y, z, *_ = (*(whole(n, name, 1, MAX_U32) for n in given), 1, 1)
    return x, y, z


SCHEDULES = ("early", "late")


def is_late(schedule: Any) -> bool:
    """Whether that schedule of asynchronous instructions is the late one."""
    if schedule not in SCHEDULES:
        raise ArgumentError(f"schedule={schedule!r}: \"early\" or \"late\"")
    return bool(schedule == "late")


def cluster_dims(value: Any) -> tuple[int, int, int]:
    """None, as the kernel has it: zeros."""
    return (0, 0, 0) if value is None else dims(value, "cluster")


class Kernel:
    """A kernel of a module. ``k[grid, block](*arguments)`` launches it.

    ``grid`` and ``block`` are a number or a tuple, x first; a third is the bytes of dynamic shared
    memory: ``k[(4, 2), 128, 4096](A, B, 64)``. One argument for each parameter:

    - An array is the address of its first element: numpy's, a CPU tensor of torch, anything with
      DLPack or the array interface. The kernel works in the array's own memory, and may touch the
      bytes of the arguments only: what lies beside them is out of bounds. Of an array that is not
      contiguous these are all bytes from its lowest to its highest. Read-only arrays are refused.
    - A numpy scalar has its own bytes, as many as the parameter has.
    - An int fits an integer parameter's bits, signed or not; a float becomes the nearest value of
      .f16, .f32 or .f64, and of .b32 and .b64 that of .f32 and .f64. An int for a floating
      parameter is the float of that value.
    - bytes are a struct (or any parameter) as it is. Pointers in it may point into arrays that are
      named by ``memory=``.
    - None is a null pointer.

    Returns a :class:`Result`. Raises :class:`Trap` where the program faults, Error where the launch
    cannot begin, ArgumentError for an argument that does not fit, and KeyboardInterrupt, soon, on
    ctrl-C. Other Python threads run meanwhile; kernels of one module may be launched from several.
    """

    def __init__(self, core: _core.Kernel):
        self._core = core
        self._parameters = tuple(Parameter(*p) for p in core.parameters)
        self._bytes = core.parameter_bytes

    @property
    def name(self) -> str:
        """As the module names it."""
        return self._core.name

    @property
    def arch(self) -> str:
        """The machine that is modelled: "sm_80"."""
        return self._core.arch

    @property
    def parameters(self) -> list[tuple[str, int, int]]:
        """(name, bytes, alignment) of each."""
        return [p[:3] for p in self._parameters]

    @property
    def signature(self) -> tuple[Parameter, ...]:
        """The parameters with their types and places."""
        return self._parameters

    @property
    def parameter_bytes(self) -> int:
        """Of the parameter space."""
        return self._bytes

    @property
    def shared_bytes(self) -> int:
        """Of static shared memory, for each CTA."""
        return self._core.shared_static

    def variable(self, name: str) -> bytes:
        """The bytes of a .global or .const variable of the module that the kernel uses, as the
        launches so far have left it; by its name or its mangled one."""
        return self._core.variable(name)

    def launch_raw(self, grid: tuple[int, int, int], block: tuple[int, int, int],
                   dynamic_shared: int, parameters: bytes,
                   memory: Sequence[tuple[int, int, str]], threads: int = 0,
                   max_steps: int | None = None, *, cooperative: bool = False,
                   cluster: Any = None, schedule: str = "early", trap: str = "raise",
                   non_portable_cluster: bool = False) -> Result:
        """Launches it with the bytes of its parameter space, ``parameter_bytes`` of them.

        ``memory`` are ranges of this process's memory that the kernel may touch, (address, bytes,
        name); the addresses are the device's too, and are not looked at before the kernel touches
        them. Ranges may overlap. ``threads`` 0: all cores. ``max_steps``: instructions that a warp
        may retire. ``cluster``, ``schedule`` and ``non_portable_cluster``: as of
        :meth:`Launcher.__call__`.
        ``trap="return"``: a trap is the result's, and not raised.
        """
        request = (grid, block, dynamic_shared, parameters, memory, threads, max_steps or 0,
                   bool(cooperative), cluster_dims(cluster), is_late(schedule),
                   bool(non_portable_cluster))
        return result_of(self._core.launch(request, ""), trap)

    def __getitem__(self, where: Any) -> Launcher:
        if not isinstance(where, tuple) or not 2 <= len(where) <= 3:
            raise ArgumentError(f"{self.name}[grid, block] or [grid, block, dynamic_shared]")
        return Launcher(self, *where)

    def launch(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> Result:
        """The same as ``self[grid, block, dynamic_shared](*arguments)``; options are those of
        :meth:`Launcher.__call__` and ``dynamic_shared``."""
        shared = options.pop("dynamic_shared", 0)
        return Launcher(self, grid, block, shared)(*arguments, **options)

    def check(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> Checked:
        """``self[grid, block, dynamic_shared].check(*arguments)``."""
        shared = options.pop("dynamic_shared", 0)
        return Launcher(self, grid, block, shared).check(*arguments, **options)

    def time(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> Timing:
        """``self[grid, block, dynamic_shared].time(*arguments)``."""
        shared = options.pop("dynamic_shared", 0)
        return Launcher(self, grid, block, shared).time(*arguments, **options)

    def why(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> Why:
        """``self[grid, block, dynamic_shared].why(*arguments)``."""
        shared = options.pop("dynamic_shared", 0)
        return Launcher(self, grid, block, shared).why(*arguments, **options)

    def validate(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> Comparison:
        """``self[grid, block, dynamic_shared].validate(*arguments)``."""
        shared = options.pop("dynamic_shared", 0)
        return Launcher(self, grid, block, shared).validate(*arguments, **options)

    def __repr__(self) -> str:
        args = ", ".join(f".{p.type} {p.name}" + (f"[{p.size}]" if p.is_array else "")
                         for p in self._parameters)
        return f"<lockwarp.Kernel {self.name}({args}) on {self.arch}>"


class Launcher:
    """A kernel with its grid and block: call it with the kernel's arguments."""

    def __init__(self, kernel: Kernel, grid: Any, block: Any, dynamic_shared: int = 0):
        self.kernel = kernel
        self.grid = dims(grid, "grid")
        self.block = dims(block, "block")
        self.dynamic_shared = whole(dynamic_shared, "dynamic_shared", 0, MAX_U32)

    def _request(self, arguments: tuple[Any, ...], memory: Sequence[Any], threads: int,
                 max_steps: int | None, cooperative: bool, cluster: Any,
                 schedule: str = "early", non_portable_cluster: bool = False) -> tuple[Any, ...]:
        return self._packed_request(Packed(self.kernel, arguments, memory), threads, max_steps,
                                    cooperative, cluster, schedule, non_portable_cluster)

    def _packed_request(self, packed: Packed, threads: int, max_steps: int | None,
                        cooperative: bool, cluster: Any,
                        schedule: str = "early",
                        non_portable_cluster: bool = False) -> tuple[Any, ...]:
        steps = 0 if max_steps is None else whole(max_steps, "max_steps", 1, MAX_U64)
        return (self.grid, self.block, self.dynamic_shared, bytes(packed.bytes), packed.ranges,
                whole(threads, "threads", 0, MAX_THREADS), steps, bool(cooperative),
                cluster_dims(cluster), is_late(schedule), bool(non_portable_cluster))

    def __call__(self, *arguments: Any, memory: Sequence[Any] = (), threads: int = 0,
                 max_steps: int | None = None, cooperative: bool = False, cluster: Any = None,
                 schedule: str = "early", trap: str = "raise",
                 non_portable_cluster: bool = False) -> Result:
        """Launches the kernel and waits for its end; see :class:`Kernel`.

        ``memory``: arrays that pointers within arguments point into. ``threads``: cores, 0 for all;
        results are the same with any number. ``max_steps``: a warp that retires more instructions
        traps. ``cooperative``: all CTAs are under way at a time. ``cluster``: CTAs of a cluster, a
        number or a tuple, x first; without it as the kernel has it; with ``non_portable_cluster``
        up to 16, else 8. ``schedule="late"``: copies, ``wgmma`` and other asynchronous instructions
        do their work where somebody waits for them, not where they are issued (``lockwarp
        run --async late``). ``trap="return"``: a trap is the result's, and not raised.
        """
        request = self._request(arguments, memory, threads, max_steps, cooperative, cluster,
                                schedule, non_portable_cluster)
        return result_of(self.kernel._core.launch(request, ""), trap)

    def check(self, *arguments: Any, checks: str = "all", memory: Sequence[Any] = (),
              threads: int = 0, max_steps: int | None = None, cooperative: bool = False,
              cluster: Any = None, trap: str = "raise", undefined: Sequence[Any] = (),
              non_portable_cluster: bool = False) -> Checked:
        """Launches the kernel and looks, while it runs, for what is wrong in it: the checks of
        ``lockwarp run --check``, all or by their names with commas. The arrays are written.
        ``undefined``: those of them that nobody gave a value, such as ``numpy.empty``."""
        packed = Packed(self.kernel, arguments, memory)
        request = self._packed_request(packed, threads, max_steps, cooperative, cluster,
                                       non_portable_cluster=non_portable_cluster)
        found = [arrays.memory_of(a, f"undefined[{i}]") for i, a in enumerate(undefined)]
        outcome = self.kernel._core.launch(request, checks, [(m.first, m.bytes) for m in found],
                                           packed.shapes)
        return checked_of(outcome, trap)

    def time(self, *arguments: Any, arch: str = "", all_ctas: bool = False, lines: int = 10,
             memory: Sequence[Any] = (), cluster: Any = None,
             non_portable_cluster: bool = False) -> Timing:
        """About how many cycles the launch takes on a machine: ``arch`` is an architecture
        ("sm_80": its first product) or a product ("H200", "RTX 2080 Ti"); without it the module's.

        The arrays stay as they are, and lie for the model where a GPU's driver would place them;
        with ``memory=``, for there may be pointers in it, where they are. The CTAs of one SM run, each on what the arrays hold now;
        ``all_ctas`` runs every one, for kernels whose CTAs wait for each other. ``lines``: the
        instructions that the text lists. ``cluster`` and ``non_portable_cluster``: as of a call.
        """
        packed = Packed(self.kernel, arguments, memory)
        request = self._packed_request(packed, 0, None, False, cluster,
                                       non_portable_cluster=non_portable_cluster)
        pointers = [] if memory else packed.pointers
        fault, text, data = _core.time(self.kernel._core, request, pointers, arch, all_ctas, lines)
        if fault is not None:
            result_of(fault)
        d = json.loads(data)
        return Timing(d["grid_cycles"], d["cta_cycles"], d["microseconds"], d["product"],
                      d["arch"], d["tensor_share"], d["resident_ctas"], d["limit"], d["stalls"],
                      text, d)

    def why(self, *arguments: Any, result: Any, expected: Any, ulp: float | None = None,
            absolute: float | None = None, relative: float | None = None,
            memory: Sequence[Any] = (), max_steps: int | None = None, cluster: Any = None,
            non_portable_cluster: bool = False) -> Why:
        """Names the mistake behind a wrong matrix: swapped registers, a missing swizzle.

        ``result``: the array among the arguments that should hold ``expected`` after the launch:
        its bits, or with ``ulp``, ``absolute`` or ``relative`` numbers that are close. Where
        ``expected`` is the product of two of the arrays, that is found. The arrays stay as they
        are: what their elements are before the launch counts. ``cluster`` and
        ``non_portable_cluster``: as of a call.
        """
        packed = Packed(self.kernel, arguments, memory)
        request = self._packed_request(packed, 0, max_steps, False, cluster,
                                       non_portable_cluster=non_portable_cluster)
        array = arrays.as_numpy(result, "result")
        if not array.flags.c_contiguous:
            raise ArgumentError("result: an array that is contiguous is needed")
        wanted = np.ascontiguousarray(arrays.as_numpy(expected, "expected").astype(array.dtype))
        if wanted.shape != array.shape:
            raise ArgumentError(f"expected has the shape {wanted.shape}, result {array.shape}")
        columns = array.shape[-1] if array.ndim else 1
        text, data = _core.why(
            self.kernel._core, request,
            (arrays.memory_of(result, "result").address, type_name(array.dtype),
             array.size // max(columns, 1), columns, wanted.tobytes()), ulp, absolute, relative)
        d = json.loads(data)
        return Why(d["wrong"], text.split("\n", 1)[0], text, d)

    def validate(self, *arguments: Any, gpu: int = 0, memory: Sequence[Any] = (), threads: int = 0,
                 max_steps: int | None = None, cluster: Any = None,
                 non_portable_cluster: bool = False) -> Comparison:
        """Runs the launch on GPU number ``gpu`` of this machine and on the emulator as that
        architecture, and compares every register of every lane after every instruction:
        a :class:`lockwarp.Comparison`.

        The arrays stay as they are: both run on copies. Pointers into the arrays and
        ``memory=`` follow the copies, also those within structs and within the arrays (aligned
        words of 8 bytes). Raises :class:`lockwarp.NoGpu` where there is no GPU.
        """
        from .files import comparison_of

        request = self._request(arguments, memory, threads, max_steps, False, cluster,
                                non_portable_cluster=non_portable_cluster)
        return comparison_of(_core.validate(self.kernel._core, request,
                                            whole(gpu, "gpu", 0, MAX_THREADS)))


_TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}


def type_name(dtype: np.dtype[Any]) -> str:
    """As launch files call it: "f16", "s32"."""
    kind = {"f": "f", "i": "s", "u": "u"}.get(dtype.kind, "")
    return _TYPES.get(dtype.name) or (f"{kind}{8 * dtype.itemsize}" if kind else dtype.name)


class Packed:
    """Arguments as a kernel's parameter space, and the memory that they are."""

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...], memory: Sequence[Any] = ()):
        parameters = kernel._parameters
        if len(arguments) != len(parameters):
            text = f"{kernel.name}: {len(arguments)} given, the kernel has {len(parameters)}"
            missing = ", ".join(f"{p.name} ({p.size} bytes)" for p in parameters[len(arguments):])
            raise ArgumentError(text + (f"; missing: {missing}" if missing else ""))
        self.bytes = bytearray(kernel._bytes)
        self.ranges: list[tuple[int, int, str]] = []
        self.pointers: list[tuple[int, int]] = []  # (byte of the parameters, address)
        self.shapes: list[tuple[int, int, list[int], int]] = []
        for i, (p, value) in enumerate(zip(parameters, arguments)):
            at = p.offset
            if isinstance(value, np.ndarray) or arrays.is_array(value):
                name = _named(i, p)
                if p.size != 8 or p.type in ("f64", "f32"):
                    raise ArgumentError(f"{name} (.{p.type}, {p.size} bytes) is no pointer: it "
                                        "takes a number, not an array")
                address = self._touch(value, name, p.name)
                self.pointers.append((at, address))
                self.bytes[at:at + 8] = address.to_bytes(8, "little")
            else:
                self.bytes[at:at + p.size] = scalar(value, p, i)
        for i, value in enumerate(memory):
            self._touch(value, f"memory[{i}]", f"memory[{i}]")

    def _touch(self, value: Any, name: str, short: str) -> int:
        found = arrays.memory_of(value, name)
        if found.read_only:
            raise ArgumentError(f"{name} is read-only, and a kernel may write to whatever it is "
                                "given: give a copy")
        if found.bytes:
            self.ranges.append((found.first, found.bytes, short))
            if rows := arrays.rows_of(found):
                self.shapes.append(rows)
        return found.address


def _named(i: int, p: Parameter) -> str:
    return f"argument {i} '{p.name}'"


_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d", "b32": "<f", "b64": "<d"}


def scalar(value: Any, p: Parameter, i: int) -> bytes:
    """The bytes of an argument that is no array; see :class:`Kernel`."""
    kind = f".{p.type}" + (f"[{p.size}]" if p.is_array else "")
    if isinstance(value, np.generic):
        out = np.asarray(value).tobytes()
        if len(out) != p.size:
            raise ArgumentError(f"{_named(i, p)}: {value.dtype.name} has {len(out)} bytes, the "
                                f"parameter ({kind}) has {p.size}")
        is_float = np.issubdtype(value.dtype, np.floating) or value.dtype.kind == "V"
        if not p.is_array and p.type[0] != "b" and value.dtype.kind in "iufb" and \
                is_float != (p.type[0] == "f"):
            raise ArgumentError(f"{_named(i, p)}: the parameter is {kind}, not {value.dtype.name}")
        return out
    if isinstance(value, int):
        if p.type[0] == "f" and not p.is_array:
            value = float(value)
        else:
            bits = 8 * p.size
            if p.size > 8:
                raise ArgumentError(f"{_named(i, p)} ({kind}): give its {p.size} bytes")
            if not -(1 << bits - 1) <= value < 1 << bits:
                raise ArgumentError(f"{_named(i, p)}: {value} does not fit {kind}")
            return (value & (1 << bits) - 1).to_bytes(p.size, "little")
    if isinstance(value, float):
        if p.is_array or p.type not in _FLOATS:
            hint = ""
            if p.size == 2:
                hint = ": give np.float16(x) or ml_dtypes.bfloat16(x), which of them it is"
            elif p.type[0] in "us":
                hint = ": it takes an int"
            raise ArgumentError(f"{_named(i, p)} ({kind}) takes no float{hint}")
        try:
            return struct.pack(_FLOATS[p.type], value)
        except OverflowError:
            return struct.pack(_FLOATS[p.type], float("inf") if value > 0 else -float("inf"))
    if isinstance(value, (bytes, bytearray)):
        if len(value) != p.size:
            raise ArgumentError(f"{_named(i, p)}: {len(value)} bytes are given, the parameter "
                                f"({kind}) has {p.size}")
        return bytes(value)
    if value is None:
        if p.size != 8:
            raise ArgumentError(f"{_named(i, p)} ({kind}) is no pointer: None is a null pointer")
        return bytes(8)
    if hasattr(value, "__index__"):
        return scalar(int(value.__index__()), p, i)
    raise ArgumentError(f"{_named(i, p)}: a {type(value).__name__} is neither an array nor a number")
