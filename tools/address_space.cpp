// SPDX-License-Identifier: Apache-2.0
#include "tools/address_space.hpp"

#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace lockwarp::tools {

namespace {

constexpr unsigned long ask = 0xffffffff;

}  // namespace

bool uses_given_addresses(std::string_view command) {
    constexpr std::array<std::string_view, 2> commands{"validate", "record"};
    return std::ranges::find(commands, command) != commands.end();
}

void map_from_below(char** argv) {
    const int now = ::personality(ask);
    if (now == -1 || (now & ADDR_COMPAT_LAYOUT) != 0) return;
    // Begun by "ld.so lockwarp ...": the words are not those that began it.
    if (::getauxval(AT_BASE) == 0) return;
    const auto with = static_cast<unsigned>(now) | ADDR_COMPAT_LAYOUT;
    if (::personality(with) == -1) return;
    ::execv("/proc/self/exe", argv);
    ::personality(static_cast<unsigned>(now));
}

void map_as_always() {
    const int now = ::personality(ask);
    if (now != -1) ::personality(static_cast<unsigned>(now) & ~unsigned{ADDR_COMPAT_LAYOUT});
}

}  // namespace lockwarp::tools
