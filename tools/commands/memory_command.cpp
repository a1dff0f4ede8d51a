// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/memory_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "lanes/banks.hpp"
#include "lanes/questions.hpp"
#include "tools/commands/commands.hpp"

namespace lockwarp::tools {

namespace {

void add_pattern(CLI::App& c, MemoryCommand& o) {
    c.add_option("--stride", o.stride,
                 "bytes from one row to the next (of ld and st: from one lane to the next; "
                 "default: as many as an access takes)")
        ->type_name("BYTES");
    c.add_option("--address", o.address,
                 "a lane's byte address: an expression of lane and stride, as "
                 "\"(lane%16)*stride + lane/16*16\"")
        ->type_name("EXPR");
    c.add_option("--swizzle", o.swizzle, "then CuTe's Swizzle<B,M,S> of it, as 3,4,3")
        ->type_name("B,M,S");
    c.add_option("--of", o.unit,
                 "what the swizzle's index counts: bytes (default), or elements of b8, b16, b32, "
                 "b64")
        ->type_name("UNIT");
    add_answer_options(c, o.answer);
}

// A number as people write it; nullopt: it is none, or has over 64 bits.
std::optional<uint64_t> number(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (problem != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

lanes::Answer swizzled(const MemoryCommand& o) {
    const auto s = lanes::swizzle_named(o.swizzle);
    if (!s)
        return lanes::wrong(fmt::format(
            "no swizzle '{}'; one is B,M,S with B and M from 0 and |S| at least B, as 3,4,3",
            o.swizzle.substr(0, 100)));
    std::vector<uint32_t> indices;
    for (const std::string& text : o.indices) {
        const auto n = number(text);
        if (!n || *n > UINT32_MAX)
            return lanes::wrong(fmt::format("'{}' is not a 32-bit index", text.substr(0, 100)));
        indices.push_back(static_cast<uint32_t>(*n));
    }
    return lanes::explain_swizzle(*s, indices);
}

lanes::Answer accessed(const MemoryCommand& o, const std::string& name, bool rows) {
    std::string error;
    const auto access = lanes::access_named(name, error);
    if (!access) return lanes::wrong(error);
    lanes::Pattern p;
    p.expression = o.address;
    if (o.stride < -1 || o.stride > 1 << 20)
        return lanes::wrong(
            fmt::format("a stride of {} bytes is none: 0 to {}", o.stride, 1 << 20));
    p.stride = o.stride >= 0 ? static_cast<uint32_t>(o.stride) : access->bytes;
    if (!o.swizzle.empty()) {
        p.swizzle = lanes::swizzle_named(o.swizzle);
        if (!p.swizzle) return swizzled(o);
    }
    if (!o.unit.empty() && o.unit != "bytes") {
        if (o.unit != "b8" && o.unit != "b16" && o.unit != "b32" && o.unit != "b64")
            return lanes::wrong(
                fmt::format("--of {}: it is bytes, b8, b16, b32 or b64", o.unit.substr(0, 100)));
        p.unit = static_cast<unsigned>(std::stoi(o.unit.substr(1))) / 8;
    }
    return rows ? lanes::matrix_rows(*access, p) : lanes::banks(*access, p);
}

// Whether elements other than of 16 bits can be transposed on the way.
lanes::Answer transposed(const MemoryCommand& o) {
    const bool bytes = o.elements == "b8";
    if (!bytes && o.elements != "b32" && o.elements != "b16")
        return lanes::wrong(
            fmt::format("--elements {}: it is b8, b16 or b32", o.elements.substr(0, 100)));
    lanes::Answer a;
    if (o.elements == "b16") {
        a.line = "yes: .trans transposes 8x8 matrices of 16-bit elements";
    } else if (bytes) {
        a.line = "no: .trans moves units of 16 bits, so that two neighbouring bytes stay together";
        a.lines = {
            "Use prmt on what two .trans loads give, or store the operand K-major in shared "
            "memory.",
            "sm_100a and sm_120a have forms of 8-bit elements, ldmatrix.m16n16.b8 with .trans."};
    } else {
        a.line =
            "no: .trans moves units of 16 bits, so that a 32-bit element comes apart in halves";
        a.lines = {
            "Without .trans a 32-bit element arrives whole: ldmatrix moves 8 rows of 4 of them. "
            "Transpose with 32-bit loads, or store the operand K-major in shared memory."};
    }
    a.data = {{"elements", o.elements}, {"trans", o.elements == "b16"}};
    return a;
}

lanes::Answer decoded(const MemoryCommand& o) {
    const auto bits = number(o.bits);
    if (!bits)
        return lanes::wrong(fmt::format("'{}' is not a 64-bit number", o.bits.substr(0, 100)));
    return lanes::decode_descriptor(*bits);
}

lanes::Answer encoded(const MemoryCommand& o) {
    lanes::Descriptor d;
    const auto checked = [](int64_t n) {
        return n < 0 || n > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(n);
    };
    d.start = checked(o.start);
    d.leading = checked(o.leading);
    d.stride = checked(o.stride_offset);
    d.base_offset = checked(o.base_offset);
    d.swizzle = checked(o.swizzle_bytes);
    return lanes::encode_descriptor(d);
}

// ldmatrix, stmatrix
void add_move(CLI::App& app, const std::string& name, const std::string& description, int& status) {
    const auto shared = std::make_shared<MemoryCommand>();
    MemoryCommand& o = *shared;
    CLI::App* move = app.add_subcommand(name, description);
    move->add_option("COUNT", o.access, "x1, x2 or x4")->required();
    move->add_flag("--trans", o.trans, "transposed");
    move->add_option("--elements", o.elements,
                     "whether --trans transposes elements of b8, b16, b32")
        ->type_name("TYPE");
    add_pattern(*move, o);
    move->callback([shared, name, &status] {
        const std::string access =
            fmt::format("{}.{}{}", name, shared->access, shared->trans ? ".trans" : "");
        status = print_answer(
            shared->elements.empty() ? accessed(*shared, access, true) : transposed(*shared),
            shared->answer);
    });
}

}  // namespace

void add_banks(CLI::App& app, int& status) {
    const auto shared = std::make_shared<MemoryCommand>();
    CLI::App* banks =
        app.add_subcommand("banks", "Wavefronts and bank conflicts of an access to shared memory");
    banks
        ->add_option("ACCESS", shared->access,
                     "ldmatrix.x4, stmatrix.x2.trans, ld.shared.v4.b32, ...")
        ->required();
    add_pattern(*banks, *shared);
    banks->callback([shared, &status] {
        status = print_answer(accessed(*shared, shared->access, false), shared->answer);
    });
}

void add_ldmatrix(CLI::App& app, int& status) {
    add_move(app, "ldmatrix", "Lane's address -> row -> lanes and registers it goes to", status);
}

void add_stmatrix(CLI::App& app, int& status) {
    add_move(app, "stmatrix", "Lane's address -> row <- lanes and registers it comes from", status);
}

void add_movmatrix(CLI::App& app, int& status) {
    const auto answer = std::make_shared<AnswerOptions>();
    CLI::App* movmatrix =
        app.add_subcommand("movmatrix", "Which lane each of movmatrix's values comes from");
    add_answer_options(*movmatrix, *answer);
    movmatrix->callback([answer, &status] { status = print_answer(lanes::moved(), *answer); });
}

void add_swizzle(CLI::App& app, int& status) {
    const auto shared = std::make_shared<MemoryCommand>();
    CLI::App* swizzle = app.add_subcommand("swizzle", "CuTe's Swizzle<B,M,S>, bit by bit");
    swizzle->add_option("SWIZZLE", shared->swizzle, "B,M,S, as 3,4,3")->required();
    swizzle->add_option("INDEX", shared->indices, "what it makes of these");
    add_answer_options(*swizzle, shared->answer);
    swizzle->callback(
        [shared, &status] { status = print_answer(swizzled(*shared), shared->answer); });
}

void add_descriptor(CLI::App& app, int& status) {
    const auto shared = std::make_shared<MemoryCommand>();
    MemoryCommand& o = *shared;
    CLI::App* descriptor =
        app.add_subcommand("descriptor", "A warpgroup's shared-memory matrix descriptor");
    descriptor->require_subcommand(1);
    CLI::App* decode = descriptor->add_subcommand("decode", "What its 64 bits say");
    decode->add_option("BITS", o.bits, "as 0x4000004000010000")->required();
    add_answer_options(*decode, o.answer);
    decode->callback(
        [shared, &status] { status = print_answer(decoded(*shared), shared->answer); });
    CLI::App* encode = descriptor->add_subcommand("encode", "The 64 bits of these fields");
    encode->add_option("--start", o.start, "byte address in shared memory")->required();
    encode->add_option("--lbo", o.leading, "leading dimension byte offset");
    encode->add_option("--sbo", o.stride_offset, "stride dimension byte offset");
    encode->add_option("--swizzle", o.swizzle_bytes, "0, 32, 64 or 128 bytes");
    encode->add_option("--base-offset", o.base_offset, "0 to 7");
    add_answer_options(*encode, o.answer);
    encode->callback(
        [shared, &status] { status = print_answer(encoded(*shared), shared->answer); });
}

}  // namespace lockwarp::tools
