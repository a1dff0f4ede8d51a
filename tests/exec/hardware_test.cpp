// Recorded programs against what an H200 answered, every output byte. A program is a kernel
// k(in, out); CTA i reads case i of the recording and writes its answer.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

fs::path recordings() { return fs::path(LOCKWARP_SHARED_DIR) / "hardware" / "sm_90"; }

// The recordings unpacked into a folder of this process, which goes with it.
class Archives {
  public:
    Archives() {
        if (!fs::exists(recordings())) return;
        std::string name = (fs::temp_directory_path() / "lockwarp-exec-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) return;
        root_ = name;
        for (const char* archive : {"mma", "wmma", "move", "alu"}) {
            const std::string command = "tar xJf '" + recordings().string() + "/" + archive +
                                        ".tar.xz' -C '" + root_.string() + "'";
            good_ = std::system(command.c_str()) == 0 && good_;
        }
        std::ifstream file(recordings() / "index.json");
        index_ = nlohmann::json::parse(file, nullptr, false);
    }
    ~Archives() {
        if (!root_.empty()) fs::remove_all(root_);
    }
    Archives(const Archives&) = delete;
    Archives& operator=(const Archives&) = delete;

    bool there() const { return !root_.empty(); }
    bool good() const { return good_ && index_.is_object(); }
    const nlohmann::json& index() const { return index_; }
    std::string file(const std::string& name) const { return (root_ / name).string(); }

  private:
    fs::path root_;
    bool good_ = true;
    nlohmann::json index_;
};

const Archives& archives() {
    static const Archives unpacked;
    return unpacked;
}

void mma_names(Names& out) {
    for (const char* order : {"row.row", "row.col", "col.row", "col.col"})
        for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"})
            out.push_back(std::string("mma/m8n8k4.") + order + "." + types);
    for (const char* name :
         {"m16n8k8.f16.f16.f16.f16", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.f16.f16.f32",
          "m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.bf16.bf16.f32", "m16n8k16.f32.bf16.bf16.f32",
          "m16n8k4.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32", "m8n8k4.f64.f64.f64.f64",
          "m16n8k4.f64.f64.f64.f64", "m16n8k8.f64.f64.f64.f64", "m16n8k16.f64.f64.f64.f64"})
        out.push_back(std::string("mma/") + name);
    for (const char* shape : {"m8n8k16", "m16n8k16", "m16n8k32"})
        for (const char* clamped : {"", ".satfinite"})
            for (const char* types : {"s8.s8", "s8.u8", "u8.s8", "u8.u8"})
                out.push_back(std::string("mma/") + shape + clamped + ".s32." + types + ".s32");
    for (const char* shape : {"m16n8k16", "m16n8k32"})
        for (const char* types : {"e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2"})
            for (const char* result : {"f16", "f32"})
                out.push_back(std::string("mma/") + shape + "." + result + "." + types + "." +
                              result);
    for (const char* shape : {"m8n8k32", "m16n8k32", "m16n8k64"})
        for (const char* clamped : {"", ".satfinite"})
            for (const char* types : {"s4.s4", "s4.u4", "u4.s4", "u4.u4"})
                out.push_back(std::string("mma/") + shape + clamped + ".s32." + types + ".s32");
    for (const char* shape : {"m8n8k128", "m16n8k128", "m16n8k256"})
        for (const char* how : {"xor", "and"})
            out.push_back(std::string("mma/") + shape + "." + how + ".s32.b1.b1.s32");
    for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"})
        for (const char* shape : {"m16n8k16", "m16n8k32"})
            out.push_back(std::string("mma/sp.") + shape + "." + types);
    for (const char* shape : {"m16n8k32", "m16n8k64"})
        out.push_back(std::string("mma/sp.") + shape + ".s32.s8.s8.s32");
}

void wmma_names(Names& out) {
    const auto add = [&](std::string name) { out.push_back("wmma/wmma." + std::move(name)); };
    for (const char* orders : {"row.row", "row.col", "col.row", "col.col"}) {
        const std::string both = std::string(".") + orders + ".";
        const std::string c = both == ".row.row." || both == ".col.col." ? "col." : "row.";
        for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"}) {
            for (const char* types : {"f16.f16.f16", "f16.f16.f32", "f32.f16.f16", "f32.f16.f32"})
                add(shape + both + c + types);
            add(shape + both + "row.f32.bf16.f32");
        }
        add("m16n16k8" + both + "row.f32.tf32.f32");
        add("m8n8k4" + both + "row.f64.f64.f64");
    }
    for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"})
        for (const char* type : {"s8", "u8"}) {
            add(std::string(shape) + ".row.col.row.s32." + type + ".s32");
            add(std::string(shape) + ".col.row.col.satfinite.s32." + type + ".s32");
        }
    for (const char* type : {"s4", "u4"})
        add(std::string("m8n8k32.row.col.row.s32.") + type + ".s32");
    for (const char* how : {"xor", "and"})
        add(std::string("m8n8k128.row.col.row.s32.b1.s32.") + how + ".popc");
}

void move_names(Names& out) {
    for (const char* opcode : {"ldmatrix", "stmatrix"})
        for (const char* count : {".x1", ".x2", ".x4"})
            for (const char* order : {"", ".trans"})
                out.push_back(std::string("move/") + opcode + count + order);
}

void alu_names(Names& out) {
    for (const char* name : {"movmatrix",
                             "cvt.rn.f16x2.f32",
                             "cvt.rz.f16x2.f32",
                             "cvt.rn.relu.f16x2.f32",
                             "cvt.rn.bf16x2.f32",
                             "cvt.rz.bf16x2.f32",
                             "cvt.rna.tf32.f32",
                             "cvt.rn.tf32.f32",
                             "cvt.f32.f16",
                             "fma.rn.f16x2",
                             "fma.rn.bf16x2",
                             "add.f16x2",
                             "mul.f16x2",
                             "max.f16x2",
                             "fma.rn.f32",
                             "fma.rn.ftz.f32",
                             "add.rz.f32",
                             "max.f32",
                             "rcp.rn.f32",
                             "sqrt.rn.f32",
                             "prmt.b32",
                             "lop3.b32.0x96",
                             "shfl.bfly.3",
                             "shfl.idx",
                             "shfl.up",
                             "shfl.down",
                             "dp4a.s32.u32",
                             "cvt.rni.s32.f32",
                             "ex2.approx.ftz.f32",
                             "rcp.approx.ftz.f32",
                             "cvt.rn.satfinite.e4m3x2.f32",
                             "cvt.rn.satfinite.e5m2x2.f32",
                             "cvt.rn.f16x2.e4m3x2",
                             "cvt.rn.f16x2.e5m2x2"})
        out.push_back(std::string("alu/") + name);
}

Names executed() {
    Names out;
    mma_names(out);
    wmma_names(out);
    move_names(out);
    alu_names(out);
    return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::ranges::replace_if(
        name, [](char c) { return c == '.' || c == '/'; }, '_');
    return name;
}

class Recorded : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (!archives().there()) GTEST_SKIP() << "no recordings at " << recordings();
        ASSERT_TRUE(archives().good()) << "the recordings cannot be read";
    }
};

TEST_P(Recorded, EveryOutputByteIsTheHardwares) {
    const std::string& name = GetParam();
    ASSERT_TRUE(archives().index().contains(name + ".bin"));
    const nlohmann::json& entry = archives().index()[name + ".bin"];
    const size_t cases = entry["cases"];
    const size_t in_words = entry["in_words"];
    const size_t out_words = entry["out_words"];
    const Words recorded = words_of([&] {
        const std::string text = read_text(archives().file(name + ".bin"));
        return Bytes(text.begin(), text.end());
    }());
    ASSERT_EQ(recorded.size(), cases * (in_words + out_words));
    ASSERT_GT(cases * out_words, 0u) << "nothing to compare";
    Words in;
    Words expected;
    for (size_t i = 0; i < cases; ++i) {
        const auto at = recorded.begin() + static_cast<std::ptrdiff_t>(i * (in_words + out_words));
        const auto middle = at + static_cast<std::ptrdiff_t>(in_words);
        in.insert(in.end(), at, middle);
        expected.insert(expected.end(), middle, middle + static_cast<std::ptrdiff_t>(out_words));
    }

    Given given;
    given.arch = isa::Arch::sm_90;
    given.grid.x = static_cast<uint32_t>(cases);
    given.block.x = entry["threads"];
    // A byte that the program leaves as it is differs from the recording in one of two runs.
    for (const uint8_t canary : {uint8_t{0x5a}, uint8_t{0xa5}}) {
        given.buffers = {bytes_of(in), Bytes(expected.size() * 4, canary)};
        const Outcome outcome =
            run_well(program_of(read_text(archives().file(name + ".ptx")), given.arch, "k"), given);
        const Words actual = words_of(outcome.buffers[1]);
        size_t differences = 0;
        for (size_t i = 0; i < expected.size(); ++i)
            if (actual[i] != expected[i] && differences++ < 4)
                ADD_FAILURE() << "case " << i / out_words << ", word " << i % out_words << ": 0x"
                              << std::hex << actual[i] << ", the H200 gave 0x" << expected[i];
        EXPECT_EQ(differences, 0u) << "of " << expected.size() << " words";
        EXPECT_EQ(words_of(outcome.buffers[0]), in);
    }
}

INSTANTIATE_TEST_SUITE_P(H200, Recorded, testing::ValuesIn(executed()), test_name);

TEST(Recordings, EveryRecordedProgramOfTheseArchivesIsListedOnce) {
    if (!archives().there()) GTEST_SKIP() << "no recordings at " << recordings();
    ASSERT_TRUE(archives().good());
    std::multiset<std::string> listed;
    for (const std::string& name : executed()) listed.insert(name);
    std::multiset<std::string> recorded;
    for (const auto& [key, value] : archives().index().items())
        if (key.starts_with("mma/") || key.starts_with("wmma/") || key.starts_with("move/") ||
            key.starts_with("alu/"))
            recorded.insert(fs::path(key).replace_extension().string());
    EXPECT_EQ(listed, recorded);
    EXPECT_GT(recorded.size(), 100u);
}

}  // namespace

}  // namespace lockwarp::exec
