// SPDX-License-Identifier: Apache-2.0
// Recordings (.lwr): a case and what an engine gave for it, so that it can be compared again where
// there is no such engine.
//
// The file, all numbers little-endian:
//
//    0  "LWR", then one byte: the format's version, 1 to 4: the lowest that has what the
//       recording needs
//    4  u64  bytes of the frame
//   12  u64  bytes of the body
//   20  u64  checksum of the frame
//   28  u64  checksum of bytes 0 to 27
//   36  the frame: one Zstandard frame (RFC 8878), which declares its content's size; the file ends
//       with it. Decompressed it is the body.
//
// The checksum is 64-bit FNV-1a: from 0xcbf29ce484222325, for each byte xor it in, then multiply by
// 0x100000001b3 modulo 2^64. A change of any one byte always changes it.
//
// The body. "bytes" are a u64 length and so many bytes; "text" the same, UTF-8; "list" a u64 count
// and so many of what follows it in braces. The body ends with the last field.
//
//   text name, text ptx, text arch, text made_by                  (Recording)
//   text entry, u32 grid x y z, u32 block x y z, u32 dynamic shared bytes, bytes parameters
//   list patches { u32 at, u64 buffer, u64 offset }
//   list buffers { text name, bytes before the run }
//   text device name, text driver, u32 compute capability, u32 MHz, u64 memory bytes
//   list addresses { u64 }                                        one a buffer
//   u8 outcome (0 done, 1 refused, 2 faulted, 3 hung), text what,
//   u8 fault (0 none, 1 illegal address, 2 misaligned address, 3 address space,
//             4 illegal instruction, 5 launch failed)             (gpu::Ran)
//   list outputs { bytes: the buffer after the run, xor its bytes before }
//                                                                 none, or one a buffer
//   u64 operations, then one bit each, lowest bit of a byte first, zeros to the end of the last
//   byte: whether it leaves a record                              (gpu::Traced)
//   list windows {
//     u64 first word, u64 words, u64 first CTA, u64 CTAs, u64 slack
//     for each CTA and each of its warps: u64 kept: words up to its last that is not zero in all
//     lanes
//     eight planes, each sum(kept) * 32 bytes: plane p holds byte p (0 the lowest) of every word of
//     every lane, in the order of gpu/trace.hpp without the words not kept; those are zeros
//   }
//   u8: 1, the launch was cooperative, or 0                       of version 2
//   list { u8 }: none, or one an operation (gpu::Ordered)         of version 2; of 3 where one is
//                                                                 Ordered::result
//   u8: the optimization of the driver's compiler, 0 to 4         of version 3; else 4
//   u32 x, y, z of the cluster that the launch asked for; u8: 1, it may be one that is not
//   portable, or 0                                                of version 4; else it asked for
//   none
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launch/result.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

struct Recording {
    std::string name;     // of the PTX file, for reports; no folder
    std::string ptx;      // the source text
    std::string arch;     // "sm_90": the machine it was recorded on, as emu/isa/arch.hpp names it
    std::string made_by;  // "lockwarp 0.1.0"
    launch::Case c;       // its module is not in the file: it is parsed from `ptx`
    Answer answer;
};

// Bytes of a body, and of all its tracks together with their zeros, that are written and read.
inline constexpr uint64_t max_recorded = uint64_t{1} << 30;

// The file. Empty where it would pass `max_recorded`, or where tracks have not the size that their
// window says.
std::vector<uint8_t> write_recording(const Recording& recording);

// An error where the bytes are no recording, are cut off or damaged, are of a newer version, or say
// what cannot be. What it accepts belongs together: every buffer has
// its name, bytes and address, no two overlap, patches lie in the parameters, the module resolves
// for the architecture, and tracks have the size that their window says.
[[nodiscard]] launch::Result<Recording> read_recording(std::span<const uint8_t> bytes);

namespace detail {  // for tests: the two layers of the file

// Fields to body, and back.
std::vector<uint8_t> body_of(const Recording& recording);
[[nodiscard]] launch::Result<Recording> parse_body(std::span<const uint8_t> body);

// Body to file, and back. level: Zstandard's, 1 to 19.
std::vector<uint8_t> seal(std::span<const uint8_t> body, int level = 19, uint8_t version = 3);
[[nodiscard]] launch::Result<std::vector<uint8_t>> unseal(std::span<const uint8_t> file);

}  // namespace detail

}  // namespace lockwarp::validate
