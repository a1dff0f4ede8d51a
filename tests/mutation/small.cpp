// SPDX-License-Identifier: Apache-2.0
// Text for mutation_test.py: each line takes the faults that its last comment lists, by ;.
// The comments belong to their lines.
// clang-format off
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int size = 4;  //
static_assert(size == 4);  //
enum class Kind { one = 1, two = 2 };  //
int table[size] = {1, 2, 3, 5};  //

bool is_small(int x) {
    return x < 3;  // < -> <=; 3 + 1
}

bool is_known(int x) {
    bool known = false;  // not false
    for (const int value : table)  //
        if (value == x) known = true;  // == -> !=; statement left out; not true
    return known;  // not known
}

template <class T>
T sum(const std::vector<T>& values) {
    T total = 0;  // 0 + 1
    for (const T& value : values) total += value;  // += -> -=
    return total;  //
}

int kind(Kind k) {
    switch (k) {  //
        case Kind::one: return 1;  // 1 + 1
        case Kind::two: return 2;  // 2 + 1
    }
    return 0;  // 0 + 1
}

uint32_t mixed(uint32_t a, uint32_t b) {
    if (!is_small(static_cast<int>(a)) && b != 0)  // true in place of !is_small(static_cast<int>(a)); true in place of b != 0; ! left out; != -> ==; 0 + 1
        return (a << 2) | ~b;  // | -> &; << -> >>; 2 + 1; ~ left out
    if (is_known(static_cast<int>(b))) return a ^ b;  // not is_known(static_cast<int>(b)); ^ -> |
    return is_known(4) ? a : b + 1;  // not is_known(4); 4 + 1; + -> -; 1 + 1
}

}  // namespace

int main() {
    std::vector<int> values{1, 2};  // 1 + 1; 2 + 1
    values.push_back(3);  // statement left out; 3 + 1
    uint64_t result = 0;  // 0 + 1
    for (uint32_t a = 0; a < 6; ++a)  // 0 + 1; < -> <=; 6 + 1
        for (uint32_t b = 0; b < 6; ++b)  // 0 + 1; < -> <=; 6 + 1
            result = result * 1099511627 + mixed(a, b);  // statement left out; + -> -; * -> +; 1099511627 + 1
    for (int x = 0; x < 9; ++x) {  // 0 + 1; < -> <=; 9 + 1
        if (x == 4) continue;  // statement left out; == -> !=; 4 + 1
        result = result * 31 + is_known(x) + is_small(x);  // statement left out; + -> -; + -> -; * -> +; 31 + 1
    }
    std::printf("%llu %d %d\n", static_cast<unsigned long long>(result), sum(values),  // statement left out
                kind(Kind::one) + 10 * kind(Kind::two));  // + -> -; * -> +; 10 + 1
    return 0;  // 0 + 1
}
