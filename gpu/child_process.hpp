// SPDX-License-Identifier: Apache-2.0
// What child.cpp's two processes share: small messages of one size through a socket, and memory for
// the bytes themselves.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "gpu/child.hpp"

namespace lockwarp::gpu {

constexpr uint64_t piece_bytes = 16u << 20;       // of a transfer; two are under way at a time
constexpr uint64_t max_text = uint64_t{1} << 30;  // PTX, entry and parameters of one run
// To destroy the engine after the last request.
constexpr auto orderly_end = std::chrono::milliseconds(2000);

// Memory that both processes map: a file without a name, grown where more is needed. The whole
// range is mapped from the beginning, so nothing moves when it grows.
struct Shared {
    int fd = -1;
    uint64_t most = 0;
    uint8_t* base = nullptr;
};

// Maps it in this process. False, with errno, where it cannot.
bool map(Shared& s);
// Closes and unmaps it.
void unmap(Shared& s);
uint64_t size_of(const Shared& s);
[[nodiscard]] launch::Result<void> grow(const Shared& s, uint64_t bytes);

enum class Ask : uint8_t {
    allocate,
    allocate_at,
    release,
    write,
    clear,
    read,
    compile,
    run,
    encode
};

struct Request {
    Ask ask = Ask::release;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t at = 0;  // of the shared bytes: where a transfer's piece lies
    warp::Dim3 grid = {}, block = {};
    uint32_t dynamic_shared = 0;
    uint32_t optimization = 0;
    uint32_t stack_bytes = 0;
    bool fresh = false;
    std::optional<warp::Dim3> cluster = {};
    bool non_portable_cluster = false;
    bool cooperative = false;
    std::array<uint64_t, 3>
        text{};  // compile, run: bytes of PTX, entry and parameters, one after another
};

// The child sends one when it has opened the engine, and one to each request.
// Plain numbers, for a process that went wrong may have sent it.
struct Reply {
    uint64_t address = 0;  // allocate; allocate_at: 0 where there is none; encode: bytes of the map
    uint8_t failed = 0;    // write, clear, read, encode, and of the first of all: 1 with its text
    uint8_t outcome = 0;   // compile, run
    uint8_t fault = 0;
    uint32_t number = 0, clock_mhz = 0;  // the first of all: device()
    uint64_t memory = 0;
    std::array<uint64_t, 2> text{};  // bytes; an error or a name, and the driver's version
};

// All of the child's life, from just after fork().
[[noreturn]] void live(const Opener& open, int socket, const Shared& bytes,
                       const Shared& text) noexcept;

}  // namespace lockwarp::gpu
