#include <fmt/format.h>

#include <bit>

#include "validate/lockstep.hpp"

namespace lockwarp::validate {

namespace {

using isa::Type;

// "0x40a00003 (5.00000143)": bits, and the value where the type has one to show.
std::string shown(Type type, uint64_t bits) {
    const unsigned digits = type == Type::pred ? 1 : isa::bits(type) / 4;
    std::string out = fmt::format("0x{:0{}x}", bits, digits);
    if (type == Type::f32)
        out += fmt::format(" ({:.9g})", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (type == Type::f64) out += fmt::format(" ({:.17g})", std::bit_cast<double>(bits));
    return out;
}

// Which element of the result matrix a written register holds: "D[9][2]".
std::string element(const isa::Operation& o, uint32_t reg, uint32_t lane) {
    if (o.mma == nullptr) return {};
    const isa::MmaVariant& v = *o.mma;
    const isa::Fragment& f = isa::fragment(v.fragment_d);
    const unsigned width = isa::bits(v.d);
    const unsigned per_register = width >= 32 ? 1 : 32 / width;
    std::string out;
    for (unsigned q = 0; q < isa::instances(v.threads); ++q)
        for (unsigned t = 0; t < f.layout.threads(); ++t) {
            if (isa::lane_of(v.threads, q, t) != lane) continue;
            for (unsigned e = 0; e < per_register; ++e) {
                const unsigned index = f.layout.at(t, reg * per_register + e);
                out += fmt::format("{}D[{}][{}]", out.empty() ? "" : ", ", index % f.rows,
                                   index / f.rows);
            }
            if (v.threads == isa::Threads::quad_pairs) out += fmt::format(" of quad-pair {}", q);
        }
    return out;
}

std::string place(const Report& r, const Difference& d, const std::string& file) {
    const isa::Operation& o = r.program.operations[d.operation];
    std::string name = o.mma != nullptr ? std::string(o.mma->key) : "";
    return fmt::format("{}:{}  {}{}step {}, CTA ({},{},{}), warp {}", file, o.place.line, name,
                       name.empty() ? "" : "  ", d.step, d.cta[0], d.cta[1], d.cta[2], d.warp);
}

std::string difference(const Report& r, const gpu::Device& device, const std::string& file) {
    const Difference& d = *r.first;
    std::string out;
    switch (d.kind) {
        case DifferenceKind::value: {
            const isa::Operation& o = r.program.operations[d.operation];
            const isa::Register& reg = r.program.registers[r.program.uses[o.first_use + d.reg]];
            const Type type = o.mma != nullptr && isa::bits(o.mma->d) >= 32 ? o.mma->d : reg.type;
            out = fmt::format(
                "DIFFERS  {}\n  {} lane {}  {}\n    emulated {}\n    {} {}\n    bits {:#x}\n",
                place(r, d, file), reg.name, d.lane, element(o, d.reg, d.lane),
                shown(type, d.emulated), device.name, shown(type, d.other), d.emulated ^ d.other);
            for (const Difference::Input& input : d.inputs)
                out += fmt::format("  reads {} = {} in this lane\n", input.name,
                                   shown(input.type, input.lanes[d.lane]));
            break;
        }
        case DifferenceKind::control_flow: {
            const auto line = [&](uint64_t number) {
                return number == 0 || number > r.program.operations.size()
                           ? std::string("nothing more")
                           : "line " + std::to_string(r.program.operations[number - 1].place.line);
            };
            out = fmt::format("DIFFERS  {}\n  lane {} goes another way: emulated {}, {} {}\n",
                              place(r, d, file), d.lane, line(d.emulated), device.name,
                              line(d.other));
            break;
        }
        case DifferenceKind::memory:
            out = fmt::format(
                "DIFFERS  {}  memory at the end: buffer {} byte {}: emulated {:#04x}, {} {:#04x}\n",
                file, d.buffer, d.offset, d.emulated, device.name, d.other);
            break;
        case DifferenceKind::fault:
            out = fmt::format("DIFFERS  {}  {}\n", file, d.what);
            break;
    }
    return out;
}

}  // namespace

std::string grouped(uint64_t n) {
    std::string digits = std::to_string(n);
    for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
}

std::string text_report(const Report& r, const gpu::Device& device, const std::string& file) {
    std::string out;
    if (r.first) out = difference(r, device, file);
    out += fmt::format("{}: {} register values compared, {} memory bytes; {} and {} different\n",
                       r.first ? "compared" : "identical", grouped(r.counts.values),
                       grouped(r.counts.memory_bytes), grouped(r.counts.different),
                       grouped(r.counts.memory_different));
    out += fmt::format("{}, sm_{}, driver {}, {} MHz\n", device.name, device.number, device.driver,
                       device.clock_mhz);
    return out;
}

}  // namespace lockwarp::validate
