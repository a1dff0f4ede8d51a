// SPDX-License-Identifier: Apache-2.0
#include "validate/probes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace lockwarp::validate {

namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;
using launch::failure;
using launch::Result;

constexpr std::string_view schema = "lockwarp-probes/1";
constexpr size_t max_bytes = size_t{1} << 25;
constexpr size_t max_text = 4096;
constexpr unsigned max_warps = 32;

bool read_text(const Json& object, const char* key, std::string& out) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return false;
    out = found->get_ref<const std::string&>();
    return out.size() <= max_text;
}

template <class T>
bool read_number(const Json& object, const char* key, T& out) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) return false;
    const uint64_t n = found->get<uint64_t>();
    out = static_cast<T>(n);
    return out == n;
}

Result<ProbeRow> read_row(const std::string& key, const Json& j) {
    ProbeRow out;
    const std::string field = "row '" + key.substr(0, 100) + "': ";
    if (!j.is_object()) return failure(field + "an object is expected");
    for (const auto& [warps, cycles] : j.items()) {
        unsigned n = 0;
        const auto [end, error] = std::from_chars(warps.data(), warps.data() + warps.size(), n);
        if (error != std::errc{} || end != warps.data() + warps.size() || n == 0 || n > max_warps ||
            warps[0] == '0')
            return failure(field + "a number of warps from 1 to 32 is expected");
        if (!cycles.is_number()) return failure(field + "a number of cycles is expected");
        const double value = cycles.get<double>();
        if (!std::isfinite(value) || value < 0)
            return failure(field + "a number of cycles is expected");
        out[n] = value;
    }
    return out;
}

}  // namespace

Result<double> measure(gpu::Engine& engine, const programs::Probe& probe, unsigned warps,
                       unsigned times, uint32_t optimization, ProbeMemory& memory) {
    if (memory.bytes < probe.bytes) {
        if (memory.bytes != 0) engine.release(memory.address);
        memory = {engine.allocate(probe.bytes), probe.bytes};
        if (memory.address == 0) {
            memory = {};
            return failure("no memory for " + std::to_string(probe.bytes) + " bytes");
        }
    }
    gpu::Job job;
    job.ptx = probe.ptx;
    job.entry = probe.entry;
    job.block.x = 32 * warps;
    job.optimization = optimization;
    job.parameters.resize(sizeof memory.address);
    std::memcpy(job.parameters.data(), &memory.address, sizeof memory.address);
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < times; ++i) {
        if (Result<void> cleared = engine.clear(memory.address, probe.bytes); !cleared)
            return failure(cleared);
        const gpu::Ran ran = engine.run(job);
        if (ran.outcome == gpu::Outcome::refused) return failure(ran.what);
        if (ran.outcome != gpu::Outcome::done) {
            // What was allocated is lost.
            engine.release(memory.address);
            memory = {};
            return failure(ran.what.empty() ? "the kernel did not end" : ran.what);
        }
        std::array<uint64_t, max_warps> each{};
        std::vector<uint8_t> bytes(warps * sizeof each[0]);
        if (Result<void> read = engine.read(memory.address, bytes); !read) return failure(read);
        std::memcpy(each.data(), bytes.data(), bytes.size());
        least = std::min(least, *std::ranges::max_element(each));
    }
    return static_cast<double>(least) / probe.instructions;
}

std::string probes_json(const Probes& p) {
    Ordered j;
    j["schema"] = schema;
    j["version"] = p.version;
    j["date"] = p.date;
    Ordered& device = j["device"];
    device["name"] = p.device.name;
    device["driver"] = p.device.driver;
    device["number"] = p.device.number;
    device["clock_mhz"] = p.device.clock_mhz;
    device["memory"] = p.device.memory;
    Ordered& rows = j["rows"];
    rows = Ordered::object();
    for (const auto& [key, row] : p.rows) {
        Ordered& r = rows[key];
        r = Ordered::object();
        // Three digits, as a GPU's clock gives them.
        for (const auto& [warps, cycles] : row)
            r[std::to_string(warps)] = std::round(cycles * 1000) / 1000;
    }
    return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Probes> read_probes(std::string_view json) {
    if (json.size() > max_bytes) return failure("the file is too large");
    // Not deeper than the schema, so that no nesting of a hostile text costs stack.
    unsigned depth = 0;
    for (const char c : json) {
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && depth != 0) --depth;
        if (depth > 64) return failure("it is not JSON of this schema");
    }
    const Json j = Json::parse(json, nullptr, false);
    if (!j.is_object()) return failure("it is not JSON of this schema");
    std::string found;
    if (!read_text(j, "schema", found) || found != schema)
        return failure("its schema is not " + std::string(schema));
    Probes p;
    if (!read_text(j, "version", p.version)) return failure("field 'version': a text is expected");
    if (!read_text(j, "date", p.date)) return failure("field 'date': a text is expected");
    const auto device = j.find("device");
    if (device == j.end() || !device->is_object() || !read_text(*device, "name", p.device.name) ||
        !read_text(*device, "driver", p.device.driver) ||
        !read_number(*device, "number", p.device.number) ||
        !read_number(*device, "clock_mhz", p.device.clock_mhz) ||
        !read_number(*device, "memory", p.device.memory))
        return failure("field 'device': name, driver, number, clock_mhz and memory are expected");
    const auto rows = j.find("rows");
    if (rows == j.end() || !rows->is_object())
        return failure("field 'rows': an object is expected");
    for (const auto& [key, row] : rows->items()) {
        if (key.empty() || key.size() > max_text)
            return failure("a row's key is empty or too long");
        Result<ProbeRow> cycles = read_row(key, row);
        if (!cycles) return failure(cycles);
        p.rows[key] = std::move(*cycles);
    }
    return p;
}

std::map<std::string, ProbeSummary> summarize(const Probes& p) {
    std::map<std::string, ProbeSummary> out;
    for (const auto& [key, row] : p.rows) {
        const bool chains = key.find(" chains") != std::string::npos;
        const bool latency = key.ends_with(" latency");
        const bool throughput = key.ends_with(" throughput");
        const std::string name =
            chains ? key.substr(0, key.rfind(" chains"))
                   : key.substr(0, latency || throughput ? key.rfind(' ') : std::string::npos);
        ProbeSummary& s = out[name];
        const auto one = row.find(1);
        if (one != row.end() && !throughput && (!chains || key.ends_with(" chains1")))
            s.latency = one->second;
        const unsigned from = !row.empty() && row.rbegin()->first >= 8 ? 8 : 4;
        for (const auto& [warps, cycles] : row) {
            if (warps < from || latency) continue;
            const double interval = cycles / (warps / 4);
            if (s.interval < 0 || interval < s.interval) s.interval = interval;
        }
    }
    return out;
}

}  // namespace lockwarp::validate
