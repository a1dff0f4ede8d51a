#include "tests/num/recordings.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace lockwarp::num::testing {

namespace fs = std::filesystem;
using isa::Arch;
using isa::Type;

static_assert(std::endian::native == std::endian::little, "read_words copies bytes");

std::vector<uint32_t> read_words(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    std::vector<uint32_t> words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

namespace {

// wgmma with fp8 operands on Hopper: 32 products and C at once, 14 bits of the result.
constexpr FusedSum wgmma_fp8{32, 13, -133, 14, Rounding::rz};

}  // namespace

const std::vector<DotRecording>& dot_recordings() {
    static const std::vector<DotRecording> recordings{
        {"V100.fp16.f32.bin", Arch::sm_70, Type::f16, Type::f32, 4},
        {"V100.fp16.f16.bin", Arch::sm_70, Type::f16, Type::f16, 4},
        {"A100.fp16.f32.bin", Arch::sm_80, Type::f16, Type::f32, 8},
        {"A100.fp16.f16.bin", Arch::sm_80, Type::f16, Type::f16, 8},
        {"A100.bf16.f32.bin", Arch::sm_80, Type::bf16, Type::f32, 8},
        {"A100.tf32.f32.bin", Arch::sm_80, Type::tf32, Type::f32, 4},
        {"L40S.fp16.f32.bin", Arch::sm_89, Type::f16, Type::f32, 8},
        {"L40S.fp16.f16.bin", Arch::sm_89, Type::f16, Type::f16, 8},
        {"L40S.bf16.f32.bin", Arch::sm_89, Type::bf16, Type::f32, 8},
        {"L40S.tf32.f32.bin", Arch::sm_89, Type::tf32, Type::f32, 4},
        {"H200.fp16.f32.bin", Arch::sm_90, Type::f16, Type::f32, 16},
        {"H200.fp16.f16.bin", Arch::sm_90, Type::f16, Type::f16, 16},
        {"H200.bf16.f32.bin", Arch::sm_90, Type::bf16, Type::f32, 16},
        {"H200.tf32.f32.bin", Arch::sm_90, Type::tf32, Type::f32, 4},
        {"L40S.e4m3.f32.bin", Arch::sm_89, Type::e4m3, Type::f32, 32},
        {"L40S.e5m2.f32.bin", Arch::sm_89, Type::e5m2, Type::f32, 32},
        {"H200.e4m3.f16.bin", Arch::sm_90, Type::e4m3, Type::f16, 32},
        {"H200.e5m2.f16.bin", Arch::sm_90, Type::e5m2, Type::f16, 32},
        {"H200.e4m3.f32.bin", Arch::sm_90, Type::e4m3, Type::f32, 32, wgmma_fp8},
        {"H200.e5m2.f32.bin", Arch::sm_90, Type::e5m2, Type::f32, 32, wgmma_fp8},
    };
    return recordings;
}

fs::path dot_folder() { return fs::path(LOCKWARP_SHARED_DIR) / "hardware" / "dot"; }

ScalarArchive::ScalarArchive() {
    const fs::path archive = fs::path(LOCKWARP_SHARED_DIR) / "hardware" / "sm_90" / "alu.tar.xz";
    if (!fs::exists(archive)) return;
    std::string name = (fs::temp_directory_path() / "lockwarp-num-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    root_ = name;
    const std::string command = "tar -C '" + name + "' -xJf '" + archive.string() + "'";
    if (std::system(command.c_str()) == 0) return;
    fs::remove_all(root_);
    root_.clear();
}

ScalarArchive::~ScalarArchive() {
    if (!root_.empty()) fs::remove_all(root_);
}

}  // namespace lockwarp::num::testing
