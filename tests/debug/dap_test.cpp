// SPDX-License-Identifier: Apache-2.0
// The Debug Adapter Protocol's messages.
#include "debug/dap.hpp"

#include "tests/debug/sessions.hpp"

namespace lockwarp::debug {
namespace {

struct Client {
    std::vector<Json> sent;
    std::atomic<bool> wish{false};
    DapServer server{[this](const Json& m) { sent.push_back(m); }, &wish};
    int seq = 0;

    // The response's body; the events that followed are in `events`.
    Json ask(const std::string& command, Json arguments = Json::object(), bool good = true) {
        sent.clear();
        server.handle({{"seq", ++seq},
                       {"type", "request"},
                       {"command", command},
                       {"arguments", std::move(arguments)}});
        for (const Json& m : sent) {
            if (m["type"] != "response") continue;
            EXPECT_EQ(m["request_seq"], seq);
            EXPECT_EQ(m["command"], command);
            EXPECT_EQ(m["success"], good) << m.dump();
            return m.value("body", Json::object());
        }
        ADD_FAILURE() << command << " was not answered";
        return {};
    }
    Json event(const std::string& name) const {
        for (const Json& m : sent)
            if (m["type"] == "event" && m["event"] == name) return m["body"];
        return {};
    }
};

const std::string gemm = LOCKWARP_SOURCE_DIR "/gpu/kernels/mma_ldmatrix.json";
const std::string ptx = LOCKWARP_SOURCE_DIR "/gpu/kernels/mma_ldmatrix.sm_80.ptx";

TEST(Dap, ASessionOfAnEditor) {
    Client c;
    EXPECT_EQ(c.ask("initialize")["supportsStepBack"], true);
    c.ask("launch", {{"program", gemm}});
    EXPECT_FALSE(c.event("initialized").is_null());
    const Json set =
        c.ask("setBreakpoints", {{"source", {{"path", ptx}}}, {"breakpoints", {{{"line", 90}}}}});
    ASSERT_EQ(set["breakpoints"].size(), 1u);
    EXPECT_EQ(set["breakpoints"][0]["verified"], true);
    EXPECT_EQ(set["breakpoints"][0]["line"], 90);
    c.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "mma"}}}}});
    c.ask("configurationDone");
    const Json stopped = c.event("stopped");
    EXPECT_EQ(stopped["reason"], "breakpoint");
    const Json threads = c.ask("threads")["threads"];
    ASSERT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads[0]["name"], "CTA (0,0,0) warp 0");
    const Json id = threads[0]["id"];
    EXPECT_EQ(stopped["threadId"], id);
    Json frames = c.ask("stackTrace", {{"threadId", id}})["stackFrames"];
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0]["line"], 90);
    EXPECT_EQ(frames[0]["source"]["path"], ptx);
    c.ask("continue", {{"threadId", id}});
    frames = c.ask("stackTrace", {{"threadId", id}})["stackFrames"];
    EXPECT_EQ(frames[0]["line"], 92);
    const Json scopes = c.ask("scopes", {{"frameId", frames[0]["id"]}})["scopes"];
    ASSERT_EQ(scopes.size(), 5u);
    EXPECT_EQ(scopes[2]["name"], "Fragment");
    Json operands =
        c.ask("variables", {{"variablesReference", scopes[2]["variablesReference"]}})["variables"];
    ASSERT_EQ(operands.size(), 4u);
    EXPECT_EQ(operands[0]["name"], "A");
    const Json rows = c.ask(
        "variables", {{"variablesReference", operands[0]["variablesReference"]}})["variables"];
    ASSERT_EQ(rows.size(), 16u);
    const Json row =
        c.ask("variables", {{"variablesReference", rows[3]["variablesReference"]}})["variables"];
    ASSERT_EQ(row.size(), 16u);
    EXPECT_EQ(row[0]["value"], "0.47998  lane 12, register 0");
    const Json registers =
        c.ask("variables", {{"variablesReference", scopes[0]["variablesReference"]}})["variables"];
    EXPECT_GT(registers.size(), 30u);
    const Json lanes = c.ask(
        "variables", {{"variablesReference", registers[0]["variablesReference"]}})["variables"];
    EXPECT_EQ(lanes.size(), 32u);
    const Json shared =
        c.ask("variables", {{"variablesReference", scopes[3]["variablesReference"]}})["variables"];
    ASSERT_EQ(shared.size(), 3u);
    const Json memory =
        c.ask("readMemory", {{"memoryReference", shared[2]["memoryReference"]}, {"count", 2000}});
    EXPECT_EQ(memory["unreadableBytes"], 2000 - 768);
    EXPECT_EQ(c.ask("evaluate", {{"expression", "%r1"}})["type"], "f16x2");
    EXPECT_NE(c.ask("evaluate", {{"expression", "frag B"}, {"context", "repl"}})["result"]
                  .get<std::string>()
                  .find("16 x 8 f16"),
              std::string::npos);
    const Json listing =
        c.ask("disassemble", {{"memoryReference", frames[0]["instructionPointerReference"]},
                              {"instructionOffset", -2},
                              {"instructionCount", 5}})["instructions"];
    ASSERT_EQ(listing.size(), 5u);
    EXPECT_EQ(listing[2]["line"], 92);
    c.ask("next", {{"threadId", id}});
    EXPECT_EQ(c.event("stopped")["reason"], "step");
    c.ask("stepBack", {{"threadId", id}});
    frames = c.ask("stackTrace", {{"threadId", id}})["stackFrames"];
    EXPECT_EQ(frames[0]["line"], 92);
    c.ask("reverseContinue", {{"threadId", id}});
    frames = c.ask("stackTrace", {{"threadId", id}})["stackFrames"];
    EXPECT_EQ(frames[0]["line"], 90);
    EXPECT_EQ(c.ask("dataBreakpointInfo", {{"name", "%r9"}})["dataId"], "%r9");
    EXPECT_EQ(c.ask("setDataBreakpoints",
                    {{"breakpoints", {{{"dataId", "%r9"}}}}})["breakpoints"][0]["verified"],
              true);
    c.ask("setFunctionBreakpoints", {{"breakpoints", Json::array()}});
    c.ask("continue", {{"threadId", id}});
    EXPECT_EQ(c.event("stopped")["reason"], "data breakpoint");
    c.ask("setDataBreakpoints", {{"breakpoints", Json::array()}});
    c.ask("continue", {{"threadId", id}});
    EXPECT_FALSE(c.event("terminated").is_null());
    c.ask("disconnect");
    EXPECT_TRUE(c.server.is_done());
}

TEST(Dap, StopsWhereTheProgramTrapsAndAtTheEntry) {
    Sessions s("ld.param.u64 %rd1, [k_out];\nst.global.u32 [%rd1+8192], 1;\nret;", 1, 32);
    Client c;
    c.ask("launch", {{"program", (s.folder->path / "k.json").string()}, {"stopOnEntry", true}});
    c.ask("configurationDone");
    EXPECT_EQ(c.event("stopped")["reason"], "entry");
    c.ask("setInstructionBreakpoints", {{"breakpoints", {{{"instructionReference", "0x1"}}}}});
    c.ask("continue");
    EXPECT_EQ(c.event("stopped")["reason"], "breakpoint");
    c.ask("continue");
    EXPECT_EQ(c.event("stopped")["reason"], "exception");
    EXPECT_EQ(c.event("stopped")["text"], "address out of bounds");
}

TEST(Dap, ExceptionsLogPointsAndPages) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"             // 7
        "cvt.rn.f32.u32 %f1, %r1;\n"         // 8
        "div.rn.f32 %f2, %f1, %f1;\n"        // 9: a NaN in lane 0
        "ld.param.u64 %rd1, [k_out];\n"      // 10
        "st.global.u32 [%rd1], %r2;\n"       // 11: nothing has written %r2
        "st.global.u32 [%rd1+8192], %r1;\n"  // 12
        "ret;",
        1, 32);
    Client c;
    c.ask("launch", {{"program", (s.folder->path / "k.json").string()}});
    const Json set =
        c.ask("setBreakpoints", {{"source", {{"path", (s.folder->path / "k.ptx").string()}}},
                                 {"breakpoints",
                                  {{{"line", 8}, {"logMessage", "lane {lane} of {%r1"}},
                                   {{"line", 9}, {"logMessage", "{lane * 2} {%f1}"}},
                                   {{"line", 10}, {"hitCondition", "sometimes"}}}}})["breakpoints"];
    EXPECT_EQ(set[0]["verified"], true);
    EXPECT_EQ(set[2]["verified"], false);
    const Json filters = c.ask("setExceptionBreakpoints",
                               {{"filters", {"trap", "nan", "nothing"}},
                                {"filterOptions", {{{"filterId", "check"}}}}})["breakpoints"];
    ASSERT_EQ(filters.size(), 4u);
    c.ask("exceptionInfo", {}, false);
    c.ask("configurationDone");
    EXPECT_EQ(c.event("output")["output"], "lane 0 of {%r1\n");
    EXPECT_EQ(c.event("stopped")["reason"], "exception");
    EXPECT_EQ(c.ask("exceptionInfo")["exceptionId"], "nan");
    c.ask("continue");
    Json info = c.ask("exceptionInfo");
    EXPECT_EQ(info["exceptionId"], "check");
    EXPECT_NE(info["description"].get<std::string>().find("[uninitialised/stored]"),
              std::string::npos);
    c.ask("continue");
    EXPECT_EQ(c.event("stopped")["reason"], "exception");
    info = c.ask("exceptionInfo");
    EXPECT_EQ(info["exceptionId"], "trap");
    EXPECT_EQ(info["details"]["message"], info["description"]);
    // To a line before it there is no way forwards.
    const Json source{{"path", (s.folder->path / "k.ptx").string()}};
    const Json targets = c.ask("gotoTargets", {{"source", source}, {"line", 11}})["targets"];
    ASSERT_EQ(targets.size(), 1u);
    c.ask("goto", {{"threadId", 1}, {"targetId", 999}}, false);
    EXPECT_EQ(c.ask("breakpointLocations",
                    {{"source", source}, {"line", 8}, {"endLine", 10}})["breakpoints"]
                  .size(),
              3u);
    EXPECT_EQ(c.ask("loadedSources")["sources"].size(), 1u);
    // Traps that the client does not want to be held at end the run.
    c.ask("setExceptionBreakpoints", {{"filters", Json::array()}});
    c.ask("restart");
    EXPECT_EQ(c.event("exited")["exitCode"], 1);
    EXPECT_FALSE(c.event("terminated").is_null());
    c.ask("terminate");
    EXPECT_FALSE(c.server.is_done());
    c.ask("threads", {}, false);
    c.ask("disconnect");
    EXPECT_TRUE(c.server.is_done());
}

TEST(Dap, AnythingIsAnswered) {
    Client c;
    for (const char* command : {"threads", "continue", "frobnicate", "variables"})
        c.ask(command, {}, false);
    c.ask("launch", Json::object(), false);
    c.ask("launch", {{"program", "/nonexistent.json"}}, false);
    c.ask("launch", {{"program", 7}}, false);
    c.ask("launch", {{"program", gemm}});
    c.ask("continue", {}, false);  // nothing runs yet
    c.ask("threads");
    c.ask("configurationDone");
    const std::vector<Json> odd{
        Json::array(),         "x", -1, 1e300, nullptr, {{"a", 1}}, 9223372036854775807,
        std::string(5000, 'x')};
    for (const char* command :
         {"setBreakpoints", "setFunctionBreakpoints", "setInstructionBreakpoints",
          "setExceptionBreakpoints", "dataBreakpointInfo", "setDataBreakpoints", "stackTrace",
          "scopes", "variables", "evaluate", "readMemory", "disassemble", "source", "completions",
          "gotoTargets", "goto", "exceptionInfo", "breakpointLocations", "loadedSources"})
        for (const char* field : {"source",
                                  "breakpoints",
                                  "threadId",
                                  "frameId",
                                  "expression",
                                  "variablesReference",
                                  "memoryReference",
                                  "count",
                                  "offset",
                                  "instructionCount",
                                  "instructionOffset",
                                  "filters",
                                  "filterOptions",
                                  "name",
                                  "text",
                                  "line",
                                  "endLine",
                                  "targetId",
                                  "start",
                                  "levels"})
            for (const Json& value : odd) {
                c.sent.clear();
                c.server.handle({{"seq", 1},
                                 {"type", "request"},
                                 {"command", command},
                                 {"arguments", {{field, value}}}});
                EXPECT_FALSE(c.sent.empty()) << command << " " << field << " " << value.dump();
            }
    for (const Json& value : odd) c.server.handle(value);
}

}  // namespace
}  // namespace lockwarp::debug
