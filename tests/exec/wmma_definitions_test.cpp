// SPDX-License-Identifier: Apache-2.0
// Every variant of wmma.mma on every architecture, run as PTX with the loads and the store, against
// the second definition of its arithmetic (tests/num/dot_oracle.hpp). Products of f64 round in each
// of the four ways.
//
// LOCKWARP_TEST_SCALE multiplies the number of products: 1000 gives a million results a variant.
#include <bit>

#include "emu/num/dot.hpp"
#include "tests/exec/wmma_support.hpp"
#include "tests/num/dot_oracle.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::exec::wmma_definitions_test {

namespace {

using isa::Order;
using isa::Rounding;
using isa::Type;
using isa::WmmaVariant;
using num::testing::InputClass;

struct Form {
    bool satfinite = false;
    Rounding rounding = Rounding::rn;
    Order c_order = Order::row;
    Order d_order = Order::row;
};

std::string_view rounding_text(const WmmaVariant& v, Rounding rounding) {
    constexpr std::array<std::string_view, 4> names{".rn", ".rz", ".rm", ".rp"};
    return v.d == Type::f64 ? names.at(static_cast<size_t>(rounding)) : "";
}

// Where a matrix lies in what a CTA has of a buffer.
struct Part {
    WmmaMatrix matrix;
    Storage storage;
    size_t at;

    Part(const WmmaVariant& v, char which, Order order, size_t begin)
        : matrix(matrix_of(v, which)), storage(storage_of(matrix, order)), at(begin) {}
    size_t end() const {
        return at + size_t{matrix.rows} * matrix.columns * isa::bits(matrix.type) / 8;
    }
};

struct Parts {
    Part a, b, c, d;
    Parts(const WmmaVariant& v, const Form& form)
        : a(v, 'a', v.a_order, 0),
          b(v, 'b', v.b_order, a.end()),
          c(v, 'c', form.c_order, b.end()),
          d(v, 'd', form.d_order, 0) {}
    size_t in_bytes() const { return c.end(); }
    size_t out_bytes() const { return d.end(); }
};

class WmmaDefinition {
  public:
    WmmaDefinition(const WmmaVariant& v, const isa::ArchRow& arch)
        : v_(v),
          arch_(arch),
          // Where one of C and D is f16 and the other f32, the sum is f32.
          sum_(v.c == v.d ? v.d : Type::f32),
          row_(num::find_dot_row(arch.arch, v.m, v.n, v.k, v.ab, sum_)),
          machine_(isa::wmma_machine(arch.arch)) {}

    void check(InputClass input, const Form& form, unsigned cases, uint64_t seed) {
        ASSERT_NE(row_, nullptr) << v_.key << " on " << arch_.name;
        num::testing::Random random(seed);
        const num::MatrixTypes types{v_.ab,          v_.ab,      v_.c,         v_.d,
                                     form.satfinite, v_.combine, form.rounding};
        const Parts parts(v_, form);
        Given launch;
        launch.arch = arch_.arch;
        launch.grid.x = cases;
        launch.buffers = {Bytes(parts.in_bytes() * cases), Bytes(parts.out_bytes() * cases, 0x5c)};
        std::vector<num::testing::Operands> given;
        for (unsigned i = 0; i < cases; ++i) {
            given.push_back(num::testing::make_operands(input, {v_.m, v_.n, v_.k}, types, random));
            place(launch.buffers[0], parts.in_bytes() * i, parts, given.back());
        }
        const isa::Program program = program_of(module_of(form, parts), arch_.arch);
        const Bytes out = run_well(program, std::move(launch)).buffers[1];
        size_t different = 0;
        for (unsigned i = 0; i < cases; ++i)
            for (unsigned row = 0; row < v_.m; ++row)
                for (unsigned column = 0; column < v_.n; ++column) {
                    const uint64_t actual =
                        get(out, parts.out_bytes() * i, parts.d.storage, row, column);
                    const uint64_t expected = element(given[i], types, row, column);
                    ++compared;
                    if (actual == expected || different++ >= 3) continue;
                    ADD_FAILURE() << v_.key << " on " << arch_.name << ", " << name(input)
                                  << rounding_text(v_, form.rounding)
                                  << (form.satfinite ? ", satfinite" : "") << ", D[" << row << "]["
                                  << column << "] = 0x" << std::hex << actual << ", expected 0x"
                                  << expected;
                }
        EXPECT_EQ(different, 0u) << v_.key << " on " << arch_.name;
    }

    size_t compared = 0;

  private:
    void place(Bytes& in, size_t base, const Parts& parts, const num::testing::Operands& x) const {
        for (unsigned k = 0; k < v_.k; ++k) {
            for (unsigned m = 0; m < v_.m; ++m)
                put(in, base + parts.a.at, parts.a.storage, m, k, x.a[m * v_.k + k]);
            for (unsigned n = 0; n < v_.n; ++n)
                put(in, base + parts.b.at, parts.b.storage, k, n, x.b[n * v_.k + k]);
        }
        for (unsigned m = 0; m < v_.m; ++m)
            for (unsigned n = 0; n < v_.n; ++n)
                put(in, base + parts.c.at, parts.c.storage, m, n, x.c[m * v_.n + n]);
    }

    // CTA i takes its part of `in` and gives its part of `out`.
    std::string module_of(const Form& form, const Parts& parts) const {
        const auto move = [&](char which, const Part& part) {
            const std::string at = which == 'd' ? "%rd5" : "%rd4+" + std::to_string(part.at);
            return move_text(v_, arch_.arch, which, part.storage.order, ".global", at);
        };
        return kernel("mov.u32 %r2, %ctaid.x;\nmad.wide.u32 %rd5, %r2, " +
                          std::to_string(parts.out_bytes()) + ", %rd4;\nmad.wide.u32 %rd4, %r2, " +
                          std::to_string(parts.in_bytes()) + ", %rd1;\n" + move('a', parts.a) +
                          move('b', parts.b) + move('c', parts.c) +
                          mma_text(v_, arch_.arch, form.satfinite ? ".satfinite" : "",
                                   rounding_text(v_, form.rounding)) +
                          move('d', parts.d) + "ret;",
                      "", target_of(v_));
    }

    uint64_t element(const num::testing::Operands& x, num::MatrixTypes types, unsigned row,
                     unsigned column) const {
        uint64_t c = x.c[row * v_.n + column];
        types.d = sum_;
        // The same value, but a subnormal number of f16 is a normal one of f32, and takes part with
        // another exponent.
        if (v_.c != sum_ && machine_.converts_c) {
            types.c = Type::f32;
            c = std::bit_cast<uint32_t>(static_cast<float>(value_of_f16(static_cast<uint16_t>(c))));
        }
        const uint64_t sum = num::testing::oracle_element(*row_, types, v_.k, &x.a[row * v_.k],
                                                          &x.b[column * v_.k], c);
        if (v_.d == sum_) return sum;
        return f16_of(std::bit_cast<float>(static_cast<uint32_t>(sum)));
    }

    const WmmaVariant& v_;
    const isa::ArchRow& arch_;
    Type sum_;
    const num::DotRow* row_;
    const isa::WmmaMachine& machine_;
};

struct Named {
    const WmmaVariant* variant;
};

void PrintTo(const Named& named, std::ostream* out) { *out << named.variant->key; }

class WmmaDefinitions : public testing::TestWithParam<Named> {};

TEST_P(WmmaDefinitions, OnEveryArchitecture) {
    const WmmaVariant& v = *GetParam().variant;
    const unsigned cases = test_scale() * (v.m == 8 && v.n == 8 ? 2 : 1);
    const unsigned roundings = v.d == Type::f64 ? 4 : 1;
    const auto index = static_cast<uint64_t>(&v - isa::wmma_variants().data());
    size_t architectures = 0;
    for (const isa::ArchRow& arch : isa::arch_rows) {
        if (!isa::has(arch, v.target)) continue;
        ++architectures;
        WmmaDefinition definition(v, arch);
        uint64_t seed = arch.number + 1000 * index;
        for (unsigned input = 0; input < num::testing::input_classes; ++input)
            for (unsigned rounding = 0; rounding < roundings; ++rounding)
                definition.check(static_cast<InputClass>(input),
                                 {v.satfinite && input % 2 != 0, static_cast<Rounding>(rounding),
                                  input / 2 % 2 != 0 ? Order::col : Order::row,
                                  input / 4 % 2 != 0 ? Order::col : Order::row},
                                 cases, ++seed * 7919);
        EXPECT_GE(definition.compared, size_t{1000} * test_scale());
    }
    EXPECT_GT(architectures, 0u);
}

std::vector<Named> all_variants() {
    std::vector<Named> out;
    for (const WmmaVariant& v : isa::wmma_variants()) out.push_back({&v});
    return out;
}

std::string name_of_variant(const testing::TestParamInfo<Named>& info) {
    return test_name(info.param.variant->key);
}

INSTANTIATE_TEST_SUITE_P(Wmma, WmmaDefinitions, testing::ValuesIn(all_variants()), name_of_variant);

}  // namespace

}  // namespace lockwarp::exec::wmma_definitions_test
