# SPDX-License-Identifier: Apache-2.0
"""`lockwarp dap` with a client of the protocol that others wrote: PyPI's dap-python, which checks
each message against the protocol's types. Exit status 77 where it is not installed
(scripts/try_dap.sh installs it).

    dap_client.py LOCKWARP LAUNCH.json
"""

import base64
import json
import os
import subprocess
import sys
import tempfile

try:
    import dap
    import pydantic
except ImportError:
    print("skipped: no module 'dap' (scripts/try_dap.sh --install)")
    sys.exit(77)

# dap-python 0.5.0 asks the bodies of these responses, which the protocol leaves empty, for the
# fields of the response around them, ...
EMPTY = {"LaunchDone", "ConfigurationDone", "NextResponse", "StepInDone", "StepOutDone",
         "StepBackDone", "ReverseContinueDone", "Disconnected", "Terminated", "Restarted",
         "GotoDone", "Paused", "SetExceptionBreakpointsResponse"}
# ... and these for fields that the protocol spells otherwise or leaves out (exceptionId, numbers of
# breakpoints and of places to go to, the number of a breakpoint that has no place).
OTHERWISE = {"ExceptionInfoResponse", "StoppedEvent", "SetFunctionBreakpointsResponse",
             "FunctionBreakpoint", "GotoTargetsResponse", "SetBreakpointsResponse"}


class Adapter:
    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.client = dap.Client("lockwarp")  # asks to initialize
        self.buffer = b""
        self.raw = []
        self.typed = 0

    def flush(self):
        self.process.stdin.write(self.client.send())
        self.process.stdin.flush()

    def read(self):
        data = os.read(self.process.stdout.fileno(), 65536)
        assert data, f"the adapter ended; {self.raw}"
        self.buffer += data
        while data is not None:
            try:
                for _ in self.client.receive(data):
                    self.typed += 1
                data = None
            except pydantic.ValidationError as e:
                if e.title not in EMPTY | OTHERWISE:
                    raise
                data = b""
        while b"\r\n\r\n" in self.buffer:
            head, rest = self.buffer.split(b"\r\n\r\n", 1)
            length = int(head.split(b":")[1])
            if len(rest) < length:
                break
            self.raw.append(json.loads(rest[:length]))
            self.buffer = rest[length:]

    def until(self, found):
        while True:
            for i, message in enumerate(self.raw):
                if found(message):
                    del self.raw[i]
                    return message
            self.read()

    def event(self, name):
        return self.until(lambda m: m["type"] == "event" and m["event"] == name).get("body", {})

    def ask(self, command, arguments=None, good=True):
        seq = self.client.send_request(command, arguments or {})
        self.flush()
        answer = self.until(lambda m: m["type"] == "response" and m["request_seq"] == seq)
        assert answer["success"] == good, answer
        assert answer["command"] == command
        return answer.get("body", {}) if good else answer["message"]

    def stop(self, command, arguments=None):
        self.ask(command, arguments)
        return self.event("stopped")

    def frames(self, thread, **more):
        return self.ask("stackTrace", {"threadId": thread, **more})

    def line(self, thread):
        return self.frames(thread)["stackFrames"][0]["line"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


def begin(program, launch, **more):
    a = Adapter(program)
    a.flush()
    capabilities = a.until(lambda m: m.get("command") == "initialize")["body"]
    a.ask("launch", {"program": launch, **more})
    a.event("initialized")
    return a, capabilities


def looks(program, launch):
    """A kernel of the repository: breakpoints, fragments, memory, back and forth."""
    a, capabilities = begin(program, launch, stopOnEntry=True)
    for can in ("supportsStepBack", "supportsLogPoints", "supportsExceptionInfoRequest",
                "supportsHitConditionalBreakpoints", "supportsGotoTargetsRequest"):
        assert capabilities[can], can
    assert [f["filter"] for f in capabilities["exceptionBreakpointFilters"]] == [
        "trap", "check", "nan"]
    ptx = launch.replace(".json", ".sm_80.ptx")
    said = a.ask("setBreakpoints", {"source": {"path": ptx}, "breakpoints": [{"line": 92}]})
    assert said["breakpoints"][0]["verified"] and said["breakpoints"][0]["line"] == 92
    a.ask("setExceptionBreakpoints", {"filters": ["trap"]})
    assert a.stop("configurationDone")["reason"] == "entry"
    threads = a.ask("threads")["threads"]
    assert [t["name"] for t in threads] == ["CTA (0,0,0) warp 0"]
    thread = threads[0]["id"]
    assert a.stop("continue", {"threadId": thread})["reason"] == "breakpoint"
    frame = a.frames(thread)["stackFrames"][0]
    assert frame["line"] == 92, frame
    scopes = {s["name"]: s["variablesReference"]
              for s in a.ask("scopes", {"frameId": frame["id"]})["scopes"]}
    assert list(scopes) == ["Registers", "Predicates", "Fragment", "Shared", "Parameters"]

    def variables(reference, **more):
        return a.ask("variables", {"variablesReference": reference, **more})["variables"]

    assert [v["name"] for v in variables(scopes["Fragment"])] == ["D", "A", "B", "C"] or [
        v["name"] for v in variables(scopes["Fragment"])] == ["A", "B", "C", "D"]
    register = next(v for v in variables(scopes["Registers"]) if v["name"] == "%r1")
    assert register["indexedVariables"] == 32
    lanes = variables(register["variablesReference"])
    assert [v["name"] for v in lanes] == [f"[{i}]" for i in range(32)]
    part = variables(register["variablesReference"], filter="indexed", start=8, count=4)
    assert part == lanes[8:12], part
    assert variables(register["variablesReference"], filter="named") == []
    assert variables(register["variablesReference"], start=30, count=99) == lanes[30:]
    value = a.ask("evaluate", {"expression": "%r1", "frameId": frame["id"], "context": "watch"})
    assert value["type"] == "f16x2" and value["indexedVariables"] == 32
    assert variables(value["variablesReference"]) == lanes
    text = a.ask("evaluate", {"expression": "frag B", "context": "repl"})["result"]
    assert "16 x 8 f16" in text
    a.ask("evaluate", {"expression": "%r1 +", "context": "hover"}, good=False)
    shared = next(v for v in variables(scopes["Shared"]) if v["name"] == "(all)")
    memory = a.ask("readMemory", {"memoryReference": shared["memoryReference"], "count": 64})
    assert len(base64.b64decode(memory["data"])) == 64
    instructions = a.ask("disassemble", {
        "memoryReference": frame["instructionPointerReference"], "instructionOffset": -2,
        "instructionCount": 4})["instructions"]
    assert instructions[2]["instruction"].startswith("mma.sync"), instructions
    a.stop("next", {"threadId": thread})
    assert a.line(thread) > 92
    a.stop("stepBack", {"threadId": thread})
    assert a.line(thread) == 92
    target = a.ask("gotoTargets", {"source": {"path": ptx}, "line": 96})["targets"][0]
    assert a.stop("goto", {"threadId": thread, "targetId": target["id"]})["reason"] == "goto"
    assert a.line(thread) == 96
    assert a.stop("reverseContinue", {"threadId": thread})["reason"] == "breakpoint"
    assert a.line(thread) == 92
    a.stop("reverseContinue", {"threadId": thread})
    assert a.line(thread) < 92  # the beginning
    assert a.stop("restart")["reason"] == "entry"
    a.ask("terminate")
    a.event("terminated")
    a.ask("threads", good=False)
    a.ask("disconnect")
    a.end()


PTX = """.version 8.0
.target sm_80
.address_size 64
.file 1 "FOLDER/k.cu"
.func (.param .b32 r) twice(.param .b32 x)
{
.reg .b32 %r<4>;
.loc 1 2 1
ld.param.b32 %r1, [x];
add.u32 %r2, %r1, %r1;
st.param.b32 [r], %r2;
ret;
}
.visible .entry k(.param .u64 k_out)
{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
.shared .align 4 .b8 tile[256];
.loc 1 10 1
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
LOOP:
.loc 1 12 1
add.u32 %r2, %r2, 1;
.loc 1 5 9, function_name $L__info_string0, inlined_at 1 12 7
mul.lo.u32 %r3, %r2, %r1;
.loc 1 13 1
setp.lt.u32 %p1, %r2, 6;
@%p1 bra LOOP;
.loc 1 15 1
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r3;
call.uni (b), twice, (a);
ld.param.b32 %r4, [b];
}
.loc 1 16 1
mov.u32 %r5, tile;
mad.lo.u32 %r6, %r1, 4, %r5;
xor.b32 %r7, %r1, 32;
mad.lo.u32 %r8, %r7, 4, %r5;
st.shared.u32 [%r6], %r4;
.loc 1 17 1
ld.shared.u32 %r9, [%r8];
.loc 1 18 1
cvt.rn.f32.u32 %f1, %r1;
div.rn.f32 %f2, %f1, %f1;
.loc 1 19 1
ld.param.u64 %rd1, [k_out];
mul.wide.u32 %rd2, %r1, 64;
add.u64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r9;
ret;
}
.section .debug_str
{
$L__info_string0:
.b8 99
.b8 117
.b8 98
.b8 101
.b8 0
}
"""

LAUNCH = """{"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
 "grid": [1, 1, 1], "block": [64, 1, 1],
 "buffers": {"out": {"bytes": 2048, "init": {"fill": 0}}},
 "args": [{"buffer": "out"}], "outputs": ["out"]}"""


def line_of(text):
    return next(i for i, line in enumerate(PTX.splitlines(), 1) if line.startswith(text))


def everything(program, folder):
    """A kernel with a race, a NaN and an access out of bounds: 64 threads, 2 warps."""
    source = os.path.join(folder, "k.cu")
    ptx = os.path.join(folder, "k.ptx")
    with open(source, "w") as f:
        f.write("".join(f"// line {i}\n" for i in range(1, 25)))
    with open(ptx, "w") as f:
        f.write(PTX.replace("FOLDER", folder))
    with open(os.path.join(folder, "k.json"), "w") as f:
        f.write(LAUNCH)
    a, _ = begin(program, os.path.join(folder, "k.json"))
    # Lines of the source: the third time, by a condition, and one that says something.
    said = a.ask("setBreakpoints", {"source": {"path": source}, "breakpoints": [
        {"line": 12, "hitCondition": "== 3"},
        {"line": 13, "condition": "warp == 1 && %r2 == 5"},
        {"line": 15, "logMessage": "tid {tid.x}: {%r3}"},
        {"line": 16, "hitCondition": "never"},
        {"line": 400}]})["breakpoints"]
    assert [b["verified"] for b in said] == [True, True, True, False, False], said
    assert {b["line"] for b in a.ask("breakpointLocations", {
        "source": {"path": source}, "line": 1, "endLine": 14})["breakpoints"]} == {
            2, 5, 10, 12, 13}
    assert {os.path.basename(s["path"]) for s in a.ask("loadedSources")["sources"]} == {
        "k.cu", "k.ptx"}
    filters = a.ask("setExceptionBreakpoints", {"filters": ["trap", "nan"], "filterOptions": [
        {"filterId": "check", "condition": "race-shared"},
        {"filterId": "check", "condition": "nonsense"}]})["breakpoints"]
    assert sorted(b["verified"] for b in filters) == [False, True, True, True], filters
    assert a.stop("configurationDone")["reason"] == "breakpoint"
    threads = a.ask("threads")["threads"]
    assert len(threads) == 2
    first, second = (t["id"] for t in threads)
    assert a.line(first) == 12
    assert a.ask("evaluate", {"expression": "%r2"})["result"].endswith("= 2")
    # What was inlined has a frame of its own.
    a.ask("setBreakpoints", {"source": {"path": ptx}, "breakpoints": [
        {"line": line_of("mul.lo.u32 %r3")}]})
    a.stop("continue", {"threadId": first})
    whole = a.frames(first)
    names = [f["name"] for f in whole["stackFrames"]]
    assert names == ["cube (inlined)", "k"], names
    assert [f["line"] for f in whole["stackFrames"]] == [5, 12]
    assert whole["totalFrames"] == 2
    page = a.frames(first, startFrame=1, levels=1)
    assert page["stackFrames"] == whole["stackFrames"][1:] and page["totalFrames"] == 2
    a.ask("setBreakpoints", {"source": {"path": ptx}, "breakpoints": []})
    # An instruction, in a function that was called.
    call = a.ask("disassemble", {"memoryReference": "0x0", "instructionCount": 40})["instructions"]
    inside = next(i["address"] for i in call if i["instruction"].startswith("add.u32 %r2, %r1"))
    assert a.ask("setInstructionBreakpoints", {
        "breakpoints": [{"instructionReference": inside}]})["breakpoints"][0]["verified"]
    a.stop("continue", {"threadId": first})
    assert "tid 0: 0" in a.event("output")["output"]
    assert [f["name"] for f in a.frames(first)["stackFrames"]] == ["twice", "k"]
    a.stop("stepOut", {"threadId": first})
    assert len(a.frames(first)["stackFrames"]) == 1
    a.ask("setInstructionBreakpoints", {"breakpoints": []})
    # 0 / 0 of the first thread, then a race, a condition on the way, and the trap.
    reasons = []
    for _ in range(8):
        stop = a.stop("continue", {"threadId": first})
        info = None
        if stop["reason"] == "exception":
            info = a.ask("exceptionInfo", {"threadId": stop["threadId"]})
            assert info["breakMode"] == "always" and info["description"]
        else:
            a.ask("exceptionInfo", {"threadId": stop["threadId"]}, good=False)
        reasons.append((stop["reason"], info and info["exceptionId"], stop["threadId"]))
        if info and info["exceptionId"] == "trap":
            break
    assert ("exception", "nan", first) in reasons, reasons
    assert any(r[1] == "check" for r in reasons), reasons
    assert ("breakpoint", None, second) in reasons, reasons
    assert reasons[-1][1] == "trap", reasons
    # From a trap there is a way back.
    a.stop("stepBack", {"threadId": second})
    # Without the filter a trap ends the run.
    a.ask("setBreakpoints", {"source": {"path": source}, "breakpoints": []})
    a.ask("setExceptionBreakpoints", {"filters": []})
    a.ask("restart")
    assert a.event("exited")["exitCode"] == 1
    a.event("terminated")
    a.ask("disconnect")
    a.end()


def pauses(program, folder):
    """A loop of minutes: pause holds it, disconnect ends it."""
    with open(os.path.join(folder, "k.ptx"), "w") as f:
        f.write(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 o)\n"
                "{\n.reg .pred %p<2>; .reg .b64 %rd<4>;\nmov.u64 %rd1, 0;\nL:\n"
                "add.u64 %rd1, %rd1, 1;\nsetp.lt.u64 %p1, %rd1, 100000000000;\n@%p1 bra L;\n"
                "ret;\n}\n")
    launch = os.path.join(folder, "k.json")
    with open(launch, "w") as f:
        f.write(LAUNCH)
    a, _ = begin(program, launch)
    a.ask("configurationDone")
    a.client.send_request("pause", {"threadId": 1})
    a.flush()
    assert a.event("stopped")["reason"] == "pause"
    a.ask("continue", {"threadId": 1})
    a.client.send_request("disconnect")
    a.flush()
    a.process.stdin.close()
    assert a.process.wait(20) == 0


def broken(program):
    """What no client of the protocol sends neither hangs nor crashes the adapter."""
    def framed(body, length=None):
        body = body if isinstance(body, bytes) else body.encode()
        return b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body

    ask = '{"seq":1,"type":"request","command":"initialize"}'
    for data, answers in [
            (b"", 0), (b"\r\n\r\n", 0), (b"GET / HTTP/1.1\r\n\r\n", 0),
            (framed(ask, 10**12), 0), (framed(ask, 17 << 20), 0), (framed(ask, -5), 0),
            (b"Content-Length: x\r\n\r\n{}", 0), (b"Content-Length: 5", 0),
            (framed(ask, len(ask) + 50), 0),   # ends before its length
            (framed(ask, 10), 0),              # cut short: no JSON, and then no header
            (b"x" * 200000, 0), (b"\x00" * 5000, 0),
            (framed("{{{") + framed(ask), 1), (framed("[1,2") + framed(ask), 1),
            (framed("null") + framed("17") + framed('"x"') + framed(ask), 1),
            (framed("[" * 100000) + framed(ask), 1),
            (framed("[" * 100000 + "]" * 100000) + framed(ask), 1),
            (framed(b'{"seq":1,"type":"request","command":"\xff\xfe"}') + framed(ask), 1),
            (framed('{"type":"request"}') + framed(ask), 2),
            (framed('{"type":"request","command":7,"seq":"x","arguments":[]}') + framed(ask), 2),
            (framed('{"type":"request","seq":1,"command":"' + "y" * 1000000 + '"}'), 1),
            (framed('{"type":"request","seq":1,"command":"launch","arguments":{"program":"' +
                    "/x" * 100000 + '"}}') + framed(ask), 2),
            (framed(ask) * 200, 200)]:
        ended = subprocess.run([program, "dap"], input=data, capture_output=True, timeout=30)
        assert ended.returncode == 0, (data[:60], ended.returncode, ended.stderr)
        assert ended.stdout.count(b"Content-Length") == answers, (data[:60], ended.stdout[:300])


def main(program, launch):
    looks(program, launch)
    with tempfile.TemporaryDirectory() as folder:
        everything(program, os.path.realpath(folder))
        pauses(program, os.path.realpath(folder))
    broken(program)
    print("as expected")


main(*sys.argv[1:])
