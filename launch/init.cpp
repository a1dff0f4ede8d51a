// SPDX-License-Identifier: Apache-2.0
// What buffers begin with. Deterministic: the same launch file gives the same bytes everywhere.
//
// random: element i takes SplitMix64 (launch/random.hpp) at positions n*i+1 ... n*i+n of the
// stream of its seed. uniform (n = 1): the upper 53 bits as u in [0, 1), then min + u*(max - min).
// normal (n = 12): mean + stddev times the sum of twelve 32-bit fractions less 6, which needs no
// function that differs between platforms. The value, a double, rounds to the type to nearest even;
// integers clamp.
#include <filesystem>
#include <new>

#include "launch/launch_file.hpp"
#include "launch/random.hpp"
#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

double random_value(const Init& init, uint64_t i) {
    if (init.distribution == Distribution::uniform) {
        const double u = static_cast<double>(splitmix64(init.seed, i + 1) >> 11) * 0x1p-53;
        return init.low + u * (init.high - init.low);
    }
    constexpr uint64_t terms = 12;
    uint64_t sum = 0;
    for (uint64_t k = 1; k <= terms; ++k) sum += splitmix64(init.seed, terms * i + k) >> 32;
    const double centred =
        static_cast<double>(static_cast<int64_t>(sum) - static_cast<int64_t>(terms / 2 << 32));
    return init.mean + init.deviation * (centred * 0x1p-32);
}

}  // namespace

Result<std::vector<uint8_t>> initial_bytes(const LaunchFile& file, const BufferField& buffer,
                                           std::string_view fields) {
    const Init& init = buffer.init;
    const std::string field = file.path + ": field '" + std::string(fields) + "." + buffer.name;
    std::vector<uint8_t> out;
    try {
        out.assign(buffer.bytes, init.fill);
    } catch (const std::bad_alloc&) {
        return failure(field + ".bytes': no memory for " + std::to_string(buffer.bytes) + " bytes");
    }
    if (init.kind == InitKind::fill) return out;
    if (init.kind == InitKind::hex) {
        for (uint64_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<uint8_t>(init.hex[i % init.hex.size()]);
        return out;
    }
    if (init.kind == InitKind::file) {
        std::filesystem::path path(init.file);
        if (path.is_relative()) path = std::filesystem::path(file.folder) / path;
        Result<std::vector<uint8_t>> bytes = read_file(path.string(), uint64_t{1} << 44);
        if (!bytes) return failure(field + ".init.file': " + bytes.error().sentence);
        if (bytes->size() != buffer.bytes)
            return failure(field + ".init.file': " + path.string() + " has " +
                           std::to_string(bytes->size()) + " bytes, the " +
                           std::string(fields.substr(0, fields.size() - 1)) + " " +
                           std::to_string(buffer.bytes));
        return bytes;
    }
    const uint64_t width = isa::bits(init.type) / 8;
    if (buffer.bytes % width != 0)
        return failure(field + ".bytes': " + std::to_string(buffer.bytes) +
                       " is not a multiple of " + std::to_string(width) + ", the bytes of " +
                       std::string(isa::row(init.type).name.substr(1)));
    for (uint64_t i = 0; i < buffer.bytes / width; ++i) {
        const double value = init.kind == InitKind::random
                                 ? random_value(init, i)
                                 : (init.start + static_cast<double>(i) * init.step) / init.divide;
        set_element(out, init.type, i, bits_of(init.type, value));
    }
    return out;
}

}  // namespace lockwarp::launch
