# SPDX-License-Identifier: Apache-2.0
"""`lockwarp dap` with a client of the protocol that others wrote: PyPI's dap-python, which checks
each message against the protocol's types. Exit status 77 where it is not installed.

    dap_client.py LOCKWARP LAUNCH.json
"""

import os
import subprocess
import sys
from typing import List, Optional

try:
    import dap
    import dap.handler
    import pydantic
except ImportError:
    print("skipped: no module 'dap' (pip install dap-python)")
    sys.exit(77)


EMPTY = {"LaunchDone", "ConfigurationDone", "NextResponse", "StepBackDone", "ReverseContinueDone",
         "Disconnected"}


class StoppedEvent(dap.handler.StoppedEvent):
    """As the protocol has it: dap-python 0.5.0 takes the numbers of breakpoints for strings."""

    hitBreakpointIds: Optional[List[int]] = None


dap.handler.StoppedEvent = StoppedEvent


class Adapter:
    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.client = dap.Client("lockwarp")  # asks to initialize
        self.seen = []

    def until(self, kind):
        """Sends what waits, and reads on to a message of that kind."""
        self.process.stdin.write(self.client.send())
        self.process.stdin.flush()
        while True:
            for i, message in enumerate(self.seen):
                if type(message).__name__ == kind:
                    del self.seen[: i + 1]
                    return message
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, f"the adapter ended before {kind}; {self.seen}"
            while data is not None:
                data = self.take(data)

    def take(self, data):
        """Messages of which only a part may be there; what is to be taken next."""
        try:
            for message in self.client.receive(data):
                self.seen.append(message)
        except pydantic.ValidationError as e:
            # dap-python 0.5.0 asks the bodies of these responses, which the protocol leaves empty,
            # for the fields of the response around them.
            if e.title not in EMPTY:
                raise
            return b""
        return None


def main(program, launch):
    a = Adapter(program)
    c = a.client
    c.send_request("launch", {"program": launch, "stopOnEntry": True})
    a.until("InitializedEvent")
    ptx = launch.replace(".json", ".sm_80.ptx")
    c.send_request(
        "setBreakpoints",
        {"source": {"path": ptx}, "breakpoints": [{"line": 92}]},
    )
    answer = a.until("SetBreakpointsResponse")
    assert answer.breakpoints[0].verified and answer.breakpoints[0].line == 92
    c.configuration_done()
    assert a.until("StoppedEvent").reason == "entry"
    c.threads()
    threads = a.until("ThreadsResponse").threads
    assert [t.name for t in threads] == ["CTA (0,0,0) warp 0"]
    thread = threads[0].id

    def line():
        c.stack_trace(thread)
        return a.until("StackTraceResponse").stackFrames[0]

    c.continue_(thread)
    assert a.until("StoppedEvent").reason == "breakpoint"
    frame = line()
    assert frame.line == 92, frame
    c.scopes(frame.id)
    scopes = {s.name: s.variablesReference for s in a.until("ScopesResponse").scopes}
    assert list(scopes) == ["Registers", "Predicates", "Fragment", "Shared", "Parameters"]
    c.variables(scopes["Fragment"])
    assert [v.name for v in a.until("VariablesResponse").variables] == ["A", "B", "C", "D"]
    c.evaluate("%r1", frame_id=frame.id)
    assert a.until("EvaluateResponse").type == "f16x2"
    c.next(thread)
    a.until("StoppedEvent")
    after = line().line
    assert after > 92
    c.step_back(thread)
    a.until("StoppedEvent")
    assert line().line == 92
    c.reverse_continue(thread)
    a.until("StoppedEvent")
    assert line().line < 92  # the beginning
    c.disconnect()
    a.until("TerminatedEvent")
    a.process.stdin.close()
    assert a.process.wait(10) == 0
    print("as expected")


main(*sys.argv[1:])
