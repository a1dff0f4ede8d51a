// Reading what hardware answered. The recordings stand beside the project; where they are absent
// a test that needs them is skipped by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/types.hpp"
#include "emu/num/dot.hpp"

namespace lockwarp::num::testing {

// Little-endian words of a file; empty where it cannot be read.
std::vector<uint32_t> read_words(const std::filesystem::path& file);

// Published dot products of one GPU: for each case k words of A, k of B, C and D.
struct DotRecording {
    std::string file;
    isa::Arch arch;
    isa::Type a, d;
    int k;
    // Of wgmma, which has no row: the sum it was recorded from.
    FusedSum sum{};
};
const std::vector<DotRecording>& dot_recordings();
std::filesystem::path dot_folder();

// The scalar recordings of an H200, unpacked into a folder that lives as long as this object.
class ScalarArchive {
  public:
    ScalarArchive();
    ~ScalarArchive();
    ScalarArchive(const ScalarArchive&) = delete;
    ScalarArchive& operator=(const ScalarArchive&) = delete;
    bool found() const { return !root_.empty(); }
    std::filesystem::path file(const std::string& name) const { return root_ / "alu" / name; }

  private:
    std::filesystem::path root_;  // empty: not there
};

}  // namespace lockwarp::num::testing
