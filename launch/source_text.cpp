// SPDX-License-Identifier: Apache-2.0
#include "launch/source_text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "launch/demangled.hpp"

namespace lockwarp::launch {

namespace {

namespace fs = std::filesystem;

std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) == 127) c = '.';
    return out;
}

std::string shortened(std::string text, size_t columns) {
    if (text.size() > columns) text = text.substr(0, columns - 3) + "...";
    return text;
}

// A line of a source, without the blanks around it; empty where it cannot be read. Only regular
// files are opened, and of them no more than a source has.
std::string line_of(const std::string& file, uint32_t number) {
    constexpr uintmax_t max_bytes = uintmax_t{16} << 20;
    std::error_code error;
    if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > max_bytes || error)
        return {};
    std::ifstream in(file);
    std::string line;
    for (uint32_t i = 0; i < number; ++i)
        if (!std::getline(in, line)) return {};
    constexpr std::string_view blanks = " \t\r";
    const size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string::npos) return {};
    return printable(line.substr(begin, line.find_last_not_of(blanks) - begin + 1));
}

// A header in a folder of the toolkit's: /usr/local/cuda/include,
// .../cuda-13.0/targets/.../include, and those of pip's packages, .../nvidia/cuda_runtime/include.
bool is_of_toolkit(const std::string& file) {
    const size_t include = file.rfind("/include/");
    if (include == std::string::npos) return false;
    if (file.find("/local/cuda/") < include || file.find("/nvidia/cu") < include) return true;
    const size_t version = file.find("/cuda-") + 6;
    return version - 6 < include && version < file.size() && file[version] >= '0' &&
           file[version] <= '9';
}

}  // namespace

std::string shown_file(const std::string& file) {
    if (file.empty()) return "a file without a name";
    std::error_code error;
    const fs::path here = fs::current_path(error);
    if (error || !fs::path(file).is_absolute()) return printable(file);
    const fs::path below = fs::path(file).lexically_relative(here);
    if (below.empty() || *below.begin() == "..") return printable(file);
    return printable(below.string());
}

const ptx::SourcePlace* own_place(const std::vector<ptx::SourcePlace>& places) {
    if (places.empty()) return nullptr;
    const auto own = std::ranges::find_if(
        places, [](const ptx::SourcePlace& p) { return p.line != 0 && !is_of_toolkit(p.file); });
    return own == places.end() ? places.data() : &*own;
}

std::string short_place(const std::vector<ptx::SourcePlace>& places) {
    const ptx::SourcePlace* const place = own_place(places);
    if (place == nullptr) return {};
    return shown_file(place->file) + ":" + std::to_string(place->line);
}

std::string source_text(const std::vector<ptx::SourcePlace>& places, size_t columns) {
    std::string out;
    for (size_t i = 0; i < places.size(); ++i) {
        const ptx::SourcePlace& p = places[i];
        std::string line = i == 0 ? "  " : "  inlined at ";
        line += shown_file(p.file) + ":" + std::to_string(p.line);
        if (p.column != 0) line += ":" + std::to_string(p.column);
        if (!p.function.empty()) line += " in " + printable(demangled(p.function));
        out += shortened(line, columns) + "\n";
        if (i != 0) continue;
        if (const std::string text = line_of(p.file, p.line); !text.empty())
            out += shortened("    " + text, columns) + "\n";
    }
    return out;
}

}  // namespace lockwarp::launch
