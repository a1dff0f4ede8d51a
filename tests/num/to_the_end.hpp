// SPDX-License-Identifier: Apache-2.0
// Memory for what must not be read or written beyond its end.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace lockwarp::num::testing {

// Bytes that end where no memory is.
class ToTheEnd {
  public:
    explicit ToTheEnd(uint64_t bytes)
        : bytes_(bytes), page_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
        room_ = (bytes + page_ - 1) / page_ * page_;
        void* const at = mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        memory_ = static_cast<uint8_t*>(at);
        EXPECT_EQ(mprotect(memory_ + room_, page_, PROT_NONE), 0);
        std::memset(memory_, 0xa5, room_);
    }
    ~ToTheEnd() { munmap(memory_, room_ + page_); }
    ToTheEnd(const ToTheEnd&) = delete;
    ToTheEnd& operator=(const ToTheEnd&) = delete;
    std::span<uint8_t> bytes() const { return {memory_ + room_ - bytes_, bytes_}; }
    // Whether what stands before them is as it was.
    bool is_whole_before() const {
        return std::all_of(memory_, memory_ + room_ - bytes_, [](uint8_t b) { return b == 0xa5; });
    }

  private:
    uint64_t bytes_, page_, room_ = 0;
    uint8_t* memory_ = nullptr;
};

}  // namespace lockwarp::num::testing
