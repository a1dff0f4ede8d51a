// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/recordings.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace lockwarp::hardware {

namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "words are copied as they stand");

const fs::path root = LOCKWARP_SOURCE_DIR "/tests/hardware/sm_90";

std::string decompressed(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string frame{std::istreambuf_iterator<char>(stream), {}};
    const auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
        throw std::runtime_error("cannot read " + file.string());
    std::string text(size, 0);
    if (ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size()) != size)
        throw std::runtime_error("damaged: " + file.string());
    return text;
}

// The number behind `label`.
size_t number(std::istream& line, const std::string& label) {
    std::string word;
    size_t value = 0;
    if (!(line >> word >> value) || word != label)
        throw std::runtime_error("no '" + label + "' in a recording's first line");
    return value;
}

}  // namespace

std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(root / folder))
        if (entry.path().extension() == ".zst")
            out.push_back(folder + "/" + entry.path().stem().string());
    std::ranges::sort(out);
    return out;
}

std::string read_text(const std::string& name) { return decompressed(root / (name + ".zst")); }

Recording read(const std::string& name) {
    const std::string text = read_text(name);
    const size_t end = std::min(text.find('\n'), text.size());
    std::istringstream line(text.substr(0, end));
    std::string schema;
    line >> schema;
    if (schema != "lockwarp-hardware/1") throw std::runtime_error("no recording: " + name);
    Recording r;
    r.cases = number(line, "cases");
    r.in_words = number(line, "in");
    r.out_words = number(line, "out");
    r.threads = static_cast<uint32_t>(number(line, "threads"));
    const size_t ptx = number(line, "ptx");
    const size_t words = end + 1 + ptx;
    const size_t of_case = r.in_words + r.out_words;
    if (text.size() != words + r.cases * of_case * 4)
        throw std::runtime_error("a recording of another size: " + name);
    r.ptx = text.substr(end + 1, ptx);
    r.in.resize(r.cases * r.in_words);
    r.out.resize(r.cases * r.out_words);
    for (size_t i = 0; i < r.cases; ++i) {
        const char* const from = text.data() + words + i * of_case * 4;
        std::memcpy(&r.in[i * r.in_words], from, r.in_words * 4);
        std::memcpy(&r.out[i * r.out_words], from + r.in_words * 4, r.out_words * 4);
    }
    return r;
}

}  // namespace lockwarp::hardware
