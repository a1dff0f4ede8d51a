// SPDX-License-Identifier: Apache-2.0
// Copies of random programs that go on beside them, of bytes and by tensor maps, and what the CTAs
// of a cluster do in each other's shared memory. Each warp has its kilobyte of shared memory, an
// mbarrier and its own slice of each tensor, so that no order of the warps shows.
#include <cstring>

#include "emu/exec/tensor.hpp"
#include "emu/isa/requirements.hpp"
#include "emu/isa/tensor_copy.hpp"
#include "programs/generate_writer.hpp"

namespace lockwarp::programs {

namespace {

constexpr unsigned chunk = 16;  // bytes that a copy moves at least
constexpr unsigned warp_shared = 1024, lane_shared = 32;
constexpr unsigned least_slice = 256, max_slice = 4096;  // of a warp, of a tensor

std::string text_of(uint64_t n) { return std::to_string(n); }

std::string at(std::string_view base, uint64_t offset) {
    return "[" + std::string(base) + "+" + text_of(offset) + "]";
}

// The elements that a tensor's bytes hold.
Type element_of(isa::TensorType t) {
    const isa::TensorTypeRow& row = isa::row(t);
    if (!row.is_float) return row.bytes == 8 ? Type::u64 : Type::u32;
    if (row.bytes == 8) return Type::f64;
    if (row.bytes == 4) return Type::f32;
    return t == isa::TensorType::bf16 ? Type::bf16 : Type::f16;
}

}  // namespace

unsigned Writer::cluster_size() const { return options.ctas % 2 == 0 ? 2 : 1; }

void Writer::meet_cluster() {
    unguarded("barrier.cluster.arrive.aligned");
    unguarded("barrier.cluster.wait.aligned");
}

void Writer::flush() {
    body += before;
    before.clear();
}

// What the warp has written is seen by copies from here on.
void Writer::begin_copy(bool of_cluster) {
    flush();
    unguarded("fence.proxy.async");
    unguarded("bar.warp.sync 0xffffffff");
    if (!of_cluster) return;
    in_cluster = true;
    meet_cluster();
}

void Writer::expect(unsigned bytes) {
    unguarded("@%pl mbarrier.arrive.expect_tx.shared::cta.b64 _, [%rbar], " + text_of(bytes));
}

void Writer::await() {
    const std::string label = "W" + text_of(++labels);
    body += label + ":\n";
    unguarded("mbarrier.try_wait.parity.shared::cta.b64 %pw, [%rbar], " + text_of(phases++ % 2));
    unguarded("@!%pw bra " + label);
}

// Stores of the warp have been done.
void Writer::await_stores() {
    unguarded("cp.async.bulk.commit_group");
    if (r.one_in(3)) unguarded("cp.async.bulk.wait_group.read 0");
    unguarded("cp.async.bulk.wait_group 0");
    unguarded("bar.warp.sync 0xffffffff");
}

// A word of the lane's own shared memory, before other lanes write there.
void Writer::look() {
    const std::string d = destination(32);
    emit("ld.shared.b32 " + d + ", " + at("%rw", 4 * r.below(lane_shared / 4)));
    unguarded("bar.warp.sync 0xffffffff");
}

// 16 bytes of each thread's part of the input, with elements of a type.
uint32_t Writer::reserve(Type element) {
    thread_bytes = (thread_bytes + chunk - 1) / chunk * chunk;
    const uint32_t first = thread_bytes;
    const unsigned width = std::max(isa::bits(element), 32u);
    const bool packed = isa::bits(element) < width;
    for (; thread_bytes < first + chunk; thread_bytes += width / 8)
        loads.push_back({packed ? Holds::fragment : Holds::operand, element,
                         packed ? isa::bits(element) : 0, from, thread_bytes, width});
    return first;
}

// The lane's shared memory from `offset` on: 16 bytes of the input.
void Writer::fill(unsigned offset, Type element) {
    const uint32_t place = reserve(element);
    for (unsigned i = 0; i < chunk; i += 4) {
        const std::string word = fresh(32);
        before += "    ld.global.b32 " + word + ", " + at("%qin", place + i) +
                  ";\n    st.shared.b32 " + at("%rw", offset + i) + ", " + word + ";\n";
    }
}

void Writer::copy(const Choice& choice) {
    const isa::Form& f = *choice.form;
    copies = true;
    version = std::max({version, f.ptx, f.also_ptx});
    for (const isa::Requirement* q : isa::demands(f.opcode, modifiers_of(choice.spelling)))
        version = std::max(version, q->ptx);
    const isa::Modifiers m = decoded(choice.spelling);
    switch (f.op) {
        case Op::bulk_load:
            return bulk_load(choice, m);
        case Op::bulk_prefetch:
            load(Type::u32);
            flush();
            return unguarded(choice.spelling + " [%qin], 16" + hint(m));
        case Op::bulk_store:
        case Op::bulk_reduce:
            return bulk_store(choice, m);
        case Op::bulk_send:
        case Op::bulk_send_reduce:
        case Op::async_store:
        case Op::async_reduce:
            return send(choice, m);
        case Op::cluster_arrive:
            begin_copy(false);
            in_cluster = true;
            unguarded(choice.spelling);
            return unguarded("barrier.cluster.wait");
        default:
            return tensor(choice, m);
    }
}

std::string Writer::hint(const isa::Modifiers& m) const { return m.cache_hint ? ", %qpol" : ""; }

// Who issues a copy to one CTA, or the first CTA to all of its cluster.
std::string Writer::mask(const isa::Modifiers& m) {
    if (!m.multicast) return "";
    const std::string ctas = fresh(16);
    unguarded("mov.b16 " + ctas + ", " + text_of((1u << cluster_size()) - 1));
    return ", " + ctas;
}

void Writer::bulk_load(const Choice& choice, const isa::Modifiers& m) {
    load(Type::u32);
    const auto bytes = static_cast<unsigned>(chunk * (1 + r.below(16)));
    const uint64_t from_byte = chunk * r.below((32 * chunk - bytes) / chunk + 1);
    const uint64_t to_byte = chunk * r.below((warp_shared - bytes) / chunk + 1);
    begin_copy(m.multicast);
    expect(bytes);
    if (m.multicast) meet_cluster();
    const std::string ctas = mask(m);
    unguarded((m.multicast ? "@%pf " : "@%pl ") + choice.spelling + " " + at("%rsm", to_byte) +
              ", " + at("%qin", from_byte) + ", " + text_of(bytes) + ", [%rbar]" + ctas + hint(m));
    await();
    look();
}

// Each lane: from its shared memory to its part of the input.
void Writer::bulk_store(const Choice& choice, const isa::Modifiers& m) {
    const Type element = choice.form->op == Op::bulk_store ? Type::u32 : m.type[0];
    const uint32_t place = reserve(element);
    const auto offset = static_cast<unsigned>(chunk * r.below(2));
    fill(offset, element);
    begin_copy(false);
    unguarded(choice.spelling + " " + at("%qin", place) + ", " + at("%rw", offset) + ", 16" +
              hint(m));
    await_stores();
    const std::string d = destination(32);
    emit("ld.global.b32 " + d + ", " + at("%qin", place + 4 * r.below(chunk / 4)));
}

// Each lane to the shared memory of its like in the cluster's other CTA.
void Writer::send(const Choice& choice, const isa::Modifiers& m) {
    const Op op = choice.form->op;
    const bool bulk = op == Op::bulk_send || op == Op::bulk_send_reduce;
    const auto offset = static_cast<unsigned>(chunk * r.below(2));
    unsigned bytes = chunk;
    std::string what;
    if (bulk) {
        what = at("%rw", chunk - offset) + ", 16";
    } else {
        const Type type = m.type[0];
        bytes = m.vec * isa::bits(type) / 8;
        std::vector<std::string> values;
        for (unsigned i = 0; i < m.vec; ++i) values.push_back(source(type));
        what = m.vec == 1 ? values[0] : braced(values);
    }
    begin_copy(true);
    expect(32 * bytes);
    meet_cluster();
    unguarded(choice.spelling + " " + at("%rpeer", offset) + ", " + what + ", [%rpeerbar]");
    await();
    meet_cluster();
    look();
    const std::string d = destination(32);
    emit("ld.shared::cluster.b32 " + d + ", " + at("%rpeer", 4 * r.below(lane_shared / 4)));
    meet_cluster();
}

// By a map of its own, the warp's slice of a tensor: the last dimension counts the warps.
void Writer::tensor(const Choice& choice, const isa::Modifiers& m) {
    const Op op = choice.form->op;
    const bool is_load = op == Op::tensor_load, prefetches = op == Op::tensor_prefetch;
    const isa::TensorDirection direction = is_load      ? isa::TensorDirection::load
                                           : prefetches ? isa::TensorDirection::prefetch
                                                        : isa::TensorDirection::store;
    const bool im2col = choice.spelling.find(".im2col") != std::string::npos;
    const isa::TensorCopy c = draw_copy(m, im2col, direction, op == Op::tensor_reduce);
    const uint64_t slice = c.map.rank == 1 ? c.map.dim[0] / warps() * isa::element_bytes(c.map)
                                           : c.map.stride[c.map.rank - 2];
    const std::string map = fresh(64);
    const uint64_t place = tensors.empty() ? 0 : tensors.back().place + tensors.back().bytes;
    before += "    add.u64 " + map + ", %qmaps, " +
              text_of(isa::tensor_map_bytes * tensors.size()) + ";\n";
    tensors.push_back({c.map, place, (slice * warps() + 255) / 256 * 256 + 256, from});
    std::vector<std::string> coordinates, offsets;
    for (unsigned i = 0; i < c.map.rank; ++i) {
        coordinates.push_back(fresh(32));
        before += "    mov.b32 " + coordinates.back() + ", " + std::to_string(c.at[i]) + ";\n";
    }
    const uint64_t step = c.map.rank == 1 ? c.map.dim[0] / warps() : 1;
    before += "    mad.lo.u32 " + coordinates.back() + ", %rgw, " + text_of(step) + ", " +
              coordinates.back() + ";\n";
    for (unsigned i = 0; c.has_offsets && i + 2 < c.map.rank; ++i) {
        offsets.push_back(fresh(16));
        before += "    mov.b16 " + offsets.back() + ", " + text_of(c.offset[i]) + ";\n";
    }
    const std::string tensor_at = "[" + map + ", " + braced(coordinates) + "]";
    const std::string behind = offsets.empty() ? "" : ", " + braced(offsets);
    if (prefetches) {
        flush();
        return unguarded("@%pl " + choice.spelling + " " + tensor_at + behind + hint(m));
    }
    const uint32_t room = warp_shared - isa::box_bytes(c.map);
    const uint64_t shared = isa::tensor_alignment * r.below(room / isa::tensor_alignment + 1);
    begin_copy(m.multicast);
    if (is_load) {
        expect(isa::copied_bytes(c.map));
        if (m.multicast) meet_cluster();
        const std::string ctas = mask(m);
        unguarded((m.multicast ? "@%pf " : "@%pl ") + choice.spelling + " " + at("%rsm", shared) +
                  ", " + tensor_at + ", [%rbar]" + behind + ctas + hint(m));
        await();
        return look();
    }
    unguarded("@%pl " + choice.spelling + " " + tensor_at + ", " + at("%rsm", shared) + hint(m));
    await_stores();
    // A lane's word of the slice.
    const std::string address = fresh(64), d = destination(32);
    before += "    mul.wide.u32 " + address + ", %rgw, " + text_of(slice) + "; add.u64 " + address +
              ", " + address + ", %qtensors; mad.wide.u32 " + address + ", %rlane, 4, " + address +
              ";\n";
    emit("ld.global.b32 " + d + ", " + at(address, place + 4 * r.below(slice / chunk)));
}

// One that the driver accepts and the machine can do: in the warp's slice, and with its box in the
// warp's shared memory.
isa::TensorCopy Writer::draw_copy(const isa::Modifiers& m, bool im2col,
                                  isa::TensorDirection direction, bool reduces) {
    const auto draw = [&](unsigned least, unsigned count) {
        return least + static_cast<uint32_t>(r.below(count));
    };
    for (;;) {
        isa::TensorCopy c;
        isa::TensorMap& map = c.map;
        map.rank = m.dimensions;
        map.im2col = im2col;
        map.address = 256;
        map.type = static_cast<isa::TensorType>(r.below(isa::tensor_types.size()));
        if (reduces && !exec::reduces(map.type, m)) continue;
        map.swizzle = static_cast<isa::TensorSwizzle>(r.below(4));
        if (map.rank > 2 && r.one_in(4))
            map.interleave = static_cast<isa::TensorInterleave>(draw(1, 2));
        if (r.one_in(3)) map.fill = isa::TensorFill::nan;
        const bool loads_tile = direction == isa::TensorDirection::load && !im2col;
        const unsigned last = map.rank - 1;
        const unsigned unit = std::max(chunk / isa::element_bytes(map), 1u);
        map.box[0] = unit * draw(1, 8);
        map.dim[0] = draw(1, 2 * map.box[0]);
        c.at[0] = static_cast<int32_t>(unit * r.below(4));
        if (loads_tile) c.at[0] -= static_cast<int32_t>(2 * unit);
        if (im2col) {
            map.channels = map.box[0];
            map.pixels = direction == isa::TensorDirection::load ? draw(1, 8) : 1;
            map.box = {1, 1, 1, 1, 1};
        }
        const bool interleaved = map.interleave != isa::TensorInterleave::none;
        const uint64_t position = interleaved ? isa::row_bytes(map) : isa::element_bytes(map);
        uint64_t stride = (map.dim[0] * position + 31) / 32 * 32;
        for (unsigned i = 1; i < last; ++i) {
            map.stride[i - 1] = stride;
            map.dim[i] = draw(1, 6);
            stride *= map.dim[i];
            if (r.one_in(4)) map.element_stride[i] = draw(1, 3);
            if (!im2col) map.box[i] = draw(1, 4);
            c.at[i] = static_cast<int32_t>(r.below(map.dim[i]));
            if (loads_tile) c.at[i] += static_cast<int32_t>(r.below(5)) - 2;
            if (im2col && direction == isa::TensorDirection::load) {
                map.lower[i - 1] = static_cast<int32_t>(r.below(3)) - 1;
                map.upper[i - 1] = static_cast<int32_t>(r.below(3)) - 1;
                c.offset[i - 1] = static_cast<uint16_t>(r.below(3));
            }
        }
        c.has_offsets = im2col && direction != isa::TensorDirection::store;
        if (map.rank == 1) {
            stride = least_slice;
            map.dim[0] = stride / isa::element_bytes(map) * warps();
            c.at[0] = 0;
        } else {
            stride = std::max<uint64_t>(stride, least_slice);
            map.stride[last - 1] = stride;
            map.dim[last] = warps();
        }
        if (stride > max_slice || !isa::refusals(map).empty()) continue;
        if (isa::box_bytes(map) > warp_shared || !isa::illegal(c, direction).empty()) continue;
        return c;
    }
}

std::string Writer::copies_setup() const {
    if (!copies) return "";
    std::string out =
        "    .reg .pred %pl, %pf, %pw; .reg .b32 %rbar, %rpeer, %rpeerbar, %rgw, %rt;\n"
        "    .reg .b64 %qpol, %qmaps, %qtensors;\n"
        "    .shared .align 8 .b64 bars[" +
        text_of(options.warps) +
        "];\n"
        "    mov.u32 %rgw, %tid.x; shr.u32 %rgw, %rgw, 5; mov.u32 %rbar, bars;\n"
        "    mad.lo.u32 %rbar, %rgw, 8, %rbar; setp.eq.u32 %pl, %rlane, 0;\n"
        "    mov.u32 %rt, %ctaid.x; mad.lo.u32 %rgw, %rt, " +
        text_of(options.warps) +
        ", %rgw;\n"
        "    mov.u32 %rt, %cluster_ctarank; setp.eq.and.u32 %pf, %rt, 0, %pl;\n"
        "    createpolicy.fractional.L2::evict_last.b64 %qpol, 1.0;\n"
        "    @%pl mbarrier.init.shared::cta.b64 [%rbar], 1;\n"
        "    fence.proxy.async;\n    bar.warp.sync 0xffffffff;\n";
    if (!tensors.empty())
        out += "    ld.param.u64 %qmaps, [maps]; ld.param.u64 %qtensors, [tensors];\n";
    if (in_cluster)
        out += "    sub.u32 %rt, " + text_of(cluster_size() - 1) +
               ", %rt; mapa.shared::cluster.u32 %rpeer, %rw, %rt;\n"
               "    mapa.shared::cluster.u32 %rpeerbar, %rbar, %rt;\n"
               "    fence.mbarrier_init.release.cluster;\n"
               "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n";
    return out;
}

void Writer::add_tensors(launch::Case& c) const {
    if (in_cluster) c.cluster = warp::Dim3{cluster_size(), 1, 1};
    if (tensors.empty()) return;
    std::vector<uint8_t> maps, bytes(tensors.back().place + tensors.back().bytes);
    launch::Random values{launch::splitmix64(options.seed, 2), 0};
    for (const Tensor& t : tensors) {
        const isa::TensorMapBytes encoded = isa::encode(t.map);
        c.buffer_patches.push_back({1, maps.size(), 2, t.place});
        maps.insert(maps.end(), encoded.begin(), encoded.end());
        const Type element = element_of(t.map.type);
        for (uint64_t i = 0; i < t.bytes; i += 8) {
            uint64_t value = values.next();
            if (isa::bits(element) == 64)
                value = register_operand(element, t.from, values);
            else if (isa::bits(element) == 16 || !values.one_in(4))
                value = uint64_t{static_cast<uint32_t>(
                            fragment_register(element, isa::bits(element), t.from, values))} |
                        fragment_register(element, isa::bits(element), t.from, values) << 32;
            std::memcpy(bytes.data() + t.place + i, &value, 8);
        }
    }
    c.parameters.resize(24);
    c.patches.push_back({8, 1, 0});
    c.patches.push_back({16, 2, 0});
    c.names.emplace_back("maps");
    c.names.emplace_back("tensors");
    c.bytes.push_back(std::move(maps));
    c.bytes.push_back(std::move(bytes));
}

}  // namespace lockwarp::programs
