// SPDX-License-Identifier: Apache-2.0
// Fat binaries: those that compilers make, and those that are cut off or say what is not so.
#include "cuda/image.hpp"

#include <zstd.h>

#include <cstring>
#include <random>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

constexpr uint32_t magic = 0xba55ed50;
constexpr uint16_t ptx_kind = 1, machine_kind = 2;
constexpr uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;

template <class T>
void put(std::string& to, size_t offset, T value) {
    std::memcpy(to.data() + offset, &value, sizeof value);
}

// A part: header of 64 bytes, then the payload, filled up to 8.
std::string part(uint16_t kind, uint32_t sm, std::string payload, uint64_t flags = 0,
                 uint64_t raw_size = 0) {
    std::string head(64, '\0');
    const auto size = static_cast<uint32_t>(payload.size());
    payload.resize((payload.size() + 7) / 8 * 8);
    put<uint16_t>(head, 0, kind);
    put<uint32_t>(head, 4, 64);
    put<uint64_t>(head, 8, payload.size());
    put<uint32_t>(head, 16, flags != 0 ? size : 0);
    put<uint32_t>(head, 28, sm);
    put<uint64_t>(head, 40, flags);
    put<uint64_t>(head, 56, raw_size);
    return head + payload;
}

std::string fat_binary(const std::string& parts) {
    std::string head(16, '\0');
    put<uint32_t>(head, 0, magic);
    put<uint16_t>(head, 4, 1);
    put<uint16_t>(head, 6, 16);
    put<uint64_t>(head, 8, parts.size());
    return head + parts;
}

std::string zstd_part(uint32_t sm, const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return part(ptx_kind, sm, packed, zstd_flag, text.size());
}

// All literals: one sequence.
std::string lz4_literals(const std::string& text) {
    std::string out(1, static_cast<char>(0xf0));
    size_t rest = text.size() - 15;
    for (; rest >= 255; rest -= 255) out += static_cast<char>(0xff);
    return out + static_cast<char>(rest) + text;
}

std::string writes(uint32_t value) {
    return kernel_ptx(" mov.u32 %r0, " + std::to_string(value) + ";\n st.global.u32 [%p0], %r0;");
}

class FatBinaries : public Cuda {
  protected:
    // What the kernel of the image writes; 0 where it does not load, with the result.
    uint32_t written(const std::string& image, int expected = success) {
        Handle module = nullptr;
        testing::internal::CaptureStderr();
        EXPECT_EQ(cuModuleLoadData(&module, image.data()), expected);
        said = testing::internal::GetCapturedStderr();
        if (module == nullptr) return 0;
        const Address x = allocate(4);
        EXPECT_EQ(run(function(module, "k"), x), success);
        return read<uint32_t>(x, 1)[0];
    }
    std::string said;
};

TEST_F(FatBinaries, LoadPtxPlainAndCompressed) {
    const std::string text = writes(7);
    EXPECT_EQ(written(fat_binary(part(ptx_kind, 80, text))), 7u);
    EXPECT_EQ(written(fat_binary(zstd_part(80, text))), 7u);
    EXPECT_EQ(written(fat_binary(part(ptx_kind, 80, lz4_literals(text), lz4_flag, text.size()))),
              7u);
}

TEST_F(FatBinaries, GiveTheBestPtxForTheArchitecture) {
    const std::string parts = part(machine_kind, 80, std::string(64, 'x')) +
                              part(ptx_kind, 75, writes(75)) + part(ptx_kind, 80, writes(80)) +
                              part(ptx_kind, 90, writes(90));
    EXPECT_EQ(written(fat_binary(parts)), 80u);
}

TEST_F(FatBinaries, BehindACompilersStructureAreFound) {
    const std::string image = fat_binary(part(ptx_kind, 80, writes(3)));
    struct {
        uint32_t magic = 0x466243b1, version = 1;
        const void* data;
        void* file = nullptr;
    } wrapper;
    wrapper.data = image.data();
    Handle module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, &wrapper), success);
}

TEST_F(FatBinaries, OfMachineCodeSayThatPtxIsNeeded) {
    EXPECT_EQ(written(fat_binary(part(machine_kind, 90, std::string(64, 'x'))), no_binary_for_gpu),
              0u);
    EXPECT_NE(said.find("machine code for sm_90 alone: PTX is needed"), std::string::npos) << said;
    EXPECT_EQ(written(std::string("\x7f") + "ELF and so on", no_binary_for_gpu), 0u);
    EXPECT_NE(said.find("PTX is needed"), std::string::npos) << said;
    EXPECT_EQ(written(fat_binary(part(ptx_kind, 100, writes(1))), no_binary_for_gpu), 0u);
    EXPECT_NE(said.find("sm_100"), std::string::npos) << said;
}

TEST_F(FatBinaries, ThatLieAreRefused) {
    const std::string good = fat_binary(part(ptx_kind, 80, writes(1)));
    const auto wrong = [&](size_t offset, auto value) {
        std::string image = good;
        put(image, offset, value);
        EXPECT_EQ(written(image, invalid_image), 0u) << offset;
    };
    wrong(16 + 4, uint32_t{0});                   // a part's header of no bytes
    wrong(16 + 4, uint32_t{0xffffffff});          // and of too many
    wrong(16 + 8, uint64_t{0xffffffffffffffff});  // its payload
    wrong(16 + 8, uint64_t{good.size()});         //
    wrong(16 + 16, uint32_t{0xffffff});           // of which more is compressed than there is
    std::string lies = fat_binary(zstd_part(80, writes(1)));
    put<uint64_t>(lies, 16 + 56, uint64_t{1} << 60);  // its size unpacked
    EXPECT_EQ(written(lies, invalid_image), 0u);
    put<uint64_t>(lies, 16 + 56, 10);
    EXPECT_EQ(written(lies, invalid_image), 0u);
}

// As nvcc 13 makes them of -arch=sm_90a: PTX for any machine from sm_90 on, and Hopper's own.
TEST(Images, OfOneNumberTheArchitecturesOwnComesFirst) {
    const std::string plain = ".version 9.0\n.target sm_90\n",
                      own = ".version 9.0\n.target sm_90a\n";
    const std::string both = fat_binary(part(ptx_kind, 90, plain) + part(ptx_kind, 90, own));
    EXPECT_EQ(cuda::read_image(both, 90).texts, (std::vector{own, plain}));
    EXPECT_EQ(cuda::read_image(both, 100).texts, std::vector{plain});
    const std::string family = ".version 9.0\n.target sm_100f\n";
    const std::string three = fat_binary(part(ptx_kind, 90, plain) + part(ptx_kind, 100, family));
    EXPECT_EQ(cuda::read_image(three, 103).texts, (std::vector{family, plain}));
    EXPECT_EQ(cuda::read_image(three, 120).texts, std::vector{plain});
    EXPECT_EQ(cuda::read_image(fat_binary(part(ptx_kind, 90, own)), 100).wrong,
              "PTX for sm_90a alone, and this is sm_100");
}

// Read with its length: every prefix of it, and with bytes changed, without a wrong access.
TEST(Images, CutOffOrChangedAreRefusedOrRead) {
    const std::string text = writes(9);
    const std::string good = fat_binary(
        zstd_part(80, text) + part(ptx_kind, 75, lz4_literals(text), lz4_flag, text.size()) +
        part(machine_kind, 80, std::string(32, 'y')));
    size_t refused = 0;
    for (size_t n = 0; n < good.size(); ++n) {
        const std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
        const cuda::Image image = cuda::read_image(cut, 80);
        refused += image.texts.empty() ? 1 : 0;
        EXPECT_EQ(image.texts.empty(), !image.wrong.empty());
    }
    EXPECT_GE(refused, good.size() - 16);
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::vector<char> changed(good.begin(), good.end());
        for (int k = 0; k < 3; ++k)
            changed[random() % (k == 0 ? 160 : changed.size())] = static_cast<char>(random());
        const cuda::Image image = cuda::read_image(changed, 80);
        EXPECT_EQ(image.texts.empty(), !image.wrong.empty());
    }
}

TEST(Images, Lz4BlocksAreUnpacked) {
    using namespace std::string_literals;
    // "abcd", and 8 bytes from 4 back; then "e" alone.
    const std::string block = "\x44"s + "abcd" + "\x04\x00"s + "\x10"s + "e";
    EXPECT_EQ(cuda::lz4_block(block, 13), "abcdabcdabcde");
    EXPECT_EQ(cuda::lz4_block(block, 12), "");
    EXPECT_EQ(cuda::lz4_block(block, 14), "");
    EXPECT_EQ(cuda::lz4_block("\x14"s + "a" + "\x02\x00"s, 9), "");  // before the first byte
    EXPECT_EQ(cuda::lz4_block("\x14"s + "a" + "\x00\x00"s, 9), "");
    // A match that overlaps what it makes: 15 + 4 + 5 bytes.
    EXPECT_EQ(cuda::lz4_block("\x1f"s + "a" + "\x01\x00"s + "\x05" + "\x10" + "b", 26),
              std::string(25, 'a') + "b");
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) {
        std::string any(random() % 40, '\0');
        for (char& c : any) c = static_cast<char>(random());
        const uint64_t size = random() % 64;
        const std::string out = cuda::lz4_block(any, size);
        EXPECT_TRUE(out.empty() || out.size() == size);
    }
}

}  // namespace
}  // namespace lockwarp::test
