// SPDX-License-Identifier: Apache-2.0
#include "cuda/image.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace lockwarp::cuda {

namespace {

constexpr uint32_t fat_magic = 0xba55ed50;
constexpr std::array<char, 4> elf_magic{0x7f, 'E', 'L', 'F'};
constexpr uint64_t fat_header = 16;
constexpr uint16_t kind_ptx = 1;
constexpr uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr uint64_t max_text = uint64_t{1} << 30;

template <class T>
T at(std::span<const char> bytes, uint64_t offset) {
    T value{};
    if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
        std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// A part of a fat binary: header, then payload.
struct Entry {
    uint16_t kind = 0;
    uint32_t sm = 0;
    uint64_t flags = 0, raw_size = 0;
    std::span<const char> payload;
};

constexpr uint64_t least_entry_header = 64;

// The entry at `offset`, and where the next one begins; nullopt where it does not fit.
std::optional<Entry> entry_at(std::span<const char> bytes, uint64_t& offset) {
    const std::span<const char> rest = bytes.subspan(offset);
    const uint64_t header = at<uint32_t>(rest, 4);
    const uint64_t padded = at<uint64_t>(rest, 8);
    const uint64_t compressed = at<uint32_t>(rest, 16);
    if (rest.size() < least_entry_header || header < least_entry_header || header > rest.size() ||
        padded > rest.size() - header || compressed > padded)
        return std::nullopt;
    Entry e;
    e.kind = at<uint16_t>(rest, 0);
    e.sm = at<uint32_t>(rest, 28);
    e.flags = at<uint64_t>(rest, 40);
    e.raw_size = at<uint64_t>(rest, 56);
    e.payload = rest.subspan(header, compressed != 0 ? compressed : padded);
    offset += header + padded;
    return e;
}

// A frame that says another size than the fat binary does is not unpacked.
std::string zstd_frame(std::span<const char> in, uint64_t size) {
    const unsigned long long said = ZSTD_getFrameContentSize(in.data(), in.size());
    if (said == ZSTD_CONTENTSIZE_ERROR || (said != ZSTD_CONTENTSIZE_UNKNOWN && said != size))
        return {};
    std::string out(size, '\0');
    const size_t made = ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
    return ZSTD_isError(made) == 0 && made == size ? out : std::string();
}

// Without the zeros that fill it up.
std::string text_of(const Entry& e) {
    std::string text;
    if (e.raw_size > max_text) return {};
    if ((e.flags & flag_zstd) != 0)
        text = zstd_frame(e.payload, e.raw_size);
    else if ((e.flags & flag_lz4) != 0)
        text = lz4_block(e.payload, e.raw_size);
    else
        text.assign(e.payload.begin(), e.payload.end());
    text.resize(std::min(text.size(), text.find('\0')));
    return text;
}

// PTX of a fat binary, and its .target: "sm_90a" is for that machine alone, "sm_100f" for its
// family.
struct Ptx {
    uint32_t sm = 0;
    char suffix = 0;
    std::string text;
};

char suffix_of(std::string_view text) {
    size_t at = text.find(".target");
    at = at == std::string_view::npos ? at : text.find("sm_", at);
    at = at == std::string_view::npos ? at : text.find_first_not_of("0123456789", at + 3);
    return at != std::string_view::npos && (text[at] == 'a' || text[at] == 'f') ? text[at] : '\0';
}

bool suits(const Ptx& p, unsigned number) {
    return p.suffix == 'a'   ? p.sm == number
           : p.suffix == 'f' ? p.sm <= number && p.sm / 10 == number / 10
                             : p.sm <= number;
}

// The best one first: the newest, and of one number that with the most instructions.
bool is_better(const Ptx& a, const Ptx& b) {
    const auto rank = [](char suffix) { return suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0; };
    return std::pair(a.sm, rank(a.suffix)) > std::pair(b.sm, rank(b.suffix));
}

Image refused(Result result, std::string wrong) { return {{}, std::move(wrong), result}; }

Image read_fat_binary(std::span<const char> bytes, unsigned number) {
    const uint64_t header = at<uint16_t>(bytes, 6), size = at<uint64_t>(bytes, 8);
    if (header < fat_header || header > bytes.size() || size > bytes.size() - header)
        return refused(invalid_image, "a fat binary that is cut off");
    const std::span<const char> body = bytes.subspan(header, size);
    std::vector<Ptx> found;
    std::string machine;
    for (uint64_t offset = 0; offset < body.size();) {
        const std::optional<Entry> e = entry_at(body, offset);
        if (!e) return refused(invalid_image, "a fat binary whose parts do not fit into it");
        if (e->kind != kind_ptx) {
            machine += (machine.empty() ? "sm_" : ", sm_") + std::to_string(e->sm);
            continue;
        }
        std::string text = text_of(*e);
        if (text.empty())
            return refused(invalid_image, "PTX in a fat binary that cannot be unpacked");
        found.push_back({e->sm, suffix_of(text), std::move(text)});
    }
    if (found.empty())
        return refused(no_binary_for_gpu,
                       "machine code for " + (machine.empty() ? "no architecture" : machine) +
                           " alone: PTX is needed (nvcc -gencode arch=compute_80,code=compute_80)");
    Image out;
    std::ranges::stable_sort(found, is_better);
    for (Ptx& p : found)
        if (suits(p, number)) out.texts.push_back(std::move(p.text));
    if (out.texts.empty()) {
        const Ptx& least = found.back();
        std::string target = "sm_" + std::to_string(least.sm);
        target += least.suffix == 0 ? " and higher" : std::string(1, least.suffix);
        return refused(no_binary_for_gpu,
                       "PTX for " + target + " alone, and this is sm_" + std::to_string(number));
    }
    return out;
}

}  // namespace

bool is_machine_code(const void* image) {
    return std::memcmp(image, elf_magic.data(), elf_magic.size()) == 0;
}

bool is_fat_binary(const void* image) {
    return std::memcmp(image, &fat_magic, sizeof fat_magic) == 0;
}

bool begins_as_ptx(std::string_view text) {
    for (;;) {
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n\f\v")));
        const std::string_view end = text.starts_with("//") ? "\n" : "*/";
        if (end == "*/" && !text.starts_with("/*")) return text.starts_with(".version");
        const size_t at = text.find(end, 2);
        if (at == std::string_view::npos) return false;
        text.remove_prefix(at + end.size());
    }
}

uint64_t fat_binary_bytes(const void* image) {
    if (!is_fat_binary(image)) return 0;
    const std::span<const char> header(static_cast<const char*>(image), fat_header);
    const uint64_t head = at<uint16_t>(header, 6), size = at<uint64_t>(header, 8);
    return size > UINT64_MAX - head ? 0 : head + size;
}

Image read_image(std::span<const char> bytes, unsigned number) {
    if (bytes.size() < elf_magic.size()) return refused(invalid_image, "an image of a few bytes");
    if (is_machine_code(bytes.data()))
        return refused(no_binary_for_gpu, "a module of machine code: PTX is needed");
    if (is_fat_binary(bytes.data())) return read_fat_binary(bytes, number);
    Image out;
    out.texts.emplace_back(bytes.begin(), std::ranges::find(bytes, '\0'));
    return out;
}

// The LZ4 block format: sequences of a token, literals, and a match behind the bytes so far.
std::string lz4_block(std::span<const char> in, uint64_t size) {
    std::string out;
    out.reserve(std::min<uint64_t>(size, in.size() * uint64_t{255}));
    uint64_t at_byte = 0;
    const auto next = [&]() -> int {
        return at_byte < in.size() ? static_cast<unsigned char>(in[at_byte++]) : -1;
    };
    // 15 goes on in bytes of which the first below 255 is the last.
    const auto length = [&](uint64_t n) -> std::optional<uint64_t> {
        if (n != 15) return n;
        for (int b = 255; b == 255; n += static_cast<uint64_t>(b))
            if ((b = next()) < 0) return std::nullopt;
        return n;
    };
    while (at_byte < in.size()) {
        const auto token = static_cast<uint64_t>(next());
        const std::optional<uint64_t> literals = length(token >> 4);
        if (!literals || *literals > in.size() - at_byte || *literals > size - out.size())
            return {};
        out.append(in.data() + at_byte, *literals);
        at_byte += *literals;
        if (at_byte == in.size()) break;  // the last sequence has no match
        const int low = next(), high = next();
        const std::optional<uint64_t> match = length(token & 15);
        const uint64_t back = static_cast<uint64_t>(low) | static_cast<uint64_t>(high) << 8;
        if (high < 0 || !match || back == 0 || back > out.size() || *match + 4 > size - out.size())
            return {};
        for (uint64_t n = *match + 4; n != 0; --n) out.push_back(out[out.size() - back]);
    }
    return out.size() == size ? out : std::string();
}

std::vector<const void*> linked_binaries(const Wrapper& w) {
    constexpr uint32_t version_with_list = 2;
    std::vector<const void*> out;
    if (w.version == version_with_list && w.linked != nullptr)
        for (const void* const* at = w.linked; *at != nullptr; ++at) out.push_back(*at);
    return out;
}

std::span<const char> image_bytes(const void* image) {
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof magic);
    if (magic == wrapper_magic) {
        Wrapper wrapper;
        std::memcpy(&wrapper, image, sizeof wrapper);
        if (wrapper.data == nullptr) return {};
        image = wrapper.data;
    }
    const auto* const bytes = static_cast<const char*>(image);
    if (is_machine_code(image)) return {bytes, sizeof magic};
    if (!is_fat_binary(image)) return {bytes, std::strlen(bytes)};
    const uint64_t size = fat_binary_bytes(image);
    return size != 0 ? std::span(bytes, size) : std::span<const char>();
}

}  // namespace lockwarp::cuda
