// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps: random ones as an H200 did them, what it refuses, tensormap.replace and
// tensormap.cp_fenceproxy.
#include <cstring>
#include <sstream>

#include "emu/isa/tensor_copy.hpp"
#include "tests/exec/support.hpp"
#include "tests/hardware/recordings.hpp"

namespace lockwarp::exec::tensor_copy_test {

namespace {

using isa::TensorMap;
using isa::TensorMapBytes;

// A recorded copy. Operations by number: 0 and 1 load tiles and im2col, 2 and 3 store such, 4 to 11
// reduce tiles by add, min, max, inc, dec, and, or, xor, 12 adds im2col.
struct Recorded {
    unsigned op = 0, rank = 0;
    uint32_t shared = 0, window = 0, bytes = 0, seed = 0;
    std::array<int32_t, 5> at{};
    std::array<uint32_t, 3> offset{};
    TensorMapBytes map{};
    uint64_t hash = 0;  // of the window of shared memory, or of the tensor's memory afterwards
};

uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// The bytes that loads read and the bytes that stores and reductions change, by words.
constexpr size_t source_bytes = 1 << 20, region_bytes = 16 * 1024;
uint32_t source_word(uint32_t i) {
    const uint32_t w = mix(i + 777);
    if ((i & 15) != 0) return w;
    return (w & 0x80003fff) | ((mix(i) & 1) != 0 ? 0x7f800000 : 0);
}
uint32_t region_word(uint32_t i) {
    uint32_t w = mix(i + 12345);
    if ((i & 7) == 0) w &= 0x807f807f;
    if ((i & 7) == 3) w |= 0x7f807c00;
    if ((i & 15) == 5) w &= 0x83ff83ff;
    return w;
}

template <class F>
Bytes words_by(size_t bytes, F word) {
    Words out(bytes / 4);
    for (uint32_t i = 0; i < out.size(); ++i) out[i] = word(i);
    return bytes_of(out);
}

uint64_t hash_of(const Bytes& bytes) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3ull;
    return h;
}

std::vector<Recorded> recorded() {
    std::vector<Recorded> out;
    std::istringstream lines(hardware::read_text("tensor_maps/copies"));
    std::string line;
    while (std::getline(lines, line)) {
        Recorded r;
        std::istringstream in(line);
        std::string map;
        in >> r.op >> r.rank >> r.shared >> r.window >> r.bytes >> r.seed;
        for (int32_t& v : r.at) in >> v;
        for (uint32_t& v : r.offset) in >> v;
        in >> map >> std::hex >> r.hash;
        for (size_t i = 0; i < r.map.size(); ++i)
            r.map[i] = static_cast<uint8_t>(std::stoul(map.substr(2 * i, 2), nullptr, 16));
        out.push_back(r);
    }
    return out;
}

std::string list(const char* prefix, unsigned count) {
    std::string out;
    for (unsigned i = 0; i < count; ++i)
        out += (i == 0 ? "" : ", ") + std::string(prefix) + std::to_string(i);
    return "{" + out + "}";
}

std::string copy_text(const Recorded& r) {
    const std::string n = std::to_string(r.rank) + "d";
    const std::string map = "[%rd3, " + list("%c", r.rank) + "]";
    if (r.op < 2)
        return "cp.async.bulk.tensor." + n + ".shared::cluster.global." +
               (r.op == 0 ? "tile" : "im2col") + ".mbarrier::complete_tx::bytes [%r2], " + map +
               ", [bar]" + (r.op == 0 ? "" : ", " + list("%o", r.rank - 2)) + ";\n";
    static const char* const reductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    const bool im2col = r.op == 3 || r.op == 12;
    const std::string mode = im2col ? ".im2col_no_offs" : ".tile";
    const std::string what = r.op < 4
                                 ? "cp.async.bulk.tensor." + n + ".global.shared::cta"
                                 : "cp.reduce.async.bulk.tensor." + n + ".global.shared::cta." +
                                       (r.op == 12 ? "add" : reductions[r.op - 4]);
    return what + mode + ".bulk_group " + map + ", [%r2];\n" +
           "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
}

// Buffers: the tensor's memory, the window of shared memory before and after, and the map with the
// coordinates and offsets behind it.
std::string module_text(const Recorded& r) {
    std::string text =
        ".version 8.6\n.target sm_90\n.address_size 64\n"
        ".extern .shared .align 1024 .b8 sm[];\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 m)\n{\n"
        ".reg .pred %p<4>; .reg .b16 %o<3>; .reg .b32 %r<16>, %c<5>; .reg .b64 %rd<8>;\n"
        ".shared .align 8 .b64 bar;\n"
        "ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [m];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, sm; add.u32 %r2, %r2, " +
        std::to_string(r.shared) + ";\n";
    const std::string loop =
        "add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd4, %r3; add.u64 %rd4, %rd4, %rd2;\n";
    const std::string next =
        "add.u32 %r3, %r3, 128; setp.lt.u32 %p1, %r3, " + std::to_string(r.window) + ";\n";
    text += "shl.b32 %r3, %r1, 2;\nfill:\n" + loop +
            "ld.global.u32 %r5, [%rd4]; st.shared.u32 [%r4], %r5;\n" + next + "@%p1 bra fill;\n";
    for (unsigned i = 0; i < r.rank; ++i)
        text += "ld.global.u32 %c" + std::to_string(i) + ", [%rd3+" + std::to_string(128 + 4 * i) +
                "];\n";
    for (unsigned i = 0; i < 3; ++i)
        text += "ld.global.u16 %o" + std::to_string(i) + ", [%rd3+" + std::to_string(148 + 4 * i) +
                "];\n";
    text += "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra issued;\nmbarrier.init.shared.b64 [bar], 1;\n";
    if (r.op < 2)
        text += "mbarrier.arrive.expect_tx.shared.b64 _, [bar], " + std::to_string(r.bytes) + ";\n";
    text += "fence.proxy.async;\n" + copy_text(r) + "issued:\nbar.sync 0;\n";
    if (r.op < 2)
        text += "wait:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra wait;\n";
    text += "shl.b32 %r3, %r1, 2;\ndump:\n" + loop +
            "ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd4], %r5;\n" + next + "@%p1 bra dump;\n";
    return text + "ret;\n}\n";
}

Outcome run_copy(const Recorded& r) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.dynamic_shared = 40 * 1024;
    const bool load = r.op < 2;
    given.buffers = {
        load ? words_by(source_bytes, source_word) : words_by(region_bytes, region_word),
        words_by(r.window, [&](uint32_t i) { return mix(r.seed + i); }), Bytes(256)};
    Bytes& meta = given.buffers[2];
    TensorMapBytes map = r.map;
    uint64_t address = 0;
    std::memcpy(&address, map.data(), sizeof address);
    address += buffer_address(0);
    std::memcpy(map.data(), &address, sizeof address);
    std::memcpy(meta.data(), map.data(), map.size());
    std::memcpy(meta.data() + 128, r.at.data(), sizeof r.at);
    std::memcpy(meta.data() + 148, r.offset.data(), sizeof r.offset);
    return run(program_of(module_text(r), given.arch), std::move(given));
}

TEST(TensorCopy, AsAnH200) {
    const std::vector<Recorded> all = recorded();
    ASSERT_GE(all.size(), 600u);
    std::array<unsigned, 13> of_op{};
    int differences = 0;
    for (const Recorded& r : all) {
        const Outcome out = run_copy(r);
        ASSERT_EQ(fault_of(out.result), "") << copy_text(r);
        const bool same = hash_of(out.buffers[r.op < 2 ? 1 : 0]) == r.hash;
        EXPECT_TRUE(same) << &r - all.data() << ": " << copy_text(r);
        if (!same && ++differences == 5) break;
        ++of_op[r.op];
    }
    for (unsigned op = 0; op < of_op.size(); ++op) EXPECT_GT(of_op[op], 0u) << op;
}

// A copy of 8 x 4 elements of f16 of a tensor of 20 x 10.
Recorded small_copy() {
    TensorMap m{.type = isa::TensorType::f16, .rank = 2};
    m.dim = {20, 10, 1, 1, 1};
    m.stride = {48, 0, 0, 0};
    m.box = {8, 4, 1, 1, 1};
    Recorded r;
    r.rank = 2;
    r.window = 1024;
    r.bytes = isa::copied_bytes(m);
    r.map = isa::encode(m);
    return r;
}

template <class Change>
Recorded changed_map(Change change) {
    Recorded r = small_copy();
    TensorMap m = *isa::decode_tensor_map(r.map);
    change(m);
    r.map = isa::encode(m);
    return r;
}

TEST(TensorCopy, SaysWhyAnInstructionIsIllegal) {
    const auto with = [](auto change) {
        Recorded r = small_copy();
        change(r);
        return r;
    };
    const auto store = [](Recorded r, unsigned op = 2) {
        r.op = op;
        return r;
    };
    const auto im2col = [](TensorMap& m) {
        m.im2col = true;
        m.rank = 3;
        m.channels = 8;
        m.pixels = 4;
        m.dim = {8, 5, 2, 1, 1};
        m.stride = {16, 80, 0, 0};
        m.lower = {-1, 0, 0};
    };
    const auto of_im2col = [&](unsigned op, std::array<int32_t, 5> at, auto change) {
        Recorded r = changed_map([&](TensorMap& m) {
            im2col(m);
            change(m);
        });
        r.op = op;
        r.rank = 3;
        r.at = at;
        return r;
    };
    const auto nothing = [](TensorMap&) {};
    const struct {
        Recorded copy;
        std::string words;
    } cases[] = {
        {with([](Recorded& r) { r.at = {4}; }),
         "coordinate 0 = 4 of 2 bytes each is not a multiple of 16 bytes"},
        {store(with([](Recorded& r) {
             r.at = {0, -1};
         })),
         "coordinate 1 = -1 is negative, and it is a store"},
        {store(with([](Recorded& r) {
                   r.at = {-8, 0};
               }),
               4),
         "coordinate 0 = -8 is negative, and it is a store"},
        {store(small_copy(), 7), "there is no such reduction of FLOAT16"},
        {store(small_copy(), 11), "there is no such reduction of FLOAT16"},
        {with([](Recorded& r) { r.rank = 3; }),
         "a tensor map of 2 dimensions, and the instruction has 3"},
        {with([](Recorded& r) {
             r.rank = 3;
             r.op = 1;
         }),
         "a tensor map of 2 dimensions, and the instruction has 3"},
        {with([](Recorded& r) { r.map[9] |= 0x18; }), "the 128 bytes there are no tensor map"},
        // As tensormap.replace may leave it.
        {changed_map([](TensorMap& m) { m.box[0] = 9; }),
         "boxDim[0] = 9 of 2 bytes each, 18 bytes, is not a multiple of 16 bytes"},
        {changed_map([](TensorMap& m) {
             m.box[0] = 32;
             m.swizzle = isa::TensorSwizzle::bytes_32;
         }),
         "boxDim[0] = 32 of 2 bytes each, 64 bytes, is more than the 32 of the swizzle"},
        {changed_map([](TensorMap& m) {
             m.type = isa::TensorType::u16;
             m.fill = isa::TensorFill::nan;
         }),
         "oobFill = NAN_REQUEST_ZERO_FMA, and tensorDataType = UINT16 is no floating-point type"},
        {of_im2col(0, {0, 0, 0}, nothing), "an im2col tensor map, and the instruction has .tile"},
        {of_im2col(1, {0, -2, 0}, nothing), "coordinate 1 = -2 is outside the pixel box, -1 to 4"},
        {of_im2col(1, {0, 5, 0}, nothing), "coordinate 1 = 5 is outside the pixel box, -1 to 4"},
        {of_im2col(3, {0, 0, 0}, nothing),
         "pixelBoxLowerCorner[0] = -1 is outside the tensor, and it is a store"},
        {of_im2col(3, {0, 0, 0},
                   [](TensorMap& m) {
                       m.lower = {};
                       m.upper = {1, 0, 0};
                   }),
         "pixelBoxUpperCorner[0] = 1 is outside the tensor, and it is a store"},
    };
    for (const auto& c : cases) {
        const std::string fault = fault_of(run_copy(c.copy).result);
        EXPECT_TRUE(fault.starts_with("illegal instruction: " + c.words))
            << fault << "\n  expected " << c.words;
    }
    Recorded r = small_copy();
    r.shared = 64;
    EXPECT_NE(fault_of(run_copy(r).result).find("must be a multiple of 128"), std::string::npos);
    r = changed_map([](TensorMap& m) { m.dim[1] = 1 << 20; });
    r.at = {0, 1 << 19};
    EXPECT_TRUE(fault_of(run_copy(r).result).starts_with("address out of bounds"));
    r = changed_map([](TensorMap& m) { m.address += 8; });
    EXPECT_TRUE(fault_of(run_copy(r).result)
                    .starts_with("misaligned address: a tensor must begin at a multiple of 16"))
        << fault_of(run_copy(r).result);
}

// Lanes copy one after another. Behind one whose map is refused none does anything: lane 0 has map
// 0, lane 1 map 1.
TEST(TensorCopy, NothingIsReducedBehindALaneThatIsRefused) {
    const std::string text = R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 t, .param .u64 m)
{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
.shared .align 128 .b8 box[128];
ld.param.u64 %rd1, [m]; mov.u32 %r1, %tid.x; mov.u32 %r2, box;
mad.wide.u32 %rd2, %r1, 128, %rd1;
setp.lt.u32 %p1, %r1, 2;
@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.tile.bulk_group [%rd2, {0, 0}], [%r2];
ret;
}
)";
    const auto after = [&](isa::TensorType first, const std::string& expected) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.buffers = {words_by(region_bytes, region_word), Bytes(256)};
        for (const bool second : {false, true}) {
            TensorMap m{.type = second ? isa::TensorType::u32 : first, .rank = 2};
            m.address = buffer_address(0);
            m.dim = {20, 10, 1, 1, 1};
            m.stride = {80, 0, 0, 0};
            m.box = {8, 4, 1, 1, 1};
            const TensorMapBytes map = isa::encode(m);
            std::ranges::copy(map, given.buffers[1].begin() + (second ? 128 : 0));
        }
        Outcome out = run(program_of(text, given.arch), given);
        EXPECT_TRUE(fault_of(out.result).starts_with(expected)) << fault_of(out.result);
        return std::move(out.buffers[0]);
    };
    const Bytes before = words_by(region_bytes, region_word);
    EXPECT_NE(after(isa::TensorType::u32, ""), before);
    EXPECT_EQ(after(isa::TensorType::f16, "illegal instruction: there is no such reduction"),
              before);
}

// A barrier that expects other bytes than the box has never opens.
TEST(TensorCopy, WrongByteCountIsADeadlock) {
    Recorded r = small_copy();
    r.bytes += 16;
    const std::string fault = fault_of(run_copy(r).result);
    EXPECT_TRUE(fault.starts_with("deadlock")) << fault;
    EXPECT_NE(fault.find("16 bytes"), std::string::npos) << fault;
}

struct Replaced {
    std::string text;
    void (*change)(TensorMap&);
};

// Each field, in shared and in global memory: afterwards the map is as the driver encodes the
// changed one, but for what the driver notes of the box.
TEST(TensormapReplace, EveryField) {
    TensorMap base{.type = isa::TensorType::f16, .rank = 3, .address = 0x1000};
    base.dim = {64, 32, 16, 1, 1};
    base.stride = {128, uint64_t{5} << 36, 0, 0};
    base.box = {8, 3, 2, 1, 1};
    const Replaced rows[] = {
        {"global_address%s.b1024.b64 [%a], 0x7654321000;",
         [](TensorMap& m) { m.address = 0x7654321000; }},
        {"rank%s.b1024.b32 [%a], 1;",
         [](TensorMap& m) {
             m.rank = 2;
             m.stride[1] = 0;
             m.dim[2] = m.box[2] = 1;
         }},
        {"box_dim%s.b1024.b32 [%a], 0, 256;", [](TensorMap& m) { m.box[0] = 256; }},
        {"box_dim%s.b1024.b32 [%a], 2, 77;", [](TensorMap& m) { m.box[2] = 77; }},
        {"global_dim%s.b1024.b32 [%a], 1, 1000000;", [](TensorMap& m) { m.dim[1] = 1000000; }},
        {"global_stride%s.b1024.b64 [%a], 1, 0x9876543210;",
         [](TensorMap& m) { m.stride[1] = 0x9876543210; }},
        {"global_stride%s.b1024.b64 [%a], 0, 48;", [](TensorMap& m) { m.stride[0] = 48; }},
        {"element_stride%s.b1024.b32 [%a], 2, 5;", [](TensorMap& m) { m.element_stride[2] = 5; }},
        {"elemtype%s.b1024.b32 [%a], 10;", [](TensorMap& m) { m.type = isa::TensorType::bf16; }},
        {"elemtype%s.b1024.b32 [%a], 11;", [](TensorMap& m) { m.type = isa::TensorType::tf32; }},
        {"interleave_layout%s.b1024.b32 [%a], 1;",
         [](TensorMap& m) { m.interleave = isa::TensorInterleave::bytes_16; }},
        {"swizzle_mode%s.b1024.b32 [%a], 3;",
         [](TensorMap& m) { m.swizzle = isa::TensorSwizzle::bytes_128; }},
        {"fill_mode%s.b1024.b32 [%a], 1;", [](TensorMap& m) { m.fill = isa::TensorFill::nan; }},
    };
    for (const std::string space : {".shared::cta", ".global", ""})
        for (const Replaced& row : rows) {
            std::string text = "tensormap.replace.tile." + row.text;
            text.replace(text.find("%s"), 2, space);
            text.replace(text.find("%a"), 2, space == ".shared::cta" ? "sm" : "%rd1");
            std::string body;
            const bool shared = space == ".shared::cta";
            for (int i = 0; shared && i < 16; ++i) {
                const std::string at = std::to_string(8 * i);
                body +=
                    "ld.global.u64 %rd5, [%rd1+" + at + "]; st.shared.u64 [sm+" + at + "], %rd5;\n";
            }
            body += "setp.eq.u32 %p1, %r1, 0;\n@%p1 " + text + "\nbar.sync 0;\n";
            if (shared)
                body +=
                    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                    ".sync.aligned [%rd1], [sm], 128;\n"
                    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
            Given given;
            given.arch = isa::Arch::sm_90;
            const TensorMapBytes before = isa::encode(base);
            given.buffers = {Bytes(before.begin(), before.end()), Bytes(128)};
            given.buffers[0].resize(136, 0xa5);
            std::string module = kernel(".shared .align 128 .b8 sm[128];\n" + body, {}, "sm_90a");
            module.replace(module.find(".version 8.0"), 12, ".version 8.6");
            const Outcome out = run_well(program_of(module, given.arch), std::move(given));
            TensorMapBytes after{};
            std::copy_n(out.buffers[0].begin(), after.size(), after.begin());
            TensorMap expected = base;
            row.change(expected);
            const auto got = isa::decode_tensor_map(after);
            ASSERT_TRUE(got) << text;
            EXPECT_EQ(*got, expected) << text;
            // What the driver notes of the box stays.
            EXPECT_TRUE(std::equal(after.begin() + 0x3c, after.end(), before.begin() + 0x3c));
            EXPECT_EQ(std::count(out.buffers[0].begin() + 128, out.buffers[0].end(), 0xa5), 8);
        }
}

}  // namespace

}  // namespace lockwarp::exec::tensor_copy_test
