// SPDX-License-Identifier: Apache-2.0
// A kernel beside a reference, bit by bit: the product of two matrices of small whole numbers,
// which every architecture gives exactly.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <lockwarp/emu.hpp>
#include <lockwarp/testing.hpp>
#include <string>
#include <vector>

namespace {

using namespace lockwarp;

constexpr size_t rows = 16, columns = 8, depth = 16;

// A global buffer of the kernel. Its address is the caller's to choose.
template <typename T>
warp::Buffer buffer(const char* name, uint64_t address, std::vector<T>& values) {
    return {name, address, {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)}};
}

// Launches one warp with the buffers' addresses as parameters.
warp::Result run(isa::Arch arch, std::vector<warp::Buffer> buffers) {
    std::ifstream file(KERNEL_FILE);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const ptx::Parsed parsed = ptx::parse(text);
    const isa::Resolved resolved = isa::resolve(parsed.module, arch, "product");
    for (const auto* list : {&parsed.diagnostics, &resolved.diagnostics})
        for (const ptx::Diagnostic& d : *list)
            ADD_FAILURE() << KERNEL_FILE << ":" << d.place.line << ": " << d.message;

    warp::Launch launch;
    launch.block = {32};
    launch.parameters.resize(resolved.program.parameter_bytes);
    for (size_t i = 0; i < buffers.size(); ++i)
        std::memcpy(launch.parameters.data() + resolved.program.parameters[i].offset,
                    &buffers[i].address, sizeof buffers[i].address);
    launch.buffers = std::move(buffers);
    return exec::launch(resolved.program, launch);
}

// The bits of a whole number from -2048 to 2048 as f16.
uint16_t f16_of(int value) {
    return static_cast<uint16_t>(num::from_integer(isa::Type::f16, static_cast<uint64_t>(value), 64,
                                                   true, isa::Rounding::rn));
}

TEST(Product, HasTheBitsOfTheReference) {
    std::vector<uint16_t> a(rows * depth), b(depth * columns);
    std::vector<float> d(rows * columns), reference(rows * columns);
    const auto a_at = [](size_t row, size_t k) {
        return static_cast<int>(row) - static_cast<int>(k);
    };
    const auto b_at = [](size_t k, size_t column) { return static_cast<int>(3 * k + column) - 20; };
    for (size_t row = 0; row < rows; ++row)
        for (size_t k = 0; k < depth; ++k) a[row * depth + k] = f16_of(a_at(row, k));
    for (size_t column = 0; column < columns; ++column)
        for (size_t k = 0; k < depth; ++k) b[column * depth + k] = f16_of(b_at(k, column));
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column) {
            int sum = 0;
            for (size_t k = 0; k < depth; ++k) sum += a_at(row, k) * b_at(k, column);
            reference[row * columns + column] = static_cast<float>(sum);
        }

    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_90}) {
        const warp::Result result =
            run(arch, {buffer("a", 0x10000, a), buffer("b", 0x20000, b), buffer("d", 0x30000, d)});
        ASSERT_FALSE(result.refusal) << result.refusal->what;
        ASSERT_FALSE(result.trap) << result.trap->detail;
        EXPECT_SAME_MATRIX_BITS("f32", columns, reference, d);
    }
}

}  // namespace
