# SPDX-License-Identifier: Apache-2.0
"""triton.testing.do_bench and autotuning: times of the modelled machine, not of this one."""

from __future__ import annotations

import warnings

import lockwarp
from lockwarp.triton._launch import State


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean",
             **_ignored):
    """In place of Triton's: milliseconds that the launches in fn() take on the modelled machine.

    They are those of ``lockwarp time``, the model of cycles; where it has no such machine, an
    estimate from the instructions that were retired. They are the same in every run, so that fn
    runs once. What fn does outside of Triton kernels takes no time.
    """
    if grad_to_none is not None:
        for x in grad_to_none:
            x.grad = None
    before = State.clock_ms
    State.timing += 1
    try:
        fn()
        time = State.clock_ms - before
    except lockwarp.Trap:
        raise
    except lockwarp.Error as e:
        # A variant that Lockwarp cannot run is none to choose; without another one, Triton says so.
        if quantiles is None:
            raise
        warnings.warn(f"left out of the choice: {str(e).splitlines()[0]}", stacklevel=2)
        time = float("inf")
    finally:
        State.timing -= 1
    if quantiles is not None:
        return time if len(quantiles) == 1 else [time] * len(quantiles)
    return [time] if return_mode == "all" else time
