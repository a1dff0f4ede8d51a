// SPDX-License-Identifier: Apache-2.0
// lockwarp debug, diff, trace, dap and run --at as processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/debug/sessions.hpp"

namespace lockwarp::tools {
namespace {

const std::string kernels = LOCKWARP_SOURCE_DIR "/gpu/kernels/";

TEST(DebugCommand, ScriptsAndExitStatuses) {
    const Folder folder;
    folder.write("script", "# a remark\nb mma\nrun\n\nwarp\n");
    const std::string file = kernels + "mma_ldmatrix.json";
    Ended e = run(folder, {"debug", file, "--batch", "-x", "script", "-ex", "p %r9"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_NE(e.out.find("Breakpoint 1 at mma"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("%r9 = 0x00000000"), std::string::npos) << e.out;
    e = run(folder, {"debug", file, "-batch", "-ex", "nonsense", "-ex", "run"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.out.find("over"), std::string::npos) << e.out;
    e = run(folder, {"debug", "nothing.json", "--batch"});
    EXPECT_EQ(e.status, 2);
    folder.write("t.ptx",
                 ".version 8.0\n.target sm_80\n.address_size 64\n"
                 ".visible .entry k()\n{\ntrap;\n}\n");
    folder.write("t.json", R"({"schema": "lockwarp-launch/1", "ptx": "t.ptx", "entry": "k",
 "grid": [1, 1, 1], "block": [32, 1, 1], "buffers": {}, "args": [], "outputs": []})");
    e = run(folder, {"debug", "t.json", "--batch", "-ex", "run"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("t.ptx:6"), std::string::npos) << e.out;
}

TEST(DebugCommand, OneLookAtAFragment) {
    const Folder folder;
    const Ended e = run(folder, {"run", kernels + "mma_ldmatrix.json", "--at", "92", "--show",
                                 "D,A,%r1", "--lane", "3"});
    EXPECT_EQ(e.status, 0) << e.err;
    const size_t a = e.out.find("A of mma.m16n8k16");
    const size_t d = e.out.find("D of mma.m16n8k16");
    EXPECT_LT(a, d) << e.out;
    EXPECT_NE(d, std::string::npos) << e.out;
    EXPECT_NE(e.out.find("%r1 (f16x2)"), std::string::npos) << e.out;
    // Of the product that is named, as run takes it.
    for (const auto& [product, says] :
         {std::pair("D=A*B:16x8x16:f16:f16", "It should be columns 0-7 and k 0-15 of B; 126 of"),
          std::pair("D=A*B':16x8x16:f16:f16", "As it should be: columns 0-7 and k 0-15 of B.")}) {
        const Ended looked = run_here(folder, {"run", kernels + "mma_ldmatrix.json", "--at", "92",
                                               "--show", "B", "--product", product});
        EXPECT_EQ(looked.status, 0) << looked.err;
        EXPECT_NE(looked.out.find(says), std::string::npos) << looked.out;
    }
}

TEST(DebugCommand, TracesWhatIsAskedFor) {
    const Folder folder;
    Ended e = run(folder, {"trace", kernels + "mma_ldmatrix.json", "--instruction", "mma", "--lane",
                           "0,5", "--register", "%r9"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(std::ranges::count(e.out, '\n'), 3) << e.out;
    EXPECT_NE(e.out.find("\t92\t5\tmma.sync"), std::string::npos) << e.out;
    e = run(folder, {"trace", kernels + "gemm_sm80.json", "--cta", "1,0,0", "--warp", "2", "--line",
                     "760", "--output", "t.tsv"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_NE(folder.read("t.tsv").find("\t1\t2\t"), std::string::npos);
    e = run(folder, {"trace", kernels + "mma_ldmatrix.json", "--line", "1"});
    EXPECT_EQ(e.status, 2);
    EXPECT_NE(e.err.find("no instruction is of this choice"), std::string::npos) << e.err;
}

TEST(DebugCommand, DifferencesBetweenTwoRuns) {
    const Folder folder;
    const std::string file = kernels + "mma_ldmatrix.json";
    Ended e = run(folder, {"diff", file, file});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("identical")) << e.out;
    e = run(folder, {"diff", file, "--arch", "sm_80,sm_90"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_NE(e.out.find("mma_ldmatrix.sm_80.ptx:92  mma.sync"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("Left out: "), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("elements differ"), std::string::npos) << e.out;
    // Another program: the one with b0 and b1 changed.
    std::ifstream in(kernels + "mma_ldmatrix.sm_80.ptx");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t at = text.find("{%r6, %r7}, {%r9");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 10, "{%r7, %r6}");
    folder.write("mma_ldmatrix.sm_80.ptx", text);
    std::ifstream json(file);
    folder.write("wrong.json", std::string((std::istreambuf_iterator<char>(json)), {}));
    e = run(folder, {"diff", file, "wrong.json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_NE(e.out.find("%r9"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("Where %r9 of lane 0 comes from"), std::string::npos) << e.out;
    // Two sources of one launch file.
    e = run(folder, {"diff", kernels + "mma_ldmatrix.sm_80.ptx", "mma_ldmatrix.sm_80.ptx", file});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_NE(e.out.find("The first register that differs: CTA (0,0,0) warp 0"), std::string::npos)
        << e.out;
    EXPECT_NE(e.out.find("mma_ldmatrix.sm_80.ptx:92"), std::string::npos) << e.out;
    e = run(folder, {"diff", file});
    EXPECT_EQ(e.status, 2);
    const std::string ptx = kernels + "mma_ldmatrix.sm_80.ptx";
    e = run_here(folder, {"diff", ptx, file});
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(e.err.starts_with("error: one launch file is compared on two architectures"))
        << e.err;
    for (const std::vector<std::string>& files : std::initializer_list<std::vector<std::string>>{
             {file, file, file}, {file, ptx, file}, {ptx, file, file}, {ptx, ptx, ptx, file}}) {
        std::vector<std::string> words{"diff"};
        words.insert(words.end(), files.begin(), files.end());
        e = run_here(folder, words);
        EXPECT_EQ(e.status, 2);
        EXPECT_EQ(e.err,
                  "error: diff takes one launch file or two, or two sources and a launch file\n");
    }
}

// A warp's word is read by the other without a barrier: some order of warps gives another result.
TEST(DebugCommand, DifferencesBetweenTwoOrders) {
    const Folder folder;
    const auto write = [&](const char* barrier) {
        folder.write("k.ptx", std::string(".version 8.0\n.target sm_80\n.address_size 64\n"
                                          ".visible .entry k(.param .u64 o)\n{\n"
                                          ".reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
                                          ".shared .align 4 .b8 tile[256];\n"
                                          "mov.u32 %r1, %tid.x;\n"
                                          "mov.u32 %r2, tile;\n"
                                          "mad.lo.u32 %r3, %r1, 4, %r2;\n"
                                          "add.u32 %r4, %r1, 1000;\n"
                                          "st.shared.u32 [%r3], %r4;\n") +
                                  barrier +
                                  "xor.b32 %r5, %r1, 32;\n"
                                  "mad.lo.u32 %r6, %r5, 4, %r2;\n"
                                  "ld.shared.u32 %r7, [%r6];\n"
                                  "ld.param.u64 %rd1, [o];\n"
                                  "mul.wide.u32 %rd2, %r1, 4;\n"
                                  "add.u64 %rd1, %rd1, %rd2;\n"
                                  "st.global.u32 [%rd1], %r7;\n"
                                  "ret;\n}\n");
    };
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
 "grid": [1, 1, 1], "block": [64, 1, 1], "buffers": {"o": {"bytes": 256, "init": {"fill": 0}}},
 "args": [{"buffer": "o"}], "outputs": ["o"]})");
    write("");
    int different = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        const Ended e = run(folder, {"diff", "k.json", "--order", std::to_string(seed)});
        if (e.status == 0) continue;
        ++different;
        EXPECT_EQ(e.status, 1) << e.err;
        EXPECT_NE(e.out.find("ld.shared.u32 %r7, [%r6];"), std::string::npos) << e.out;
        EXPECT_NE(e.out.find("(the usual order | order " + std::to_string(seed) + ")"),
                  std::string::npos)
            << e.out;
        EXPECT_NE(e.out.find("never written before"), std::string::npos) << e.out;
        EXPECT_NE(e.out.find("st.shared.u32 [%r3], %r4;"), std::string::npos) << e.out;
    }
    EXPECT_GT(different, 0);
    different = 0;
    for (const char* orders : {"1,2", "3,14", "15,9", "10,11"}) {
        const Ended e = run_here(folder, {"diff", "k.json", "--order", orders});
        std::string names = "(order " + std::string(orders) + ")";
        names.replace(names.find(','), 1, " | order ");
        EXPECT_EQ(e.out.find(names) != std::string::npos, e.status == 1) << e.out << e.err;
        different += e.status == 1;
    }
    EXPECT_GT(different, 0);
    Ended e;
    for (const std::string orders : {"x", "1,x", "x,1", "1,", ",1", "1,2,3"}) {
        e = run_here(folder, {"diff", "k.json", "--order", orders});
        EXPECT_EQ(e.status, 2) << orders;
        EXPECT_NE(e.err.find("--order " + orders + ": a seed, or two with a comma"),
                  std::string::npos)
            << e.err;
    }
    write("bar.sync 0;\n");
    for (const char* orders : {"1", "2,3", "7,8"}) {
        e = run(folder, {"diff", "k.json", "--order", orders});
        EXPECT_EQ(e.status, 0) << e.out;
        EXPECT_TRUE(e.out.starts_with("identical")) << e.out;
    }
}

// The same order in the debugger as in a run.
TEST(DebugCommand, ASessionInAnotherOrder) {
    const Folder folder;
    const Ended e = run(folder, {"debug", kernels + "gemm_sm80.json", "--order", "5", "--batch",
                                 "-ex", "b mma", "-ex", "run", "-ex", "rsi", "-ex", "c"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_NE(e.out.find("Breakpoint 1"), std::string::npos) << e.out;
}

// ctrl-C holds a run that goes on for minutes; in a script it ends it.
TEST(DebugCommand, CtrlCHoldsTheRun) {
    const Folder folder;
    folder.write("k.ptx",
                 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .pred %p<2>; .reg .b64 %rd<4>;\nmov.u64 %rd1, 0;\nL:\n"
                 "add.u64 %rd1, %rd1, 1;\nsetp.lt.u64 %p1, %rd1, 100000000000;\n@%p1 bra L;\n"
                 "ret;\n}\n");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
 "grid": [1, 1, 1], "block": [32, 1, 1], "buffers": {}, "args": [], "outputs": []})");
    for (const bool batch : {false, true}) {
        const std::string command =
            "cd " + folder.path.string() + " && printf 'info line\\nquit\\n' | " +
            "timeout --preserve-status -s INT 1 " + program() + " debug k.json " +
            (batch ? "--batch " : "") + "-ex run > out 2>&1";
        const int status = std::system(command.c_str());
        const std::string out = folder.read("out");
        EXPECT_NE(out.find("Interrupted."), std::string::npos) << out;
        EXPECT_EQ(WEXITSTATUS(status), batch ? 130 : 0) << out;
        EXPECT_EQ(out.find("operation ") != std::string::npos, !batch) << out;
    }
}

std::string framed(const std::string& body) {
    return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(DebugCommand, TheAdapterOnStandardInput) {
    const Folder folder;
    folder.write("in", framed(R"({"seq":1,"type":"request","command":"initialize"})") +
                           framed(R"({"seq":2,"type":"request","command":"launch","arguments":)"
                                  R"({"program":")" +
                                  kernels + R"(mma_ldmatrix.json"}})") +
                           framed(R"({"seq":3,"type":"request","command":"configurationDone"})") +
                           framed(R"({"seq":4,"type":"request","command":"disconnect"})"));
    const std::string shell = program() + " dap < in > out";
    const std::string command = "cd " + folder.path.string() + " && " + shell;
    EXPECT_EQ(std::system(command.c_str()), 0);
    const std::string out = folder.read("out");
    EXPECT_TRUE(out.starts_with("Content-Length: ")) << out;
    for (const char* part : {"supportsStepBack", "initialized", "\"request_seq\":4"})
        EXPECT_NE(out.find(part), std::string::npos) << part << out;
    // With other fields of a header, in any order.
    const std::string body = R"({"seq":1,"type":"request","command":"initialize"})";
    const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
    for (const std::string& header :
         {"Content-Type: application/json\r\n" + length, length + "Content-Type: x\r\n"}) {
        folder.write("in", header + "\r\n" + body);
        EXPECT_EQ(std::system(command.c_str()), 0);
        EXPECT_NE(folder.read("out").find("supportsStepBack"), std::string::npos) << header;
    }
    for (const std::string& wrong :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("Content-Length: 99999999999\r\n\r\n"),
          std::string("Content-Length: 3\r\n\r\n{{{"), std::string(100000, 'x'), std::string()}) {
        folder.write("in", wrong);
        EXPECT_EQ(std::system(command.c_str()), 0);
    }
}

// A kernel of minutes ends with its client, which says that it goes or is gone.
TEST(DebugCommand, TheAdapterEndsARunWithItsClient) {
    const Folder folder;
    folder.write("k.ptx",
                 ".version 8.0\n.target sm_80\n.address_size 64\n"
                 ".visible .entry k()\n{\n.reg .pred %p<2>; .reg .b64 %rd<2>;\nmov.u64 %rd1, 0;\n"
                 "L: add.u64 %rd1, %rd1, 1;\nsetp.lt.u64 %p1, %rd1, 100000000000;\n"
                 "@%p1 bra L;\nret;\n}\n");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
 "grid": [1, 1, 1], "block": [32, 1, 1], "buffers": {}, "args": [], "outputs": []})");
    const std::string begin = framed(R"({"seq":1,"type":"request","command":"initialize"})") +
                              framed(R"({"seq":2,"type":"request","command":"launch","arguments":)"
                                     R"({"program":"k.json"}})") +
                              framed(R"({"seq":3,"type":"request","command":"configurationDone"})");
    for (const bool says : {true, false}) {
        folder.write("in", begin);
        folder.write("end",
                     says ? framed(R"({"seq":4,"type":"request","command":"disconnect"})") : "");
        const std::string command = "cd " + folder.path.string() +
                                    " && { cat in; sleep 0.5; cat end; } | timeout 20 " +
                                    program() + " dap > out";
        EXPECT_EQ(std::system(command.c_str()), 0) << says;
        EXPECT_NE(folder.read("out").find("\"request_seq\":3"), std::string::npos);
        EXPECT_EQ(folder.read("out").find("\"request_seq\":4") != std::string::npos, says);
    }
}

// The port is said; there is one client, and while it is listened on nobody else gets it.
TEST(DebugCommand, TheAdapterOnAPort) {
    const Folder folder;
    const Started adapter = start(folder, {"dap", "--port", "0"});
    const std::string said = "listening on 127.0.0.1:";
    std::string out;
    for (int tries = 0; tries < 1000 && !out.ends_with('\n'); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::ifstream in(adapter.out);
        out.assign(std::istreambuf_iterator<char>(in), {});
    }
    const bool listens = out.starts_with(said) && out.ends_with('\n');
    EXPECT_TRUE(listens) << out;
    if (!listens) {
        ::kill(adapter.child, SIGKILL);
        finish(adapter);
        return;
    }
    const std::string port = out.substr(said.size(), out.size() - said.size() - 1);
    const Ended second = run(folder, {"dap", "--port", port});
    EXPECT_EQ(second.status, 2);
    EXPECT_NE(second.err.find("port " + port + ": Address already in use"), std::string::npos)
        << second.err;
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string asked = framed(R"({"seq":1,"type":"request","command":"initialize"})") +
                              framed(R"({"seq":2,"type":"request","command":"disconnect"})");
    EXPECT_EQ(::write(client, asked.data(), asked.size()), static_cast<ssize_t>(asked.size()));
    std::string answer;
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::read(client, part.data(), part.size())) > 0;)
        answer.append(part.data(), static_cast<size_t>(n));
    ::close(client);
    EXPECT_NE(answer.find("supportsStepBack"), std::string::npos) << answer;
    EXPECT_NE(answer.find("\"request_seq\":2"), std::string::npos) << answer;
    const Ended e = finish(adapter);
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.out, out);
}

}  // namespace
}  // namespace lockwarp::tools
