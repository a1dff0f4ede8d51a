// SPDX-License-Identifier: Apache-2.0
// What buffers begin with. Deterministic: the same launch file gives the same bytes everywhere.
//
// random: element i takes SplitMix64 (launch/random.hpp) at positions n*i+1 ... n*i+n of the
// stream of its seed. uniform (n = 1): the upper 53 bits as u in [0, 1), then min + u*(max - min).
// normal (n = 12): mean + stddev times the sum of twelve 32-bit fractions less 6, which needs no
// function that differs between platforms. The value, a double, rounds to the type to nearest even;
// integers clamp.
#include <algorithm>
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

Result<std::vector<uint8_t>> read_beside(const LaunchFile& file, const std::string& name) {
    std::filesystem::path path(name);
    if (path.is_relative()) path = std::filesystem::path(file.folder) / path;
    return read_file(path.string(), uint64_t{1} << 44);
}

// Each file at its offset; they must fit and not overlap.
Result<void> put_files(const LaunchFile& file, const Init& init, const std::string& field,
                       std::vector<uint8_t>& out) {
    uint64_t end = 0;
    for (const FilePart& part : init.files) {
        const std::string where = field + ".init.files." + std::to_string(part.at) + "': ";
        const Result<std::vector<uint8_t>> bytes = read_beside(file, part.file);
        if (!bytes) return failure(where + bytes.error().sentence);
        if (part.at < end) return failure(where + "it overlaps the file before it");
        if (part.at > out.size() || bytes->size() > out.size() - part.at)
            return failure(where + shown(part.file) + " has " + std::to_string(bytes->size()) +
                           " bytes and ends behind byte " + std::to_string(out.size()));
        std::ranges::copy(*bytes, out.begin() + static_cast<std::ptrdiff_t>(part.at));
        end = part.at + bytes->size();
    }
    return {};
}

}  // namespace

Result<std::vector<uint8_t>> initial_bytes(const LaunchFile& file, const BufferField& buffer,
                                           std::string_view fields) {
    const Init& init = buffer.init;
    const std::string field =
        file.at(buffer.place) + "field '" + std::string(fields) + "." + buffer.name;
    std::vector<uint8_t> out;
    try {
        out.assign(buffer.bytes, init.kind == InitKind::undefined ? undefined_byte : init.fill);
    } catch (const std::bad_alloc&) {
        return failure(field + ".bytes': no memory for " + std::to_string(buffer.bytes) + " bytes");
    }
    if (init.kind == InitKind::fill || init.kind == InitKind::undefined) return out;
    if (init.kind == InitKind::hex || init.kind == InitKind::values) {
        for (uint64_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<uint8_t>(init.hex[i % init.hex.size()]);
        return out;
    }
    if (init.kind == InitKind::file) {
        Result<std::vector<uint8_t>> bytes = read_beside(file, init.file);
        if (!bytes) return failure(field + ".init.file': " + bytes.error().sentence);
        if (bytes->size() != buffer.bytes)
            return failure(field + ".init.file': " + shown(init.file) + " has " +
                           std::to_string(bytes->size()) + " bytes, the " +
                           std::string(fields.substr(0, fields.size() - 1)) + " " +
                           std::to_string(buffer.bytes));
        return bytes;
    }
    if (init.kind == InitKind::files) {
        if (Result<void> put = put_files(file, init, field, out); !put) return failure(put);
        return out;
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
