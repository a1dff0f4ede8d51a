// SPDX-License-Identifier: Apache-2.0
// Matrix instructions without a kernel.
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "emu/exec/parallel.hpp"
#include "emu/isa/nearest.hpp"
#include "emu/num/instruction.hpp"
#include "engine/error.hpp"
#include "engine/handles.hpp"
#include "engine/structs.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace {

constexpr uint64_t chunk = 64;  // products that a worker takes at a time
constexpr size_t max_named = 3;

// One of the two.
struct Variant {
    const isa::MmaVariant* mma = nullptr;
    const isa::WmmaVariant* wmma = nullptr;

    std::string_view key() const { return mma != nullptr ? mma->key : wmma->key; }
    uint16_t target() const { return mma != nullptr ? mma->target : wmma->target; }
    bool satfinite() const { return mma != nullptr ? mma->satfinite : wmma->satfinite; }
};

size_t count() { return isa::mma_variants().size() + isa::wmma_variants().size(); }

Variant variant_at(size_t index) {
    const auto mma = isa::mma_variants();
    if (index < mma.size()) return {&mma[index], nullptr};
    return {nullptr, &isa::wmma_variants()[index - mma.size()]};
}

// What a key may lack.
constexpr std::array<std::string_view, 4> first_words{"", "mma.", "mma.sp.", "wmma.mma."};

[[noreturn]] void unknown(std::string_view key) {
    struct Near {
        size_t distance;
        std::string_view key;
    };
    std::vector<Near> all;
    for (size_t i = 0; i < count(); ++i) {
        const std::string_view have = variant_at(i).key();
        size_t distance = SIZE_MAX;
        for (const std::string_view first : first_words)
            distance = std::min(distance, isa::edit_distance(std::string(first).append(key), have));
        all.push_back({distance, have});
    }
    std::ranges::stable_sort(all, {}, &Near::distance);
    std::string text = "no matrix instruction '" + std::string(key) + "'; the nearest are ";
    for (size_t i = 0; i < std::min(max_named, all.size()); ++i)
        text.append(i == 0 ? "" : ", ").append(all[i].key);
    fail(LOCKWARP_NOT_FOUND, std::move(text));
}

// The longest key that is worth comparing.
constexpr size_t max_key = 200;

Variant variant_named(const char* name) {
    const std::string_view key = name;
    if (key.size() > max_key) fail(LOCKWARP_NOT_FOUND, "no matrix instruction has so long a name");
    for (const std::string_view first : first_words) {
        const std::string whole = std::string(first).append(key);
        for (size_t i = 0; i < count(); ++i)
            if (const Variant v = variant_at(i); v.key() == whole) return v;
    }
    unknown(key);
}

num::InstructionProduct product_on(const Variant& v, isa::Arch arch) {
    const std::optional<num::InstructionProduct> p =
        v.mma != nullptr ? num::product_of(*v.mma, arch) : num::product_of(*v.wmma, arch);
    if (p) return *p;
    std::string text(v.key());
    text.append(" is not there on ").append(isa::row(arch).name);
    if (!isa::has(arch, v.target()))
        text.append(": it needs sm_").append(std::to_string(v.target()));
    fail(LOCKWARP_UNSUPPORTED, std::move(text));
}

const char* name_of(isa::Type t) {
    return t == isa::Type::none ? "" : isa::row(t).name.data() + 1;  // without its dot
}

lockwarp_mma_info info_of(const Variant& v) {
    lockwarp_mma_info out{};
    out.struct_size = sizeof out;
    out.key = v.key().data();  // a literal
    out.target = v.target();
    out.satfinite = v.satfinite();
    out.scale_type = out.evidence = out.source = "";
    if (v.mma != nullptr) {
        const isa::MmaVariant& m = *v.mma;
        out.a_type = name_of(m.a);
        out.b_type = name_of(m.b);
        out.c_type = name_of(m.c);
        out.d_type = name_of(m.d);
        out.m = m.m;
        out.n = m.n;
        out.k = m.k;
        out.stored_k = m.stored_k();
        out.groups = m.sparse ? isa::fragment(m.fragment_e).columns : 0;
        out.scales = m.scales;
        out.scale_type = name_of(m.scale);
        return out;
    }
    const isa::WmmaVariant& w = *v.wmma;
    out.a_type = out.b_type = name_of(w.ab);
    out.c_type = name_of(w.c);
    out.d_type = name_of(w.d);
    out.m = w.m;
    out.n = w.n;
    out.k = out.stored_k = w.k;
    return out;
}

// Where the operands of each product lie.
template <class T>
struct Strided {
    T* first;
    int64_t stride;

    T* at(uint64_t product) const {
        return first == nullptr ? nullptr : first + static_cast<int64_t>(product) * stride;
    }
};

Strided<const uint8_t> input(const void* first, int64_t stride, uint64_t bytes) {
    const int64_t step = stride == 0               ? static_cast<int64_t>(bytes)
                         : stride == LOCKWARP_SAME ? 0
                                                   : stride;
    return {static_cast<const uint8_t*>(first), step};
}

struct Batch {
    num::InstructionProduct product;
    bool bytes;
    Strided<const uint8_t> a, b, c, metadata, a_scales, b_scales;
    Strided<uint8_t> d;

    num::InstructionMatrices at(uint64_t i) const {
        return {a.at(i),        b.at(i),        c.at(i),        d.at(i),
                metadata.at(i), a_scales.at(i), b_scales.at(i), bytes};
    }
};

void need(const void* operand, const char* name) {
    if (operand == nullptr)
        fail(LOCKWARP_INVALID_ARGUMENT, std::string("lockwarp_mma: ") + name + " is NULL");
}

constexpr uint64_t area(int rows, int columns) {
    return static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
}

Batch batch_of(const Variant& v, isa::Arch arch, const lockwarp_mma_operands& o) {
    if ((o.flags & ~uint32_t{LOCKWARP_MMA_SATFINITE | LOCKWARP_MMA_BYTES}) != 0)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_mma: flags has bits that are not known");
    Batch out{};
    num::InstructionProduct& p = out.product = product_on(v, arch);
    if ((o.flags & LOCKWARP_MMA_SATFINITE) != 0) {
        if (!v.satfinite())
            fail(LOCKWARP_INVALID_ARGUMENT, std::string(v.key()) + " has no .satfinite");
        p.types.satfinite = true;
    }
    need(o.a, "a");
    need(o.b, "b");
    need(o.d, "d");
    if (p.groups != 0) need(o.metadata, "metadata");
    if (p.scales != 0) need(o.a_scales, "a_scales");
    if (p.scales != 0) need(o.b_scales, "b_scales");
    out.bytes = (o.flags & LOCKWARP_MMA_BYTES) != 0;
    const auto size = [&](isa::Type t, int rows, int columns) {
        return num::bytes_of(t, out.bytes, area(rows, columns));
    };
    out.a = input(o.a, o.a_stride, size(p.types.a, p.m, p.stored_k));
    out.b = input(o.b, o.b_stride, size(p.types.b, p.k, p.n));
    out.c = input(o.c, o.c_stride, size(p.c, p.m, p.n));
    const auto d_bytes = static_cast<int64_t>(size(p.d, p.m, p.n));
    out.d = {static_cast<uint8_t*>(o.d), o.d_stride == 0 ? d_bytes : o.d_stride};
    if (o.batch > 1 && out.d.stride < d_bytes && out.d.stride > -d_bytes)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_mma: the products' D overlap");
    if (o.batch > 1 && o.d_stride == LOCKWARP_SAME)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_mma: all products have the same D");
    out.metadata = input(o.metadata, o.metadata_stride, area(p.m, p.groups));
    out.a_scales = input(o.a_scales, o.a_scales_stride, area(p.m, p.scales));
    out.b_scales = input(o.b_scales, o.b_scales_stride, area(p.n, p.scales));
    return out;
}

// false: stopped.
bool multiply_all(const Batch& batch, const lockwarp_mma_operands& o) {
    const uint64_t chunks = o.batch / chunk + (o.batch % chunk != 0);
    const auto workers = static_cast<unsigned>(
        std::min<uint64_t>(std::max<uint64_t>(chunks, 1), exec::worker_count(o.threads)));
    std::atomic<uint64_t> next{0};
    std::atomic<bool> stopped{false};
    exec::for_each_worker(workers, [&](unsigned) {
        for (uint64_t at = next++; at < chunks; at = next++) {
            if (o.stop != nullptr && o.stop->wanted) {
                stopped = true;
                return;
            }
            const uint64_t end = std::min(o.batch, (at + 1) * chunk);
            for (uint64_t i = at * chunk; i < end; ++i) num::multiply(batch.product, batch.at(i));
        }
    });
    return !stopped;
}

}  // namespace

size_t lockwarp_mma_count(void) { return count(); }

lockwarp_status lockwarp_mma_at(size_t index, lockwarp_mma_info* out) {
    if (out == nullptr || out->struct_size == 0) return LOCKWARP_INVALID_ARGUMENT;
    if (index >= count()) return LOCKWARP_NOT_FOUND;
    give(out, info_of(variant_at(index)));
    return LOCKWARP_OK;
}

lockwarp_status lockwarp_mma_find(const char* key, const char* arch, lockwarp_mma_info* out,
                                  lockwarp_error** error) {
    return guarded(error, [&] {
        if (key == nullptr || out == nullptr || out->struct_size == 0)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_mma_find: no key or out");
        const Variant v = variant_named(key);
        lockwarp_mma_info info = info_of(v);
        if (arch != nullptr) {
            const num::InstructionProduct p = product_on(v, arch_of(arch));
            const num::Known known =
                v.mma != nullptr ? num::known(*p.row, *v.mma) : num::known(*p.row, p.k);
            info.evidence = isa::text_of(known.evidence).data();
            info.source = known.source.data();
        }
        give(out, info);
    });
}

lockwarp_status lockwarp_mma(const char* key, const char* arch,
                             const lockwarp_mma_operands* operands, lockwarp_error** error) {
    return guarded(error, [&] {
        if (key == nullptr || arch == nullptr || operands == nullptr || !is_known(operands))
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_mma: key, arch or operands");
        const lockwarp_mma_operands o = taken(operands);
        const Variant v = variant_named(key);
        const Batch batch = batch_of(v, arch_of(arch), o);
        if (multiply_all(batch, o)) return LOCKWARP_OK;
        put_error(error, LOCKWARP_STOPPED, "lockwarp_mma: stopped");
        return LOCKWARP_STOPPED;
    });
}
