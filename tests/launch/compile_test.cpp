// SPDX-License-Identifier: Apache-2.0
// How a compiler is found and called, with a program in its place that notes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launch/input.hpp"
#include "launch/nvcc.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

namespace fs = std::filesystem;

// A variable of the environment, as it was before at the end.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        ::setenv(name, value.c_str(), 1);
    }
    ~Variable() {
        if (before_)
            ::setenv(name_, before_->c_str(), 1);
        else
            ::unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> before_;
};

class Compiling : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "compiling.XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
        fs::create_directory(folder / "bin");
        fs::create_directory(folder / "tmp");
    }
    void TearDown() override { fs::remove_all(folder); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder / name) << text;
        fs::permissions(folder / name, fs::perms::owner_all);
    }
    std::string read(const fs::path& name) const {
        std::stringstream text;
        text << std::ifstream(folder / name).rdbuf();
        return text.str();
    }
    // It notes its words and its TMPDIR, and makes what it is to make.
    std::string compiler(const std::string& after = "") const {
        return "#!/bin/sh\nprintf '%s|' \"$@\" > " + (folder / "called").string() +
               "\necho \"$TMPDIR\" > " + (folder / "temporary").string() +
               "\necho made > \"$3\"\n" + after;
    }
    std::string called(const std::string& arch, const std::vector<std::string>& options) const {
        Compiled made;
        EXPECT_EQ(take(compile_cuda("a/k.cu", arch, options), made), "");
        EXPECT_EQ(made.ptx, "made\n");
        EXPECT_EQ(fs::path(made.path).filename(), "k.ptx");
        EXPECT_EQ(fs::path(made.path).parent_path().parent_path(), folder / "tmp");
        EXPECT_EQ(read("temporary"), fs::path(made.path).parent_path().string() + "\n");
        const std::string begin = "-ptx|-o|" + made.path + "|a/k.cu|";
        const std::string words = read("called");
        EXPECT_TRUE(words.starts_with(begin)) << words;
        return words.substr(std::min(words.size(), begin.size()));
    }

    fs::path folder;
};

TEST_F(Compiling, WithWhatIsAskedFor) {
    write("nvcc", compiler());
    const Variable named("NVCC", (folder / "nvcc").string());
    const Variable temporary("TMPDIR", (folder / "tmp").string());
    EXPECT_EQ(called("", {}), "-lineinfo|");
    EXPECT_EQ(called("sm_90", {}), "-arch=compute_90|-lineinfo|");
    EXPECT_EQ(called("90", {}), "-lineinfo|");
    EXPECT_EQ(called("sm_80", {"-DX=1", "-I", "b c"}), "-arch=compute_80|-lineinfo|-DX=1|-I|b c|");
    for (const std::string arch : {"-arch=sm_75", "-arch", "--gpu-architecture=sm_75", "-gencode"})
        EXPECT_EQ(called("sm_80", {arch}), "-lineinfo|" + arch + "|");
    for (const std::string lines : {"-G", "--device-debug", "-lineinfo", "--generate-line-info"})
        EXPECT_EQ(called("sm_80", {"-O3", lines}), "-arch=compute_80|-O3|" + lines + "|");
    EXPECT_EQ(called("sm_80", {"-archx", "-Gx"}), "-arch=compute_80|-lineinfo|-archx|-Gx|");
    EXPECT_TRUE(fs::is_empty(folder / "tmp")) << "what was made is gone with its last owner";
}

TEST_F(Compiling, ThatFails) {
    const Variable temporary("TMPDIR", (folder / "tmp").string());
    const auto problem = [] {
        Compiled made;
        return take(compile_cuda("a/k.cu", "sm_80", {}), made);
    };
    {
        const Variable named("NVCC", (folder / "nvcc").string());
        EXPECT_EQ(problem(), (folder / "nvcc").string() + ": No such file or directory");
        write("nvcc", compiler("exit 3\n"));
        EXPECT_EQ(problem(), "a/k.cu: nvcc could not compile it");
        write("nvcc", compiler("kill -TERM $$\n"));
        EXPECT_EQ(problem(), "a/k.cu: nvcc was ended");
        write("nvcc", "#!/bin/sh\nexit 0\n");
        const std::string why = problem();
        EXPECT_TRUE(why.ends_with("/k.ptx: No such file or directory")) << why;
    }
    EXPECT_TRUE(fs::is_empty(folder / "tmp"));
    const Variable nowhere("TMPDIR", (folder / "not").string());
    const Variable named("NVCC", (folder / "nvcc").string());
    EXPECT_EQ(problem(), "no temporary folder: No such file or directory");
}

TEST_F(Compiling, FoundInThePath) {
    const Variable named("NVCC", "");
    const Variable temporary("TMPDIR", (folder / "tmp").string());
    write("bin/nvcc", compiler());
    fs::create_directory(folder / "first");
    write("first/nvcc", "#!/bin/sh\nexit 1\n");
    const std::string usual = std::getenv("PATH");
    const std::string bin = (folder / "bin").string(), other = (folder / "first").string();
    {
        const Variable path("PATH", bin + ":" + usual);
        EXPECT_EQ(called("", {}), "-lineinfo|");
    }
    {
        const Variable path("PATH", "::/no/such:" + bin + ":" + other);
        EXPECT_EQ(called("", {}), "-lineinfo|");
    }
    {
        const Variable path("PATH", other + ":" + bin + ":" + usual);
        Compiled made;
        EXPECT_EQ(take(compile_cuda("k.cu", "", {}), made), "k.cu: nvcc could not compile it");
        fs::permissions(folder / "first/nvcc", fs::perms::owner_read);
        EXPECT_EQ(called("", {}), "-lineinfo|") << "the first is no program";
    }
    if (fs::exists("/usr/local/cuda/bin/nvcc")) return;
    const Variable path("PATH", "/no/such");
    Compiled made;
    EXPECT_EQ(take(compile_cuda("k.cu", "", {}), made),
              "k.cu: no nvcc is installed to compile it; compile it elsewhere with 'nvcc -ptx' and "
              "give the PTX");
}

constexpr const char* kernel =
    ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { ret; }\n";

// Which file is read in place of which, and what is said of those that cannot be.
TEST_F(Compiling, InputsOfCommands) {
    const Variable temporary("TMPDIR", (folder / "tmp").string());
    const Variable named("NVCC", (folder / "nvcc").string());
    write("nvcc", "#!/bin/sh\nprintf '%s|' \"$@\" > " + (folder / "called").string() + "\ncp " +
                      (folder / "k.ptx").string() + " \"$3\"\n");
    write("k.ptx", kernel);
    const std::string begin =
        R"({"schema": "lockwarp-launch/1", "grid": [1], "block": [1], "ptx": )";
    write("k.json", begin + "\"k.ptx\"}");
    write("cu.json", begin + "\"k.cu\", \"arch\": \"sm_86\"}");
    write("both.json", begin + "\"k.ptx\", \"launches\": [{}, {\"entry\": \"q\"}]}");
    write("gone.json", begin + "\"gone.ptx\"}");
    write("k.cu", "");
    write("lone.cu", "");
    const auto in = [&](const std::string& name) { return (folder / name).string(); };
    const auto read_all = [&](std::vector<std::string> files, const std::string& arch,
                              const std::vector<std::string>& nvcc, std::vector<Input>& out) {
        for (std::string& f : files) f = in(f);
        return take(read_inputs(files, arch, nvcc), out);
    };
    std::vector<Input> all;
    ASSERT_EQ(read_all({"k.json"}, "", {}, all), "");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].path, in("k.ptx"));
    EXPECT_EQ(all[0].ptx_path, in("k.ptx"));
    EXPECT_EQ(all[0].source, kernel);
    EXPECT_EQ(all[0].kernel().entry, "k");
    EXPECT_FALSE(all[0].compiled);
    EXPECT_FALSE(all[0].has_variables());
    ASSERT_EQ(read_all({"k.ptx"}, "", {}, all), "") << "k.json beside it";
    ASSERT_EQ(read_all({"k.cu"}, "", {}, all), "");
    EXPECT_EQ(all[0].path, in("k.cu"));
    EXPECT_EQ(fs::path(all[0].ptx_path).filename(), "k.ptx");
    EXPECT_NE(all[0].ptx_path, in("k.ptx"));
    EXPECT_TRUE(all[0].compiled);
    EXPECT_NE(this->read("called").find("|-arch=compute_75|"), std::string::npos)
        << "that of the PTX which the launch file names";
    ASSERT_EQ(read_all({"cu.json"}, "", {"-DX"}, all), "");
    EXPECT_NE(this->read("called").find("|-arch=compute_86|-lineinfo|-DX|"), std::string::npos);
    ASSERT_EQ(read_all({"cu.json"}, "sm_90", {}, all), "");
    EXPECT_NE(this->read("called").find("|-arch=compute_90|"), std::string::npos);
    EXPECT_EQ(read_all({"k.json"}, "", {"-DX"}, all),
              in("k.ptx") + ": options for nvcc are given, and this is no .cu");
    EXPECT_EQ(read_all({"lone.cu"}, "", {}, all),
              in("lone.cu") + ": no launch file; name one after it, or write " + in("lone.json") +
                  " from what 'lockwarp init " + in("lone.cu") + "' prints");
    EXPECT_EQ(read_all({"gone.json"}, "", {}, all),
              in("gone.json") + ":1:" + std::to_string(begin.size() + 1) +
                  ": field 'ptx': " + in("gone.ptx") + ": No such file or directory");
    EXPECT_EQ(read_all({"gone.ptx", "k.json"}, "", {}, all),
              in("gone.ptx") + ": No such file or directory");
    EXPECT_EQ(
        read_all({"both.json"}, "", {}, all),
        in("both.json") + ":1:" +
            std::to_string((begin + "\"k.ptx\", \"launches\": [{}, {\"entry\": ").size() + 1) +
            ": field 'launches[1].entry': the module has no kernel 'q'; it has k");
    write("both.json", begin + "\"k.ptx\", \"launches\": [{}, {\"grid\": [2]}]}");
    ASSERT_EQ(read_all({"both.json"}, "", {}, all), "");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].step, 0u);
    EXPECT_EQ(all[1].step, 1u);
    EXPECT_EQ(all[1].kernel().grid.x, 2u);
    Input one;
    EXPECT_EQ(take(read_input({in("both.json")}, ""), one),
              in("both.json") + ": field 'launches': one launch is expected here, not 2");
    ASSERT_EQ(take(read_input({in("k.json")}, ""), one), "");
    // A text has few control characters; what has more is none.
    write("k.ptx", std::string(kernel) + "// " + std::string(8, '\x01') + "\t\v\f\r\n");
    EXPECT_EQ(read_all({"k.json"}, "", {}, all), "");
    write("k.ptx", std::string(kernel) + "// " + std::string(9, '\x01') + "\n");
    EXPECT_EQ(read_all({"k.json"}, "", {}, all), in("k.ptx") + ": not a text, and so no PTX");
    write("k.ptx",
          std::string(kernel) + std::string(1 << 16, ' ') + "// " + std::string(9, '\x01') + "\n");
    EXPECT_EQ(read_all({"k.json"}, "", {}, all), "") << "only the begin is looked at";
}

TEST_F(Compiling, WhichArchitecture) {
    write("k.ptx", kernel);
    const auto chosen = [&](const std::string& field, const std::string& named) {
        write("k.json",
              R"({"schema": "lockwarp-launch/1", "grid": [1], "block": [1], "ptx": "k.ptx")" +
                  field + "}");
        Input in;
        EXPECT_EQ(take(read_input({(folder / "k.json").string()}, ""), in), "");
        isa::Arch arch{};
        const std::string why = take(choose_arch(in, named), arch);
        return why.empty() ? std::string(isa::row(arch).name) : why;
    };
    std::string names;
    for (const isa::ArchRow& a : isa::arch_rows)
        names += (names.empty() ? "" : ", ") + std::string(a.name);
    EXPECT_EQ(chosen("", ""), "sm_75") << "the module's own";
    EXPECT_EQ(chosen(R"(, "arch": "sm_80")", ""), "sm_80");
    EXPECT_EQ(chosen(R"(, "arch": "sm_80")", "sm_90"), "sm_90");
    EXPECT_EQ(chosen("", "sm_9\x1b"), "--arch: 'sm_9?' is not modelled; one of " + names);
    const std::string why = chosen(R"(, "arch": "sm_81")", "");
    EXPECT_TRUE(why.starts_with((folder / "k.json").string() + ":1:")) << why;
    EXPECT_TRUE(why.ends_with(": field 'arch': 'sm_81' is not modelled; one of " + names)) << why;
}

}  // namespace
}  // namespace lockwarp::launch
