// SPDX-License-Identifier: Apache-2.0
#include "why/measured.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace lockwarp::why {

namespace {

// By execution and accumulator: whether something reads it on.
std::vector<std::vector<bool>> counted(const Mapping& m) {
    std::vector<std::vector<bool>> out;
    for (const Execution& x : m.executions) out.emplace_back(m.sites[x.site].accumulators(), false);
    const auto mark = [&](uint32_t n) {
        if (n == zero || n >= untouched) return;
        const Execution& x = m.of(n);
        const size_t at = n - x.first;
        auto& of = out[static_cast<size_t>(&x - m.executions.data())];
        if (at < of.size()) of[at] = true;
    };
    for (const uint32_t n : m.d) mark(n);
    for (const Execution& x : m.executions)
        for (const uint32_t n : x.c) mark(n);
    return out;
}

// "k 0 16 32 48"; of long ones the first.
std::string list(const std::vector<int64_t>& numbers) {
    constexpr size_t max_shown = 8;
    std::string out;
    for (size_t i = 0; i < std::min(max_shown, numbers.size()); ++i)
        out += (i == 0 ? "" : " ") + std::to_string(numbers[i]);
    return out + (numbers.size() > max_shown ? " ..." : "");
}

// The k at which the instructions of one chain begin, in their order, for A and for B.
void add_chain(const Mapping& m, const launch::Product& p, std::vector<std::string>& out) {
    const auto stored =
        std::ranges::find_if(m.d, [](uint32_t n) { return n != zero && n < untouched; });
    if (stored == m.d.end()) return;
    std::vector<int64_t> of_a, of_b;
    unsigned each = 0;
    for (uint32_t n = *stored; n != zero && n < untouched;) {
        const Execution& x = m.of(n);
        const Site& s = m.sites[x.site];
        const uint32_t at = n - x.first;
        if (at >= s.accumulators()) return;
        each = s.k;
        for (const auto& [numbers, first] :
             {std::pair{&x.a, at / s.n % s.m * s.k}, std::pair{&x.b, at % s.n * s.k}}) {
            int64_t least = INT64_MAX;
            for (unsigned k = 0; k < s.k; ++k) {
                const MatrixPlace from = source_of(m, p, (*numbers)[first + k]);
                if (from.matrix == MatrixPlace::Matrix::a)
                    least = std::min(least, int64_t{from.column});
                if (from.matrix == MatrixPlace::Matrix::b)
                    least = std::min(least, int64_t{from.row});
            }
            (numbers == &x.a ? of_a : of_b).push_back(least == INT64_MAX ? -1 : least);
        }
        const uint32_t next = x.c[at];
        if (next >= x.first) break;
        n = next;
    }
    std::ranges::reverse(of_a);
    std::ranges::reverse(of_b);
    std::vector<int64_t> right;
    for (int64_t k = 0; k < static_cast<int64_t>(p.k); k += each) right.push_back(k);
    if (of_a == right && of_b == right) return;
    const std::string element = "D[" + std::to_string((stored - m.d.begin()) / p.n) + "][" +
                                std::to_string((stored - m.d.begin()) % p.n) + "]";
    if (of_a == of_b)
        out.push_back("the products of " + element + " begin at k " + list(of_a) +
                      "; right would be " + list(right));
    else
        out.push_back("the products of " + element + " begin at k " + list(of_a) + " of A and " +
                      list(of_b) + " of B; right would be " + list(right));
}

// Accumulators that nothing stores, by register.
std::string lost_text(const Mapping& m, const isa::Program& program) {
    const auto count = counted(m);
    std::map<unsigned, uint64_t> lost;  // by register
    std::set<uint32_t> lines;
    uint64_t all = 0;
    for (size_t e = 0; e < count.size(); ++e) {
        const Site& s = m.sites[m.executions[e].site];
        for (size_t i = 0; i < count[e].size(); ++i) {
            ++all;
            if (count[e][i]) continue;
            ++lost[s.where_d[i].reg];
            lines.insert(program.operations[s.operation].place.line);
        }
    }
    if (lost.empty()) return {};
    uint64_t sum = 0;
    std::string registers;
    for (const auto& [reg, n] : lost) {
        sum += n;
        registers += (registers.empty() ? "c" : ", c") + std::to_string(reg);
    }
    return std::to_string(sum) + " of " + std::to_string(all) +
           " accumulators are never stored and go into no further product: " + registers +
           " of the mma of " +
           (lines.size() == 1 ? "line " + std::to_string(*lines.begin())
                              : "lines " + std::to_string(*lines.begin()) + " to " +
                                    std::to_string(*lines.rbegin()));
}

}  // namespace

std::vector<uint8_t> reached_k(const Mapping& m, const launch::Product& p) {
    std::vector<uint8_t> out(p.k);
    const auto count = counted(m);
    for (size_t e = 0; e < count.size(); ++e) {
        const Execution& x = m.executions[e];
        if (std::ranges::none_of(count[e], [](bool c) { return c; })) continue;
        for (const std::vector<uint32_t>* v : {&x.a, &x.b})
            for (const uint32_t n : *v) {
                const MatrixPlace at = source_of(m, p, n);
                if (at.matrix == MatrixPlace::Matrix::a) out[at.column] |= 1;
                if (at.matrix == MatrixPlace::Matrix::b) out[at.row] |= 2;
            }
    }
    for (uint8_t& k : out) k = k == 3 ? 1 : 0;
    return out;
}

bool every_sum_counts(const Mapping& m) {
    for (const std::vector<bool>& of : counted(m))
        if (std::ranges::none_of(of, [](bool c) { return c; })) return false;
    return true;
}

std::string never_stored_text(const Mapping& mapping, const isa::Program& program) {
    return lost_text(mapping, program);
}

std::vector<std::string> measured_text(const Mapping& mapping, const Subject& subject,
                                       const isa::Program& program) {
    std::vector<std::string> out;
    add_chain(mapping, *subject.product, out);
    if (std::string lost = lost_text(mapping, program); !lost.empty())
        out.push_back(std::move(lost));
    const Terms t = compare(mapping, *subject.product, subject.elements() / 256 | 1);
    const auto say = [&](uint64_t n, const std::string& what) {
        if (n != 0)
            out.push_back(what + " in " +
                          std::to_string(n * 100 / std::max<uint64_t>(1, t.right + t.extra)) +
                          "% of the products");
    };
    say(t.other_rows, "A comes from another row than D's");
    say(t.other_columns, "B comes from another column than D's");
    say(t.other_k, "A and B have different k");
    if (t.begun_elsewhere != 0) out.emplace_back("the sums begin with something else than zero");
    return out;
}

}  // namespace lockwarp::why
