// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/errors.hpp"
#include "cuda/write_file.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t buffer_alignment = 256;  // of addresses in launch files

std::string hex(const void* bytes, size_t size) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (size_t i = 0; i < size; ++i) {
        const unsigned char b = static_cast<const unsigned char*>(bytes)[i];
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

// Numbers by the name of their type; what PTX has no number for as bytes.
std::string argument_text(const lockwarp_parameter& p, const uint8_t* bytes) {
    const bool is_number = p.is_array == 0 && p.size <= 8;
    if (!is_number) return "{\"bytes\": \"" + hex(bytes, p.size) + "\"}";
    uint64_t value = 0;
    std::memcpy(&value, bytes, p.size);
    return "{\"b" + std::to_string(8 * p.size) + "\": \"" + hex_number(value) + "\"}";
}

std::string shape_text(const std::array<uint32_t, 3>& n) {
    return "[" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) +
           "]";
}

std::string buffers_text(const LaunchFile& f) {
    std::string out;
    for (const FileBuffer& b : f.buffers) {
        const Address begin = b.base / buffer_alignment * buffer_alignment;
        out += (out.empty() ? "\n" : ",\n") + std::string("    \"") + b.name +
               "\": {\"bytes\": " + std::to_string(b.base - begin + b.size) + ", \"address\": \"" +
               hex_number(begin) + "\", \"init\": " +
               (b.file.empty() ? "{\"fill\": 0}" : "{\"file\": \"" + b.file + "\"}") + "}";
    }
    return out;
}

std::string arguments_text(const LaunchFile& f) {
    std::string out;
    for (const lockwarp_parameter& p : f.types)
        out += (out.empty() ? "" : ", ") + argument_text(p, f.parameters.data() + p.offset);
    return out;
}

std::string variables_text(const LaunchFile& f) {
    std::string out;
    for (const auto& [name, file] : f.variables)
        out += (out.empty() ? "\n" : ",\n") + std::string("    \"") + name +
               "\": {\"init\": {\"file\": \"" + file + "\"}}";
    return out;
}

std::string functions_text(const LaunchFile& f) {
    std::string out;
    for (const auto& [name, address] : f.functions)
        out += (out.empty() ? "\n" : ",\n") + std::string("    \"") + name + "\": \"" +
               hex_number(address) + "\"";
    return out;
}

// What the launch changed; where it changed nothing, that all is as before.
std::string expected_text(const LaunchFile& f) {
    std::string out, same;
    for (const FileBuffer& b : f.buffers) {
        if (b.expected.empty()) continue;
        std::string& to = b.expected == b.file ? same : out;
        to += (to.empty() ? "\n" : ",\n") + std::string("    {\"buffer\": \"") + b.name +
              "\", \"is\": {\"file\": \"" + b.expected + "\"}}";
    }
    return out.empty() ? same : out;
}

}  // namespace

std::string hex_number(uint64_t n) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
    return text;
}

// A file named by what is in it, so that the same bytes are written once.
std::string write_bytes(const std::string& folder, const void* bytes, size_t size,
                        const char* ending) {
    uint64_t h = 0xcbf29ce484222325;  // FNV-1a, 8 bytes at a time
    const auto* const b = static_cast<const uint8_t*>(bytes);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, b + i, std::min<size_t>(8, size - i));
        h = (h ^ word) * 0x100000001b3;
        h ^= h >> 29;
    }
    const std::string name = hex_number(h ^ size).substr(2) + ending;
    const std::string path = folder + "/" + name;
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0 && static_cast<size_t>(about.st_size) == size)
        return name;
    if (!write_file(path, bytes, size)) say("cannot write " + path);
    return name;
}

std::string write_buffer(const std::string& folder, Address base, const void* bytes, size_t size) {
    std::vector<uint8_t> all(base % buffer_alignment + size);
    std::memcpy(all.data() + base % buffer_alignment, bytes, size);
    return write_bytes(folder, all.data(), all.size(), ".bin");
}

std::string write_launch_file(const LaunchFile& f) {
    std::string text = "{\n  \"schema\": \"lockwarp-launch/1\",\n  \"ptx\": \"" + f.module +
                       "\",\n  \"entry\": \"" + f.entry + "\",\n  \"arch\": \"" + f.arch +
                       "\",\n  \"grid\": " + shape_text(f.grid) +
                       ", \"block\": " + shape_text(f.block) +
                       ",\n  \"dynamic_shared\": " + std::to_string(f.dynamic_shared) +
                       ",\n  \"cooperative\": " + (f.cooperative ? "true" : "false");
    if (f.cluster) text += ",\n  \"cluster\": " + shape_text(*f.cluster);
    if (f.non_portable_cluster) text += ",\n  \"non_portable_cluster\": true";
    const auto add = [&](const char* key, const char* open, const std::string& in,
                         const char* close) {
        if (!in.empty()) text += std::string(",\n  \"") + key + "\": " + open + in + close;
    };
    add("buffers", "{", buffers_text(f), "\n  }");
    add("variables", "{", variables_text(f), "\n  }");
    add("functions", "{", functions_text(f), "\n  }");
    add("args", "[", arguments_text(f), "]");
    add("expect", "[", expected_text(f), "\n  ]");
    text += "\n}\n";
    char name[64];
    std::snprintf(name, sizeof name, "/%06llu.", static_cast<unsigned long long>(f.number));
    std::string kernel = f.entry.substr(0, 60);
    for (char& c : kernel)
        if (c == '$' || c == '%') c = '_';
    const std::string path = f.folder + name + kernel + ".json";
    if (!write_file(path, text.data(), text.size())) say("cannot write " + path);
    return path;
}

}  // namespace lockwarp::cuda
