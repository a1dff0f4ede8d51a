// SPDX-License-Identifier: Apache-2.0
#include "gpu/ptx_version.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace lockwarp::gpu {

namespace {

// PTX manual (PTX ISA 9.1), section "Release Notes", table "PTX Release History".
struct ReleaseRow {
    int cuda;
    uint32_t ptx;
};
constexpr auto releases = std::to_array<ReleaseRow>({
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76},
    {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
    {12050, 85}, {12060, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91},
});
static_assert(std::ranges::is_sorted(releases, {}, &ReleaseRow::cuda));
static_assert(std::ranges::is_sorted(releases, {}, &ReleaseRow::ptx));

// Behind white space and comments.
size_t first_word(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("//"))
            at = std::min(text.find('\n', at), text.size());
        else if (rest.starts_with("/*") && rest.find("*/", 2) != std::string_view::npos)
            at += rest.find("*/", 2) + 2;
        else if (std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
            ++at;
        else
            return at;
    }
    return text.size();
}

}  // namespace

uint32_t newest_ptx(int cuda) {
    if (cuda >= releases.back().cuda + 10) return 0;
    const auto* const after = std::ranges::upper_bound(releases, cuda, {}, &ReleaseRow::cuda);
    return after == releases.begin() ? releases.front().ptx : (after - 1)->ptx;
}

std::string with_version_at_most(std::string_view ptx, uint32_t newest) {
    constexpr std::string_view directive = ".version";
    std::string out(ptx);
    const size_t at = first_word(ptx);
    if (newest == 0 || !ptx.substr(at).starts_with(directive)) return out;
    const size_t begin = ptx.find_first_not_of(" \t", at + directive.size());
    if (begin == std::string_view::npos) return out;
    const char* const end = ptx.data() + ptx.size();
    uint32_t major = 0;
    uint32_t minor = 0;
    const auto dot = std::from_chars(ptx.data() + begin, end, major);
    if (dot.ec != std::errc{} || dot.ptr == end || *dot.ptr != '.') return out;
    const auto rest = std::from_chars(dot.ptr + 1, end, minor);
    if (rest.ec != std::errc{} || major * 10 + minor <= newest) return out;
    out.replace(begin, static_cast<size_t>(rest.ptr - (ptx.data() + begin)),
                std::to_string(newest / 10) + "." + std::to_string(newest % 10));
    return out;
}

}  // namespace lockwarp::gpu
