// SPDX-License-Identifier: Apache-2.0
#include "tests/debug/sessions.hpp"

#include <fmt/format.h>

namespace lockwarp::debug {

void Sessions::open(const std::string& path) {
    launch::Result<std::vector<launch::Loaded>> loaded = launch::load_all({path}, "");
    ASSERT_TRUE(loaded) << loaded.error().sentence;
    launch::Result<std::unique_ptr<Session>> made = Session::make(std::move(*loaded), nullptr);
    ASSERT_TRUE(made) << made.error().sentence;
    session = std::move(*made);
    console = std::make_unique<Console>(*session);
}

Sessions::Sessions(const std::string& body, unsigned ctas, unsigned threads,
                   const std::string& before)
    : folder(std::make_unique<tools::Folder>()) {
    folder->write("k.ptx", fmt::format(".version 8.0\n.target sm_80\n.address_size 64\n{}"
                                       ".visible .entry k(.param .u64 k_out)\n{{\n"
                                       ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; "
                                       ".reg .b64 %rd<8>;\n{}\n}}\n",
                                       before, body));
    folder->write("k.json",
                  fmt::format(R"({{"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
 "grid": [{}, 1, 1], "block": [{}, 1, 1],
 "buffers": {{"out": {{"bytes": 4096, "init": {{"fill": 0}}}}}},
 "args": [{{"buffer": "out"}}], "outputs": ["out"]}})",
                              ctas, threads));
    open((folder->path / "k.json").string());
}

Sessions Sessions::of_launch(const std::string& ptx, const std::string& json) {
    Sessions s;
    s.folder = std::make_unique<tools::Folder>();
    s.folder->write("k.ptx", ptx);
    s.folder->write("k.json", json);
    s.open((s.folder->path / "k.json").string());
    return s;
}

std::string Sessions::expect(const std::string& command, const std::string& part) {
    const std::string text = (*this)(command);
    EXPECT_NE(text.find(part), std::string::npos) << command << "\n" << text;
    return text;
}

}  // namespace lockwarp::debug
