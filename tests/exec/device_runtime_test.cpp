// SPDX-License-Identifier: Apache-2.0
// Functions of the device's runtime but launches: copies, fills, memory, streams, events,
// questions.
#include <cstring>

#include "tests/exec/device_support.hpp"

namespace lockwarp::exec::device_runtime_test {
namespace {

// One thread calls functions of the device's runtime. Of each: its name, the types and values of
// its arguments, its result's type, stored at out + 8 * its number. %out is `out`; what is stored
// where an argument points goes to %in, `out` + 32, %low or %high.
struct Called {
    std::string name;
    std::vector<std::pair<std::string, std::string>> arguments;
    std::string result = "b32";
};

std::string calls_of(const std::vector<Called>& calls) {
    std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    std::string body;
    size_t number = 0;
    for (const Called& c : calls) {
        std::string taken, passed, given;
        for (size_t k = 0; k < c.arguments.size(); ++k) {
            const auto& [type, value] = c.arguments[k];
            const std::string n = "a" + std::to_string(k), comma = k == 0 ? "" : ", ";
            taken += comma + ".param ." + type + " " + n;
            passed += comma + n;
            given += ".param ." + type + " " + n + "; ";
            given += "st.param." + type + " [" + n + "], " + value + ";\n";
        }
        const std::string declared = ".extern .func (.param ." + c.result + " r) " + c.name + "(";
        if (head.find(declared) == head.npos) head += declared + taken + ");\n";
        const std::string is = c.result == "b64" ? "%l" : "%r";
        body += "{ " + given + ".param ." + c.result + " r;\ncall (r), " + c.name + ", (" + passed +
                ");\nld.param." + c.result + " " + is + ", [r];\n}\nst.global." + c.result +
                " [%out+" + std::to_string(8 * number++) + "], " + is + ";\n";
    }
    return head + R"(.visible .entry child(.param .u64 a) { ret; }
.visible .entry parent(.param .u64 out)
{
.reg .b64 %out, %low, %in, %high, %child, %l; .reg .b32 %r;
ld.param.u64 %out, [out];
add.u64 %low, %out, 8; add.u64 %in, %out, 32; add.u64 %high, %out, 40;
)" + (body.find("%child") != body.npos ? "mov.u64 %child, child;\n" : "") +
           body + "ret;\n}\n";
}

using Arguments = std::vector<std::pair<std::string, std::string>>;

Called copy_of(const std::string& to, const std::string& from, const std::string& bytes,
               const std::string& kind = "3", const std::string& stream = "0") {
    return {"__cudaCDP2MemcpyAsync",
            {{"b64", to}, {"b64", from}, {"b64", bytes}, {"b32", kind}, {"b64", stream}}};
}

Called fill_of(const std::string& to, const std::string& value, const std::string& bytes,
               const std::string& stream = "0") {
    return {"__cudaCDP2MemsetAsync_ptsz",
            {{"b64", to}, {"b32", value}, {"b64", bytes}, {"b64", stream}}};
}

TEST(DeviceRuntime, CopiesAndFillsAreNoted) {
    const Ran ran = run_of(calls_of({copy_of("%out", "%in", "7"),
                                     fill_of("%in", "0x1ff", "9", "3"),
                                     {"__cudaCDP2Memcpy2DAsync",
                                      {{"b64", "%out"},
                                       {"b64", "16"},
                                       {"b64", "%in"},
                                       {"b64", "17"},
                                       {"b64", "5"},
                                       {"b64", "3"},
                                       {"b32", "4"},
                                       {"b64", "4"}}},
                                     {"__cudaCDP2Memset2DAsync",
                                      {{"b64", "%out"},
                                       {"b64", "8"},
                                       {"b32", "-2"},
                                       {"b64", "8"},
                                       {"b64", "2"},
                                       {"b64", "0"}}}}),
                           1, 1);
    ASSERT_EQ(fault_of(ran.result), "");
    for (const size_t k : {0, 2, 4, 6}) EXPECT_EQ(ran.errors[k], 0u) << k;
    using warp::DeviceWork;
    struct Expected {
        DeviceWork work;
        warp::DeviceRows rows;
        bool last;
    };
    const uint64_t out = buffer_address(1), in = out + 32;
    const std::vector<Expected> expected{{DeviceWork::copy, {out, 0, in, 0, 7, 1, 0}, false},
                                         {DeviceWork::fill, {in, 0, 0, 0, 9, 1, 0xff}, true},
                                         {DeviceWork::copy, {out, 16, in, 17, 5, 3, 0}, false},
                                         {DeviceWork::fill, {out, 8, 0, 0, 8, 2, 0xfe}, false}};
    ASSERT_EQ(ran.result.launches.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
        const warp::DeviceLaunch& is = ran.result.launches[k];
        const warp::DeviceRows& r = expected[k].rows;
        EXPECT_EQ(is.work, expected[k].work) << k;
        EXPECT_EQ(is.last, expected[k].last) << k;
        EXPECT_EQ((std::array{is.rows.to, is.rows.to_pitch, is.rows.from, is.rows.from_pitch}),
                  (std::array{r.to, r.to_pitch, r.from, r.from_pitch}))
            << k;
        EXPECT_EQ((std::array{is.rows.width, is.rows.height, uint64_t{is.rows.value}}),
                  (std::array{r.width, r.height, uint64_t{r.value}}))
            << k;
    }
}

// As an H200 answers.
TEST(DeviceRuntime, WrongCopies) {
    const std::string shared = std::to_string(isa::shared_window + 8);
    const std::string local = std::to_string(isa::local_window + 8);
    const std::string constant = std::to_string(isa::const_window + 8);
    struct Case {
        Called call;
        uint32_t error;
        size_t launches = 0;
    };
    for (const Case& c : {Case{copy_of("%out", "%in", "8", "1"), 21},
                          {copy_of("%out", "%in", "8", "5"), 21},
                          {copy_of("%out", "%in", "0", "1"), 0},
                          {copy_of("0", "%in", "8"), 1},
                          {copy_of("%out", "0", "8"), 1},
                          {copy_of("0", "0", "0"), 0},
                          {copy_of("%out", shared, "8"), 1},
                          {copy_of(local, "%in", "8"), 1},
                          {copy_of("%out", constant, "8"), 0, 1},
                          {copy_of("%out", std::to_string(isa::param_window), "8"), 0, 1},
                          {copy_of("%out", "%in", "8", "4", "77"), 999},
                          {fill_of("0", "1", "8"), 1},
                          {fill_of("0", "1", "0"), 0},
                          {fill_of(shared, "1", "8"), 1},
                          {fill_of("%out", "1", "8", "77"), 999}}) {
        const Ran ran = run_of(calls_of({c.call}), 1, 1);
        EXPECT_EQ(ran.errors[0], c.error) << calls_of({c.call});
        EXPECT_EQ(ran.result.launches.size(), c.launches) << calls_of({c.call});
    }
    const auto rows = [](const std::string& pitch, const std::string& height) {
        return std::vector<Called>{{"__cudaCDP2Memcpy2DAsync",
                                    {{"b64", "%out"},
                                     {"b64", "8"},
                                     {"b64", "%in"},
                                     {"b64", pitch},
                                     {"b64", "8"},
                                     {"b64", height},
                                     {"b32", "3"},
                                     {"b64", "0"}}},
                                   {"__cudaCDP2Memset2DAsync",
                                    {{"b64", "%out"},
                                     {"b64", pitch},
                                     {"b32", "0"},
                                     {"b64", "8"},
                                     {"b64", height},
                                     {"b64", "0"}}}};
    };
    const auto errors = [&](const std::string& pitch, const std::string& height) {
        const Ran ran = run_of(calls_of(rows(pitch, height)), 1, 1);
        const bool any = ran.errors[0] == 0 && height != "0";
        EXPECT_EQ(ran.result.launches.size(), any ? 2u : 0u);
        return std::pair{ran.errors[0], ran.errors[2]};
    };
    EXPECT_EQ(errors("7", "2"), std::pair(12u, 1u));
    EXPECT_EQ(errors("8", "2"), std::pair(0u, 0u));
    EXPECT_EQ(errors("7", "1"), std::pair(0u, 0u));
    EXPECT_EQ(errors("7", "0"), std::pair(0u, 0u));
    for (Called c : rows("8", "2")) {
        c.arguments.back().second = "77";
        EXPECT_EQ(run_of(calls_of({c}), 1, 1).errors[0], 999u);
        c.arguments.back().second = "3";
        EXPECT_TRUE(run_of(calls_of({c}), 1, 1).result.launches.at(0).last);
    }
}

TEST(DeviceRuntime, WhoeverLooksAtLaunchesAnswers) {
    const auto with = [](const std::string& name, const Arguments& arguments) {
        return run_of(calls_of({{name, arguments}}), 1, 1).errors;
    };
    Words w = with("__cudaCDP2DeviceGetLimit", {{"b64", "%in"}, {"b32", "2"}});
    EXPECT_EQ((std::array{w[0], w[8], w[9]}), (std::array{0u, 1002u, 0u}));
    w = with("__cudaCDP2DeviceGetAttribute", {{"b64", "%in"}, {"b32", "7"}, {"b32", "0"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{0u, 0x03020107u}));
    w = with("__cudaCDP2DeviceGetAttribute", {{"b64", "%in"}, {"b32", "7"}, {"b32", "1"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{101u, 0xeeeeeeeeu}));
    w = with("__cudaCDP2FuncGetAttributes", {{"b64", "%low"}, {"b64", "%child"}});
    EXPECT_EQ((std::array{w[0], w[2], w[11], w[12]}),
              (std::array{0u, 0x09090905u, 0x01090909u, 0xeeeeeeeeu}));
    w = with("__cudaCDP2FuncGetAttributes", {{"b64", "%in"}, {"b64", "0"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{1u, 0xeeeeeeeeu}));
    const std::string occupancy = "__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor";
    w = with(occupancy, {{"b64", "%in"}, {"b64", "%child"}, {"b32", "32"}, {"b64", "100"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{0u, 137u}));
    w = with(occupancy + "WithFlags",
             {{"b64", "%in"}, {"b64", "%child"}, {"b32", "0"}, {"b64", "100"}, {"b32", "1"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{1u, 105u}));
    const Ran bad = run_of(
        calls_of({{occupancy, {{"b64", "%in"}, {"b64", "64"}, {"b32", "1"}, {"b64", "0"}}}}), 1, 1);
    EXPECT_NE(fault_of(bad.result).find("the address is no kernel's"), std::string::npos);
    EXPECT_NE(fault_of(bad.result).find("address 0x40,"), std::string::npos);
}

// It lies where a kernel may read it, and where it lay before.
TEST(DeviceRuntime, TextsOfErrors) {
    const std::string text = "__cudaCDP2GetErrorString", name = "__cudaCDP2GetErrorName";
    std::string module = calls_of({{text, {{"b32", "9"}}, "b64"},
                                   {text, {{"b32", "9"}}, "b64"},
                                   {name, {{"b32", "9"}}, "b64"},
                                   {text, {{"b32", "10"}}, "b64"}});
    module.replace(module.rfind("ret;"), 4,
                   "ld.global.u64 %in, [%out+16]; ld.u32 %r, [%in]; st.global.u32 [%out+32], %r; "
                   "ld.global.u64 %in, [%out]; ld.v2.u32 {%r, %r2}, [%in]; "
                   "st.global.v2.u32 [%out+40], {%r, %r2}; ret;");
    module.replace(module.find(".reg .b32 %r;"), 13, ".reg .b32 %r, %r2;");
    const Words w = run_of(module, 1, 1).errors;
    const auto address = [&](size_t k) { return w[2 * k] | uint64_t{w[2 * k + 1]} << 32; };
    EXPECT_EQ(address(0), address(1));
    EXPECT_NE(address(0), address(2));
    EXPECT_NE(address(0), address(3));
    EXPECT_NE(address(0), 0u);
    EXPECT_EQ(w[8], 0x656d616eu);   // "name"
    EXPECT_EQ(w[10], 0x74786574u);  // "text"
    EXPECT_EQ(w[11], 0x3920u);      // " 9", and the end
}

TEST(DeviceRuntime, Memory) {
    const Words w =
        run_of(calls_of({{"__cudaCDP2Malloc", {{"b64", "%in"}, {"b64", "64"}}},
                         {"__cudaCDP2Malloc", {{"b64", "%high"}, {"b64", "0"}}},
                         {"__cudaCDP2Malloc", {{"b64", "0"}, {"b64", "64"}}},
                         {"__cudaCDP2Malloc", {{"b64", "%high"}, {"b64", "1099511627776"}}}}),
               1, 1)
            .errors;
    EXPECT_EQ((std::array{w[0], w[2], w[4], w[6]}), (std::array{0u, 1u, 1u, 2u}));
    EXPECT_EQ(w[8] | uint64_t{w[9]} << 32, isa::heap_base);
    EXPECT_EQ(w[10], 0xeeeeeeeeu);
    EXPECT_EQ(run_of(calls_of({{"__cudaCDP2Free", {{"b64", "0"}}}}), 1, 1).errors[0], 0u);
    const Ran bad = run_of(calls_of({{"__cudaCDP2Free", {{"b64", "%out"}}}}), 1, 1);
    EXPECT_NE(fault_of(bad.result).find("malloc did not return"), std::string::npos);
}

Called stream_at(const std::string& at, const std::string& flags = "1") {
    return {"__cudaCDP2StreamCreateWithFlags", {{"b64", at}, {"b32", flags}}};
}
Called event_at(const std::string& at, const std::string& flags = "2") {
    return {"__cudaCDP2EventCreateWithFlags", {{"b64", at}, {"b32", flags}}};
}
Called record_of(const std::string& event, const std::string& stream) {
    return {"__cudaCDP2EventRecord", {{"b64", event}, {"b64", stream}}};
}
Called wait_of(const std::string& stream, const std::string& event) {
    return {"__cudaCDP2StreamWaitEvent", {{"b64", stream}, {"b64", event}, {"b32", "9"}}};
}

// Handles are those of one CTA, from 65537 on.
TEST(DeviceRuntime, StreamsAndEvents) {
    const auto errors = [](const std::vector<Called>& calls) {
        const Words w = run_of(calls_of(calls), 1, 1).errors;
        Words out;
        for (size_t k = 0; k < calls.size(); ++k) out.push_back(w[2 * k]);
        return out;
    };
    const Called stream = stream_at("%in"), event = event_at("%in");
    const Called end_stream{"__cudaCDP2StreamDestroy", {{"b64", "65537"}}};
    const Called end_event{"__cudaCDP2EventDestroy", {{"b64", "65537"}}};
    EXPECT_EQ(errors({stream, end_stream, end_stream}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({event, end_event, end_event}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({stream, end_event}), (Words{0, 1}));
    EXPECT_EQ(errors({event, end_stream}), (Words{0, 1}));
    EXPECT_EQ(
        errors({event, record_of("65537", "0"), record_of("65537", "77"), wait_of("77", "65537")}),
        (Words{0, 0, 1, 1}));
    EXPECT_EQ(errors({event, wait_of("0", "65537"), record_of("65537", "3")}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({stream, event, record_of("65538", "65537"), wait_of("65537", "65538")}),
              (Words{0, 0, 0, 0}));
    EXPECT_EQ(errors({stream, copy_of("%out", "%in", "8", "4", "65537"), end_stream,
                      copy_of("%out", "%in", "8", "4", "65537")}),
              (Words{0, 0, 0, 999}));
    EXPECT_EQ(errors({stream_at("%in", "0"), stream_at("%in", "3"), event_at("%in", "0"),
                      event_at("%in", "3")}),
              (Words{1, 1, 1, 1}));

    const Words w = run_of(calls_of({stream, event_at("%high")}), 1, 1).errors;
    EXPECT_EQ((Words{w[8], w[9], w[10], w[11]}), (Words{65537, 0, 65538, 0}));
    EXPECT_EQ(run_of(calls_of({stream}), 1, 1).errors[10], 0xeeeeeeeeu);
    const Words none = run_of(calls_of({stream_at("%in", "0")}), 1, 1).errors;
    EXPECT_EQ(none[8], 0xeeeeeeeeu);

    for (const Called& c : {record_of("65539", "0"), wait_of("0", "65539")})
        EXPECT_NE(fault_of(run_of(calls_of({event, c}), 1, 1).result)
                      .find("an event that cudaEventCreateWithFlags did not give"),
                  std::string::npos);
}

TEST(DeviceRuntime, Numbers) {
    const Words w = run_of(calls_of({{"__cudaCDP2GetDevice", {{"b64", "%in"}}},
                                     {"__cudaCDP2GetDeviceCount", {{"b64", "%high"}}}}),
                           1, 1)
                        .errors;
    EXPECT_EQ((Words{w[0], w[2], w[8], w[9], w[10], w[11]}),
              (Words{0, 0, 0, 0xeeeeeeee, 1, 0xeeeeeeee}));
    const Words version =
        run_of(calls_of({{"__cudaCDP2RuntimeGetVersion", {{"b64", "%in"}}}}), 1, 1).errors;
    EXPECT_EQ((Words{version[0], version[8]}), (Words{0, 6000}));
    // Of these a launch has no need of anybody that looks at it.
    EXPECT_EQ(run_of(calls_of({{"__cudaCDP2RuntimeGetVersion", {{"b64", "%in"}}}}), 1, 1, false)
                  .errors[8],
              6000u);
}

// Each thread's results lie 32 bytes behind the last one's; %l is its number.
std::string calls_of_threads(const std::vector<Called>& calls) {
    std::string module = calls_of(calls);
    module.replace(module.find("add.u64 %low"), 0,
                   "mov.u32 %r, %tid.x; cvt.u64.u32 %l, %r; mad.lo.u64 %out, %l, 32, %out; ");
    return module;
}

// A thread's last error is its own, and asking for it ends it.
TEST(DeviceRuntime, EachThreadHasItsErrors) {
    const Called last{"__cudaCDP2GetLastError", {}}, peek{"__cudaCDP2PeekAtLastError", {}};
    const Called wrong = copy_of("%in", "%high", "%l", "1");  // but of no bytes
    const auto of = [](const Ran& ran, size_t lane) {
        return Words(ran.errors.begin() + 8 * lane, ran.errors.begin() + 8 * lane + 8);
    };
    const Ran ran = run_of(calls_of_threads({wrong, peek, last, last}), 1, 40);
    const Ran kept = run_of(calls_of_threads({peek, wrong, peek}), 1, 40);
    ASSERT_EQ(fault_of(ran.result) + fault_of(kept.result), "");
    for (size_t lane = 0; lane < 40; ++lane) {
        const uint32_t error = lane == 0 ? 0 : 21;
        const Words w = of(ran, lane), k = of(kept, lane);
        EXPECT_EQ((Words{w[0], w[2], w[4], w[6]}), (Words{error, error, error, 0})) << lane;
        EXPECT_EQ((Words{k[0], k[2], k[4]}), (Words{0, error, error})) << lane;
    }
    const Ran handles = run_of(calls_of_threads({stream_at("%low")}), 1, 40);
    for (uint32_t lane = 0; lane < 40; ++lane) EXPECT_EQ(of(handles, lane)[2], 65537 + lane);
}

}  // namespace
}  // namespace lockwarp::exec::device_runtime_test
