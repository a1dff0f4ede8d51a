// SPDX-License-Identifier: Apache-2.0
// vprintf, __assertfail, malloc and free, as the CUDA C++ programming guide has them ("Formatted
// Output", "Assertion", "Dynamic Global Memory Allocation and Operations"). Text is kept, not
// printed.
#include "emu/exec/system_calls.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/call_values.hpp"
#include "emu/exec/device_runtime.hpp"
#include "emu/exec/listeners.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint32_t longest_text = 1u << 16;
constexpr int widest_field = 1 << 12;

// The text at a generic address, up to its zero; nullopt where memory ends before.
std::optional<std::string> text_at(Context& c, uint64_t address, unsigned lane) {
    std::string text;
    while (text.size() < longest_text) {
        const uint8_t* at = locate_bytes(c, address + text.size(), 1, lane);
        if (at == nullptr) return std::nullopt;
        if (*at == 0) return text;
        text += static_cast<char>(*at);
    }
    return text;
}

void bad_text(Context& c, const Operation& o, unsigned lane, uint64_t address, const char* what) {
    set_trap(c, o, warp::TrapKind::out_of_bounds, what, lane, address, ptx::Space::none);
}

// A conversion of a format: "%-08.3lld".
struct Conversion {
    std::string flags;  // with width and precision, after the '%'
    unsigned longs = 0;
    unsigned shorts = 0;
    char kind = 0;  // 0: the format ends within it
};

// Reads a conversion from behind its '%'; `at` goes behind it. Widths as arguments ('*') are not
// read: such a conversion stands as it is.
Conversion read_conversion(const std::string& format, size_t& at) {
    Conversion out;
    int number = 0;
    while (at < format.size() && std::strchr("-+ #0123456789.", format[at]) != nullptr) {
        const char ch = format[at++];
        number = ch >= '0' && ch <= '9' ? number * 10 + (ch - '0') : 0;
        if (number <= widest_field) out.flags += ch;
    }
    while (at < format.size() && std::strchr("hljztL", format[at]) != nullptr) {
        const char ch = format[at++];
        if (ch == 'h')
            ++out.shorts;
        else
            out.longs += ch == 'L' ? 0 : 1;
    }
    if (at < format.size()) out.kind = format[at++];
    return out;
}

template <class T>
std::string print_one(const std::string& format, T value) {
    const int length = std::snprintf(nullptr, 0, format.c_str(), value);
    if (length <= 0) return {};
    std::string text(static_cast<size_t>(length) + 1, '\0');
    std::snprintf(text.data(), text.size(), format.c_str(), value);
    text.pop_back();
    return text;
}

// The arguments of a vprintf, packed as a structure of them: 4 bytes or 8, each at a multiple of
// its size.
struct Packed {
    Context& c;
    uint64_t address;
    unsigned lane;
    bool failed = false;
    uint64_t failed_at = 0;

    uint64_t next(uint32_t bytes) {
        address = (address + bytes - 1) / bytes * bytes;
        const uint8_t* at = locate_bytes(c, address, bytes, lane);
        uint64_t value = 0;
        if (at != nullptr) {
            std::memcpy(&value, at, bytes);
        } else {
            failed = true;
            failed_at = address;
        }
        address += bytes;
        return value;
    }
};

std::string formatted(Packed& arguments, const std::string& format, uint32_t& count) {
    std::string out;
    for (size_t at = 0; at < format.size() && out.size() < longest_text && !arguments.failed;) {
        if (format[at] != '%') {
            out += format[at++];
            continue;
        }
        const size_t begin = at++;
        const Conversion v = read_conversion(format, at);
        const std::string head = "%" + v.flags;
        const uint32_t bytes = v.longs != 0 ? 8 : 4;
        switch (v.kind) {
            case '%':
                out += '%';
                continue;
            case 'd':
            case 'i': {
                const uint64_t raw = arguments.next(bytes);
                int64_t value = bytes == 8 ? static_cast<int64_t>(raw) : static_cast<int32_t>(raw);
                if (v.shorts == 1) value = static_cast<int16_t>(raw);
                if (v.shorts > 1) value = static_cast<int8_t>(raw);
                out += print_one(head + PRId64, value);
                break;
            }
            case 'u':
            case 'o':
            case 'x':
            case 'X': {
                uint64_t value = arguments.next(bytes);
                if (v.shorts == 1) value &= 0xffff;
                if (v.shorts > 1) value &= 0xff;
                out += print_one(head + "l" + v.kind, value);
                break;
            }
            case 'c':
                out += print_one(head + "c", static_cast<int>(arguments.next(4) & 0xff));
                break;
            case 'p':
                out += print_one(head + "p", reinterpret_cast<void*>(arguments.next(8)));
                break;
            case 's': {
                const uint64_t address = arguments.next(8);
                const std::optional<std::string> text =
                    text_at(arguments.c, address, arguments.lane);
                if (!text) {
                    arguments.failed = true;
                    arguments.failed_at = address;
                    break;
                }
                out += print_one(head + "s", text->c_str());
                break;
            }
            case 'a':
            case 'A':
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G': {
                const uint64_t raw = arguments.next(8);
                double value = 0;
                std::memcpy(&value, &raw, sizeof value);
                out += print_one(head + v.kind, value);
                break;
            }
            default:
                // No conversion: it stands as it is.
                out += format.substr(begin, at - begin);
                continue;
        }
        ++count;
    }
    return out;
}

void keep(Context& c, unsigned lane, std::string text) {
    c.printed_bytes += text.size();
    if (c.printed_bytes > warp::max_printed_bytes)
        c.printed_bytes_lost += text.size();
    else
        c.printed.push_back({c.cta->index, c.warp->index, lane, std::move(text)});
}

void print(Context& c, const Operation& o, const isa::Call& call, unsigned lane,
           const std::array<uint32_t, 32>& bases) {
    const uint64_t format_at = argument(c, call, 0, lane, bases);
    const std::optional<std::string> format = text_at(c, format_at, lane);
    if (!format) {
        bad_text(c, o, lane, format_at, "the format of vprintf");
        return;
    }
    Packed arguments{c, argument(c, call, 1, lane, bases), lane};
    uint32_t count = 0;
    std::string text = formatted(arguments, *format, count);
    if (arguments.failed) {
        bad_text(c, o, lane, arguments.failed_at, "an argument of vprintf");
        return;
    }
    keep(c, lane, std::move(text));
    set_result(c, call, lane, count, bases);
}

void fail_assertion(Context& c, const Operation& o, const isa::Call& call, unsigned lane,
                    const std::array<uint32_t, 32>& bases) {
    const auto text = [&](size_t k) {
        return text_at(c, argument(c, call, k, lane, bases), lane).value_or("?");
    };
    const auto line = static_cast<uint32_t>(argument(c, call, 2, lane, bases));
    set_trap(c, o, warp::TrapKind::trap,
             text(1) + ":" + std::to_string(line) + ": " + text(3) + ": assertion `" + text(0) +
                 "' failed",
             lane, 0, ptx::Space::none);
    c.trap->has_address = false;
}

void tell(const Context& c, const Operation& o, unsigned lane, bool frees, uint64_t address,
          uint64_t bytes) {
    if (c.listeners == nullptr || address == 0) return;
    const auto operation = static_cast<uint32_t>(&o - c.program->operations.data());
    c.listeners->heap({operation, c.warp->index, lane, frees, address, bytes});
}

}  // namespace

uint64_t allocate_block(Context& c, const Operation& o, unsigned lane, uint64_t bytes) {
    const uint64_t address = c.heap->allocate(bytes);
    tell(c, o, lane, false, address, bytes);
    return address;
}

void release_block(Context& c, const Operation& o, unsigned lane, uint64_t address) {
    if (address == 0) return;
    if (c.heap->release(address)) return tell(c, o, lane, true, address, 0);
    set_trap(c, o, warp::TrapKind::out_of_bounds,
             "free of an address that malloc did not return, or that is free again", lane, address,
             ptx::Space::none);
}

uint32_t take_blocks(Context& c, const isa::Call& call, const warp::Retired& before,
                     const std::array<uint32_t, 32>& bases) {
    uint32_t done = 0;
    for (uint32_t rest = before.executed; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t bytes = argument(c, call, 0, lane, bases);
        const warp::GivenBlock given = c.launch->oracle->block(before, lane);
        if (given.waits) continue;
        const uint64_t address = given.address.value_or(0);
        if (address != 0 && !c.heap->allocate_at(address, bytes)) continue;
        set_result(c, call, lane, given.address ? address : c.heap->allocate(bytes), bases);
        c.launch->oracle->took_block(before, lane);
        done |= 1u << lane;
    }
    c.stores += done != 0;
    return done;
}

void run_system_call(Context& c, const Operation& o, const isa::Call& call, uint32_t mask,
                     const std::array<uint32_t, 32>& bases) {
    if (isa::is_device_runtime(call.system)) run_device_runtime(c, o, call, mask, bases);
    for (uint32_t rest = mask; rest != 0 && !c.trap; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        switch (call.system) {
            case isa::System::none:
                break;
            case isa::System::vprintf:
                print(c, o, call, lane, bases);
                break;
            case isa::System::assertfail:
                fail_assertion(c, o, call, lane, bases);
                break;
            case isa::System::malloc:
                set_result(c, call, lane,
                           allocate_block(c, o, lane, argument(c, call, 0, lane, bases)), bases);
                break;
            case isa::System::free:
                release_block(c, o, lane, argument(c, call, 0, lane, bases));
                break;
            default:
                break;
        }
    }
    ++c.stores;
}

}  // namespace lockwarp::exec
