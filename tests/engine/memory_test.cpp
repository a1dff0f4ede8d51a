// SPDX-License-Identifier: Apache-2.0
// A context's memory while ranges come and go.
#include "engine/memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

#include "engine/error.hpp"

namespace lockwarp::engine {

// The library's own is behind the C face.
void fail(lockwarp_status status, std::string message) {
    throw Failure{status, std::move(message)};
}

}  // namespace lockwarp::engine

namespace lockwarp::engine::memory_test {
namespace {

std::vector<warp::Buffer> listed(const warp::Buffers& buffers) {
    std::vector<warp::Buffer> out;
    for (const auto& [address, b] : buffers) {
        EXPECT_EQ(address, b.address);
        out.push_back(b);
    }
    return out;
}

void expect_same(const std::vector<warp::Buffer>& a, const std::vector<warp::Buffer>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].name, b[i].name) << i;
        EXPECT_EQ(a[i].address, b[i].address) << i;
        EXPECT_EQ(a[i].bytes.data(), b[i].bytes.data()) << i;
        EXPECT_EQ(a[i].bytes.size(), b[i].bytes.size()) << i;
    }
}

// Ranges of few bytes side by side, so that many touch or lie in one another: after each step the
// buffers are those that all ranges together make, and what a launch was given stays as it was.
TEST(Memory, IsThatOfItsRangesWhateverCameBefore) {
    std::vector<uint8_t> bytes(256);
    std::mt19937 random(20);
    const auto below = [&](uint64_t n) { return random() % n; };
    size_t joined = 0, of_launches = 0;
    for (int run = 0; run < 20; ++run) {
        Memory memory;
        std::vector<Range> there;
        std::shared_ptr<const warp::Buffers> given;
        std::vector<warp::Buffer> as_given;
        for (int step = 0; step < 200; ++step) {
            if (there.empty() || below(5) < 3) {
                const uint64_t at = below(200);
                const Range r{0x1000 + at, below(run < 10 ? 8 : 40), bytes.data() + at,
                              std::to_string(step)};
                memory.add(r);
                if (r.size != 0) there.push_back(r);
            } else {
                const auto gone = there.begin() + static_cast<ptrdiff_t>(below(there.size()));
                EXPECT_TRUE(memory.remove(gone->bytes, gone->size));
                // Of two at one place the first that came goes.
                there.erase(std::ranges::find_if(there, [&](const Range& r) {
                    return r.bytes == gone->bytes && r.size == gone->size;
                }));
            }
            const std::vector<warp::Buffer> all = buffers_of(there);
            joined += there.size() - all.size();
            expect_same(listed(*memory.buffers()), all);
            if (given != nullptr) {
                expect_same(listed(*given), as_given);
                ++of_launches;
            }
            if (below(4) == 0) {
                given = memory.buffers();
                as_given = listed(*given);
            } else if (below(4) == 0) {
                given = nullptr;
            }
            if (HasFailure()) return;
        }
        EXPECT_EQ(memory.ranges().size(), there.size());
    }
    EXPECT_GT(joined, 1000u);
    EXPECT_GT(of_launches, 1000u);
}

// Two places for one byte are an error of those that ask, until one of the two is gone.
TEST(Memory, HasOnePlaceForAByte) {
    std::vector<uint8_t> bytes(64);
    Memory memory;
    memory.add({0x1000, 16, bytes.data(), "a"});
    memory.add({0x1008, 16, bytes.data(), "b"});
    memory.add({0x1100, 16, bytes.data(), "c"});
    for (int i = 0; i < 2; ++i) {
        try {
            memory.buffers();
            ADD_FAILURE() << "no error";
        } catch (const Failure& f) {
            EXPECT_EQ(f.status, LOCKWARP_INVALID_ARGUMENT);
            EXPECT_EQ(f.message,
                      "the ranges 'a' and 'b' at 0x1008 (16 bytes) overlap and give the same "
                      "address to different bytes");
        }
    }
    EXPECT_EQ(memory.ranges().size(), 3u);
    EXPECT_TRUE(memory.remove(bytes.data(), 16));
    EXPECT_EQ(memory.ranges().size(), 2u);
    EXPECT_EQ(memory.buffers()->size(), 2u);
    // Those that only touch are two.
    memory.add({0x1018, 4, bytes.data(), "d"});
    EXPECT_EQ(memory.buffers()->size(), 3u);
}

}  // namespace
}  // namespace lockwarp::engine::memory_test
