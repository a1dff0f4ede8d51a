// SPDX-License-Identifier: Apache-2.0
// Files of what a program's memory holds.
#include "cuda/write_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace lockwarp::cuda {

namespace {

class WriteFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lockwarp-write-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ + "/file"; }
    std::vector<uint8_t> found() const {
        std::ifstream in(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    std::string folder_;
};

TEST_F(WriteFile, HasTheSameBytes) {
    constexpr size_t block = 64 << 10;
    for (const size_t size : {size_t{0}, size_t{1}, block - 1, block, block + 1, 5 * block + 7}) {
        // One byte that is no zero, at each end of a block, or none.
        for (const size_t at : {size_t{0}, block - 1, block, 2 * block - 1, size - 1, size}) {
            std::vector<uint8_t> bytes(size);
            if (at < size) bytes[at] = 0xa5;
            ASSERT_TRUE(write_file(path(), bytes.data(), bytes.size()));
            EXPECT_EQ(found(), bytes) << size << " " << at;
        }
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteFile, TakesNoSpaceForZeros) {
    std::vector<uint8_t> bytes(16 << 20);
    bytes[10 << 20] = 1;
    ASSERT_TRUE(write_file(path(), bytes.data(), bytes.size()));
    struct stat about {};
    ASSERT_EQ(::stat(path().c_str(), &about), 0);
    EXPECT_EQ(about.st_size, static_cast<off_t>(bytes.size()));
    EXPECT_LE(about.st_blocks * 512, 1 << 20);
    EXPECT_EQ(found(), bytes);
}

TEST_F(WriteFile, IsNotThereWhereItCannotBe) {
    const uint8_t byte = 1;
    EXPECT_FALSE(write_file(folder_ + "/none/file", &byte, 1));
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace

}  // namespace lockwarp::cuda
