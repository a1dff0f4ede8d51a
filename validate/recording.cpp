// SPDX-License-Identifier: Apache-2.0
#include "validate/recording.hpp"

#include <zstd.h>

#include <algorithm>
#include <numeric>

#include "emu/lockwarp.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint8_t newest = 4;
constexpr uint32_t usual_optimization = 4;
constexpr auto magic = std::to_array<uint8_t>({'L', 'W', 'R'});
constexpr size_t header_bytes = 36;
constexpr uint64_t word_bytes = 8 * 32;  // of one word of all lanes of a warp

constexpr uint32_t max_threads = 1024;  // of a CTA, as the emulator and every GPU have it
constexpr uint32_t max_grid_x = INT32_MAX;
constexpr uint32_t max_grid_yz = UINT16_MAX;

uint64_t checksum(std::span<const uint8_t> bytes) {
    uint64_t h = 0xcbf29ce484222325;
    for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3;
    return h;
}

class Writer {
  public:
    std::vector<uint8_t> out;

    void u8(uint8_t v) { out.push_back(v); }
    void u32(uint32_t v) { number(v, 4); }
    void u64(uint64_t v) { number(v, 8); }
    void bytes(std::span<const uint8_t> v) {
        u64(v.size());
        out.insert(out.end(), v.begin(), v.end());
    }
    void text(const std::string& v) {
        u64(v.size());
        out.insert(out.end(), v.begin(), v.end());
    }

  private:
    void number(uint64_t v, unsigned size) {
        for (unsigned i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
};

// Takes fields off the front. Where there are too few bytes it gives zeros from then on, and
// `good` is false.
class Reader {
  public:
    explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

    bool good = true;

    uint8_t u8() { return static_cast<uint8_t>(number(1)); }
    uint32_t u32() { return static_cast<uint32_t>(number(4)); }
    uint64_t u64() { return number(8); }
    // A list's count; each entry takes at least `least` bytes.
    uint64_t count(uint64_t least) {
        const uint64_t n = u64();
        if (n <= left_.size() / least) return n;
        good = false;
        return 0;
    }
    std::span<const uint8_t> take(uint64_t n) {
        if (!good || n > left_.size()) {
            good = false;
            return {};
        }
        const std::span<const uint8_t> out = left_.first(n);
        left_ = left_.subspan(n);
        return out;
    }
    std::vector<uint8_t> bytes() {
        const std::span<const uint8_t> v = take(u64());
        return {v.begin(), v.end()};
    }
    std::string text() {
        const std::span<const uint8_t> v = take(u64());
        return {v.begin(), v.end()};
    }
    size_t left() const { return left_.size(); }

  private:
    uint64_t number(unsigned size) {
        uint64_t v = 0;
        const std::span<const uint8_t> from = take(size);
        for (size_t i = 0; i < from.size(); ++i) v |= uint64_t{from[i]} << (8 * i);
        return v;
    }

    std::span<const uint8_t> left_;
};

uint64_t warps_of(const launch::Case& c) { return (c.block.count() + 31) / 32; }

void exclusive_or(std::span<uint8_t> to, std::span<const uint8_t> with) {
    for (size_t i = 0; i < to.size(); ++i) to[i] ^= with[i];
}

// Words of a warp's track up to its last that is not zero in all lanes.
uint64_t kept_words(std::span<const uint8_t> track) {
    uint64_t n = track.size();
    while (n != 0 && track[n - 1] == 0) --n;
    return (n + word_bytes - 1) / word_bytes;
}

void write_tracks(const Tracks& t, uint64_t warps, Writer& w) {
    for (const uint64_t v :
         {t.window.first, t.window.words, t.window.first_cta, t.window.ctas, t.slack})
        w.u64(v);
    const uint64_t track = (t.window.words + t.slack) * word_bytes;
    const uint64_t count = t.window.ctas * warps;
    const std::span<const uint8_t> all(t.words);
    std::vector<uint64_t> kept(count);
    for (uint64_t i = 0; i < count; ++i) {
        kept[i] = kept_words(all.subspan(i * track, track));
        w.u64(kept[i]);
    }
    for (size_t plane = 0; plane < 8; ++plane)
        for (uint64_t i = 0; i < count; ++i)
            for (uint64_t at = plane; at < kept[i] * word_bytes; at += 8)
                w.out.push_back(all[i * track + at]);
}

// One window. `room`: bytes that tracks may still have; what is taken is subtracted.
launch::Result<void> read_tracks(Reader& r, const launch::Case& c, uint64_t& room, Tracks& t) {
    gpu::TraceWindow& w = t.window;
    for (uint64_t* v : {&w.first, &w.words, &w.first_cta, &w.ctas, &t.slack}) *v = r.u64();
    if (!r.good) return {};
    const uint64_t max_words = room / word_bytes;
    constexpr uint64_t far = uint64_t{1} << 40;  // first + words is far from overflow
    if (w.ctas == 0 || w.ctas > c.grid.count() || w.first_cta > c.grid.count() - w.ctas)
        return launch::failure("a window of its tracks has CTAs that the grid has not");
    const uint64_t warps = warps_of(c);
    if (w.first > far || w.words > max_words || t.slack > max_words ||
        w.ctas > r.left() / 8 / warps || w.words + t.slack > max_words / (w.ctas * warps))
        return launch::failure("a window of its tracks is larger than what is in it can be");
    const uint64_t track = (w.words + t.slack) * word_bytes;
    std::vector<uint64_t> kept(w.ctas * warps);
    uint64_t lanes = 0;  // at most max_words * 32
    for (uint64_t& k : kept) {
        k = r.u64();
        if (k > w.words + t.slack) return launch::failure("a track is longer than its window");
        lanes += k * 32;
    }
    const std::span<const uint8_t> planes = r.take(lanes * 8);
    if (!r.good) return {};
    t.words.resize(gpu::trace_bytes(w, t.slack, warps));
    room -= t.words.size();
    uint64_t from = 0;
    for (uint64_t i = 0; i < kept.size(); ++i)
        for (uint64_t lane = 0; lane < kept[i] * 32; ++lane, ++from)
            for (size_t plane = 0; plane < 8; ++plane)
                t.words[i * track + lane * 8 + plane] = planes[plane * lanes + from];
    return {};
}

void write_case(const launch::Case& c, Writer& w) {
    w.text(c.entry);
    for (const uint32_t v : {c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z})
        w.u32(v);
    w.u32(c.dynamic_shared);
    w.bytes(c.parameters);
    w.u64(c.patches.size());
    for (const launch::Patch& p : c.patches) {
        w.u32(p.at);
        w.u64(p.buffer);
        w.u64(p.offset);
    }
    w.u64(c.bytes.size());
    for (size_t i = 0; i < c.bytes.size(); ++i) {
        w.text(i < c.names.size() ? c.names[i] : std::string());
        w.bytes(c.bytes[i]);
    }
}

void read_case(Reader& r, launch::Case& c) {
    c.entry = r.text();
    for (uint32_t* v : {&c.grid.x, &c.grid.y, &c.grid.z, &c.block.x, &c.block.y, &c.block.z})
        *v = r.u32();
    c.dynamic_shared = r.u32();
    c.parameters = r.bytes();
    constexpr uint64_t patch_bytes = 4 + 8 + 8, least_buffer_bytes = 8 + 8;
    c.patches.resize(r.count(patch_bytes));
    for (launch::Patch& p : c.patches) {
        p.at = r.u32();
        p.buffer = r.u64();
        p.offset = r.u64();
    }
    c.bytes.resize(r.count(least_buffer_bytes));
    c.names.resize(c.bytes.size());
    for (size_t i = 0; i < c.bytes.size(); ++i) {
        c.names[i] = r.text();
        c.bytes[i] = r.bytes();
    }
}

void write_answer(const Answer& a, const launch::Case& c, Writer& w) {
    w.text(a.device.name);
    w.text(a.device.driver);
    w.u32(a.device.number);
    w.u32(a.device.clock_mhz);
    w.u64(a.device.memory);
    w.u64(a.addresses.size());
    for (const uint64_t v : a.addresses) w.u64(v);
    w.u8(static_cast<uint8_t>(a.ran.outcome));
    w.text(a.ran.what);
    w.u8(static_cast<uint8_t>(a.ran.fault));
    w.u64(a.outputs.size());
    for (size_t i = 0; i < a.outputs.size(); ++i) {
        w.bytes(a.outputs[i]);
        if (i < c.bytes.size() && c.bytes[i].size() == a.outputs[i].size())
            exclusive_or(std::span(w.out).last(a.outputs[i].size()), c.bytes[i]);
    }
    w.u64(a.traced.size());
    std::vector<uint8_t> bits((a.traced.size() + 7) / 8);
    for (size_t i = 0; i < a.traced.size(); ++i)
        if (a.traced[i]) bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    w.out.insert(w.out.end(), bits.begin(), bits.end());
    w.u64(a.tracks.size());
    for (const Tracks& t : a.tracks) write_tracks(t, warps_of(c), w);
}

// Everything before the tracks.
launch::Result<void> read_answer(Reader& r, const launch::Case& c, Answer& a) {
    a.device.name = r.text();
    a.device.driver = r.text();
    a.device.number = r.u32();
    a.device.clock_mhz = r.u32();
    a.device.memory = r.u64();
    a.addresses.resize(r.count(8));
    for (uint64_t& v : a.addresses) v = r.u64();
    const uint8_t outcome = r.u8();
    a.ran.what = r.text();
    const uint8_t fault = r.u8();
    if (outcome > static_cast<uint8_t>(gpu::Outcome::hung) ||
        fault > static_cast<uint8_t>(gpu::Fault::launch_failed))
        return launch::failure("an outcome that this version does not know");
    a.ran.outcome = static_cast<gpu::Outcome>(outcome);
    a.ran.fault = static_cast<gpu::Fault>(fault);
    a.outputs.resize(r.count(8));
    if (!a.outputs.empty() && a.outputs.size() != c.bytes.size())
        return launch::failure("its buffers afterwards are not as many as before");
    for (size_t i = 0; i < a.outputs.size() && r.good; ++i) {
        a.outputs[i] = r.bytes();
        if (a.outputs[i].size() != c.bytes[i].size())
            return launch::failure("a buffer afterwards has another size");
        exclusive_or(a.outputs[i], c.bytes[i]);
    }
    const uint64_t operations = r.u64();
    const std::span<const uint8_t> bits = r.take(operations / 8 + (operations % 8 != 0 ? 1 : 0));
    if (!r.good) return {};
    a.traced.resize(operations);
    for (size_t i = 0; i < bits.size() * 8; ++i) {
        const bool bit = (bits[i / 8] >> (i % 8) & 1) != 0;
        if (i < operations)
            a.traced[i] = bit;
        else if (bit)
            return launch::failure("more operations than it says");
    }
    return {};
}

// Texts are shown to a person, on a terminal.
bool plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }
bool plain_line(const std::string& s) { return std::ranges::all_of(s, plain); }
bool plain_lines(const std::string& s) {
    return std::ranges::all_of(s, [](char c) { return plain(c) || c == '\n' || c == '\t'; });
}

launch::Result<void> check_names(const Recording& r) {
    if (r.name.find('/') != std::string::npos) return launch::failure("its name has a folder");
    const Answer& a = r.answer;
    if (!plain_line(r.name) || !plain_line(r.made_by) || !plain_line(a.device.name) ||
        !plain_line(a.device.driver) || !std::ranges::all_of(r.c.names, plain_line) ||
        !plain_lines(a.ran.what))
        return launch::failure("a name with control characters");
    return {};
}

launch::Result<void> check_case(const launch::Case& c) {
    const warp::Dim3 g = c.grid, b = c.block;
    if (g.count() == 0 || g.x > max_grid_x || g.y > max_grid_yz || g.z > max_grid_yz)
        return launch::failure("a grid that cannot be");
    // Two sides that are not too long: the product is none of more than 64 bits.
    if (b.y > max_threads || b.z > max_threads || b.count() == 0 || b.count() > max_threads)
        return launch::failure("a block that cannot be");
    for (const launch::Patch& p : c.patches)
        if (p.buffer >= c.bytes.size() || c.parameters.size() < sizeof(uint64_t) ||
            p.at > c.parameters.size() - sizeof(uint64_t))
            return launch::failure("an address outside the parameters, or of no buffer");
    return {};
}

launch::Result<void> check_addresses(const launch::Case& c,
                                     const std::vector<uint64_t>& addresses) {
    if (addresses.size() != c.bytes.size())
        return launch::failure("not as many addresses as buffers");
    std::vector<size_t> order(addresses.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {},
                      [&](size_t i) { return std::pair(addresses[i], c.bytes[i].size()); });
    for (size_t i = 0; i < order.size(); ++i) {
        const uint64_t at = addresses[order[i]];
        const uint64_t room = i + 1 < order.size() ? addresses[order[i + 1]] - at : UINT64_MAX - at;
        if (c.bytes[order[i]].size() > room) return launch::failure("buffers that overlap");
    }
    return {};
}

// Parses the source, and resolves it as the engine ran it.
launch::Result<void> check_program(Recording& r) {
    const std::optional<isa::Arch> arch = isa::arch_named(r.arch);
    if (!arch) return launch::failure("recorded on a machine that is not modelled");
    ptx::Parsed parsed = ptx::parse(r.ptx);
    std::vector<ptx::Diagnostic> wrong = std::move(parsed.diagnostics);
    if (wrong.empty()) {
        const isa::Resolved resolved =
            isa::resolve(gpu::with_explicit_rounding(parsed.module), *arch, r.c.entry);
        wrong = resolved.diagnostics;
        if (wrong.empty() && !r.answer.traced.empty() &&
            r.answer.traced.size() != resolved.program.operations.size())
            return launch::failure("its tracks are of another program");
    }
    if (!wrong.empty())
        return launch::failure("its PTX is refused: line " + std::to_string(wrong[0].place.line) +
                               ": " + wrong[0].message);
    r.c.module = std::move(parsed.module);
    return {};
}

// The lowest version that has all its fields.
uint8_t version_of(const Recording& r) {
    const gpu::Orders& orders = r.answer.orders;
    if (r.c.cluster || r.c.non_portable_cluster) return 4;
    if (r.answer.optimization != usual_optimization ||
        std::ranges::find(orders, gpu::Ordered::result) != orders.end())
        return 3;
    return r.c.cooperative || !orders.empty() ? 2 : 1;
}

launch::Result<void> read_order(Reader& r, Recording& out) {
    const uint8_t cooperative = r.u8();
    out.answer.orders.resize(r.count(1));
    for (gpu::Ordered& o : out.answer.orders) {
        const uint8_t v = r.u8();
        if (v > static_cast<uint8_t>(gpu::Ordered::result))
            return launch::failure("an order that this version does not know");
        o = static_cast<gpu::Ordered>(v);
    }
    out.c.cooperative = cooperative != 0;
    if (cooperative > 1) return launch::failure("a launch that this version does not know");
    const size_t operations = out.answer.orders.size();
    if (operations != 0 && operations != out.answer.traced.size())
        return launch::failure("its order is of another program");
    if (!r.good || r.left() == 0) return {};
    out.answer.optimization = r.u8();
    if (out.answer.optimization > usual_optimization)
        return launch::failure("an optimization that there is not");
    if (!r.good || r.left() == 0) return {};
    warp::Dim3 cluster;
    for (uint32_t* v : {&cluster.x, &cluster.y, &cluster.z}) *v = r.u32();
    // No dimension of one that was asked for is 0.
    if (cluster.count() != 0) out.c.cluster = cluster;
    const uint8_t non_portable = r.u8();
    out.c.non_portable_cluster = non_portable != 0;
    if (non_portable > 1) return launch::failure("a cluster that this version does not know");
    return {};
}

launch::Result<void> read_fields(Reader& r, Recording& out) {
    out = Recording{};
    for (std::string* s : {&out.name, &out.ptx, &out.arch, &out.made_by}) *s = r.text();
    read_case(r, out.c);
    if (launch::Result<void> ok = read_answer(r, out.c, out.answer); !ok) return ok;
    const uint64_t windows = r.count(5 * 8);
    if (!r.good) return {};
    if (launch::Result<void> ok = check_names(out); !ok) return ok;
    if (launch::Result<void> ok = check_case(out.c); !ok) return ok;
    if (launch::Result<void> ok = check_addresses(out.c, out.answer.addresses); !ok) return ok;
    if (launch::Result<void> ok = check_program(out); !ok) return ok;
    uint64_t room = max_recorded;
    for (uint64_t i = 0; i < windows; ++i)
        if (launch::Result<void> ok = read_tracks(r, out.c, room, out.answer.tracks.emplace_back());
            !ok)
            return ok;
    if (r.good && r.left() != 0)
        if (launch::Result<void> ok = read_order(r, out); !ok) return ok;
    if (r.left() != 0) return launch::failure("bytes after its last field");
    return {};
}

}  // namespace

namespace detail {

std::vector<uint8_t> body_of(const Recording& recording) {
    Writer w;
    for (const std::string* s :
         {&recording.name, &recording.ptx, &recording.arch, &recording.made_by})
        w.text(*s);
    write_case(recording.c, w);
    write_answer(recording.answer, recording.c, w);
    const uint8_t version = version_of(recording);
    if (version == 1) return std::move(w.out);
    w.u8(recording.c.cooperative ? 1 : 0);
    w.u64(recording.answer.orders.size());
    for (const gpu::Ordered o : recording.answer.orders) w.u8(static_cast<uint8_t>(o));
    if (version >= 3) w.u8(static_cast<uint8_t>(recording.answer.optimization));
    if (version >= 4) {
        const warp::Dim3 cluster = recording.c.cluster.value_or(warp::Dim3{0, 0, 0});
        for (const uint32_t v : {cluster.x, cluster.y, cluster.z}) w.u32(v);
        w.u8(recording.c.non_portable_cluster ? 1 : 0);
    }
    return std::move(w.out);
}

launch::Result<Recording> parse_body(std::span<const uint8_t> body) {
    Reader r(body);
    Recording out;
    const launch::Result<void> read = read_fields(r, out);
    if (!r.good) return launch::failure("not right: a field ends early");
    if (!read) return launch::failure("not right: " + read.error().sentence);
    return out;
}

std::vector<uint8_t> seal(std::span<const uint8_t> body, int level, uint8_t version) {
    std::vector<uint8_t> frame(ZSTD_compressBound(body.size()));
    const size_t size = ZSTD_compress(frame.data(), frame.size(), body.data(), body.size(), level);
    if (ZSTD_isError(size)) return {};
    frame.resize(size);
    Writer w;
    w.out.assign(magic.begin(), magic.end());
    w.u8(version);
    w.u64(frame.size());
    w.u64(body.size());
    w.u64(checksum(frame));
    w.u64(checksum(w.out));
    w.out.insert(w.out.end(), frame.begin(), frame.end());
    return std::move(w.out);
}

launch::Result<std::vector<uint8_t>> unseal(std::span<const uint8_t> file) {
    using launch::failure;
    if (file.size() <= magic.size() || !std::ranges::equal(file.first(magic.size()), magic) ||
        file[magic.size()] == 0)
        return failure("not a Lockwarp recording");
    if (const unsigned v = file[magic.size()]; v > newest)
        return failure("made by a newer Lockwarp (format " + std::to_string(v) +
                       "; this one reads " + std::to_string(newest) + ")");
    if (file.size() < header_bytes) return failure("cut off");
    Reader r(file);
    r.take(magic.size() + 1);
    const uint64_t frame_bytes = r.u64(), body_bytes = r.u64(), frame_sum = r.u64();
    if (r.u64() != checksum(file.first(header_bytes - 8))) return failure("damaged (checksum)");
    const std::span<const uint8_t> frame = file.subspan(header_bytes);
    if (frame.size() < frame_bytes) return failure("cut off");
    if (frame.size() > frame_bytes) return failure("damaged (bytes after its end)");
    if (checksum(frame) != frame_sum) return failure("damaged (checksum)");
    // A block of a frame has at least 4 bytes and at most 128 KiB of content.
    if (body_bytes > max_recorded || body_bytes / (128 << 10) > frame_bytes / 4 ||
        ZSTD_getFrameContentSize(frame.data(), frame.size()) != body_bytes ||
        ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
        return failure("damaged (its size is not what it says)");
    std::vector<uint8_t> body(body_bytes);
    const size_t size = ZSTD_decompress(body.data(), body.size(), frame.data(), frame.size());
    if (ZSTD_isError(size) || size != body_bytes) return failure("damaged (its frame)");
    return body;
}

}  // namespace detail

std::vector<uint8_t> write_recording(const Recording& recording) {
    uint64_t room = max_recorded;
    for (const Tracks& t : recording.answer.tracks) {
        if (t.words.size() > room ||
            t.words.size() != gpu::trace_bytes(t.window, t.slack, warps_of(recording.c)))
            return {};
        room -= t.words.size();
    }
    const std::vector<uint8_t> body = detail::body_of(recording);
    if (body.size() > max_recorded) return {};
    // The highest level takes about a second for 3 MB.
    constexpr size_t quickly = size_t{32} << 20;
    return detail::seal(body, body.size() <= quickly ? 19 : 9, version_of(recording));
}

launch::Result<Recording> read_recording(std::span<const uint8_t> bytes) {
    launch::Result<std::vector<uint8_t>> body = detail::unseal(bytes);
    if (!body) return launch::failure(body);
    return detail::parse_body(*body);
}

}  // namespace lockwarp::validate
