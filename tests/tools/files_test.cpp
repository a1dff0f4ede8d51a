// SPDX-License-Identifier: Apache-2.0
// Files are written whole, together, and never in the place of what is no file.
#include "launch/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "tests/tools/process.hpp"

namespace {
bool cannot_swap = false;
thread_local int next_read_fails = 0;  // with this error; 0: it does not
}  // namespace

// In place of the system's, for file systems of all kinds.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
    if (cannot_swap && (flags & RENAME_EXCHANGE) != 0) return errno = EINVAL, -1;
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

extern "C" ssize_t read(int file, void* to, size_t bytes) {
    if (const int error = std::exchange(next_read_fails, 0); error != 0) return errno = error, -1;
    return ::syscall(SYS_read, file, to, bytes);
}

namespace lockwarp::launch {
namespace {

namespace fs = std::filesystem;
using tools::Folder;

std::string in(const Folder& folder, const std::string& name) { return folder.path / name; }

TEST(Files, ADeviceIsWrittenToAndStays) {
    EXPECT_TRUE(write_text("/dev/null", "text").has_value());
    struct stat status {};
    ASSERT_EQ(::stat("/dev/null", &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    const Result<void> full = write_text("/dev/full", "text");
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().sentence, "/dev/full: No space left on device");
}

TEST(Files, AFifoIsWrittenToAndNotReadFrom) {
    const Folder folder;
    const std::string path = in(folder, "fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::string got(4, ' ');
    std::jthread reader([&] {
        const int file = ::open(path.c_str(), O_RDONLY);
        EXPECT_EQ(::read(file, got.data(), got.size()), 4);
        ::close(file);
    });
    EXPECT_TRUE(write_text(path, "text").has_value());
    reader.join();
    EXPECT_EQ(got, "text");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"fifo"});
    const Result<std::string> read = read_text(path, 1000);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().sentence, path + ": not a regular file");
}

TEST(Files, ALinkStaysAndWhatItLeadsToIsWritten) {
    const Folder folder;
    folder.write("file", "before");
    fs::create_symlink("file", in(folder, "first"));
    fs::create_symlink("first", in(folder, "second"));
    fs::create_symlink("new", in(folder, "to_nothing"));
    fs::create_symlink("loop", in(folder, "loop"));
    EXPECT_TRUE(write_text(in(folder, "second"), "after").has_value());
    EXPECT_TRUE(write_text(in(folder, "to_nothing"), "new").has_value());
    EXPECT_FALSE(write_text(in(folder, "loop"), "text").has_value());
    EXPECT_TRUE(fs::is_symlink(in(folder, "second")));
    EXPECT_EQ(folder.read("file"), "after");
    EXPECT_EQ(folder.read("new"), "new");
    EXPECT_EQ(folder.names(),
              (std::vector<std::string>{"file", "first", "loop", "new", "second", "to_nothing"}));
}

// A descriptor's name leads to what is open there, whatever stands at the place that it once had.
TEST(Files, ADescriptorIsWrittenToByItsName) {
    const Folder folder;
    for (const bool from_there : {false, true}) {
        const std::string path = in(folder, "file");
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        ASSERT_GE(file, 0);
        ASSERT_EQ(::unlink(path.c_str()), 0);
        const std::string number = std::to_string(file);
        const fs::path here = fs::current_path();
        if (from_there) fs::current_path("/proc/self/fd");
        EXPECT_TRUE(
            write_text(from_there ? number : "/proc/self/fd/" + number, "text").has_value());
        fs::current_path(here);
        std::string got(5, ' ');
        EXPECT_EQ(::pread(file, got.data(), got.size(), 0), 4);
        EXPECT_EQ(got, "text ");
        EXPECT_EQ(folder.names(), std::vector<std::string>{});
        ::close(file);
    }
}

TEST(Files, AsMuchAsIsAllowedIsRead) {
    const Folder folder;
    folder.write("file", "text");
    const Result<std::string> whole = read_text(in(folder, "file"), 4);
    ASSERT_TRUE(whole.has_value()) << whole.error().sentence;
    EXPECT_EQ(*whole, "text");
    const Result<std::string> more = read_text(in(folder, "file"), 3);
    ASSERT_FALSE(more.has_value());
    EXPECT_EQ(more.error().sentence, in(folder, "file") + ": 4 bytes, at most 3 are read");
}

TEST(Files, AReadMayBeInterruptedAndMayFail) {
    const Folder folder;
    folder.write("file", "text");
    next_read_fails = EINTR;
    const Result<std::string> whole = read_text(in(folder, "file"), 100);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(*whole, "text");
    EXPECT_EQ(next_read_fails, 0);
    next_read_fails = EIO;
    const Result<std::string> none = read_text(in(folder, "file"), 100);
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().sentence, in(folder, "file") + ": Input/output error");
}

TEST(Files, AFileKeepsItsMode) {
    const Folder folder;
    folder.write("file", "before");
    ASSERT_EQ(::chmod(in(folder, "file").c_str(), 0640), 0);
    EXPECT_TRUE(write_text(in(folder, "file"), "after").has_value());
    struct stat status {};
    ASSERT_EQ(::stat(in(folder, "file").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(Files, ANewFileHasTheModeOfTheMask) {
    for (const auto& [mask, mode] : {std::pair(027u, 0640u), std::pair(022u, 0644u),
                                     std::pair(0u, 0666u), std::pair(077u, 0600u)}) {
        const Folder folder;
        const mode_t before = ::umask(mask);
        const bool written = write_text(in(folder, "file"), "text").has_value();
        ::umask(before);
        EXPECT_TRUE(written);
        struct stat status {};
        ASSERT_EQ(::stat(in(folder, "file").c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, mode);
    }
}

TEST(Files, SeveralAllOrNone) {
    const Folder folder;
    folder.write("first", "before");
    const auto names = folder.names();
    Outputs wrong;
    EXPECT_TRUE(wrong.add(in(folder, "first"), "after").has_value());
    EXPECT_TRUE(wrong.add(in(folder, "second"), "new").has_value());
    EXPECT_FALSE(wrong.add(in(folder, "missing/third"), "new").has_value());
    EXPECT_EQ(folder.read("first"), "before");
    wrong = {};
    EXPECT_EQ(folder.names(), names);
    // A device that takes nothing keeps the files from showing.
    Outputs full;
    EXPECT_TRUE(full.add(in(folder, "first"), "after").has_value());
    EXPECT_TRUE(full.add("/dev/full", "text").has_value());
    EXPECT_FALSE(full.commit().has_value());
    full = {};
    EXPECT_EQ(folder.read("first"), "before");
    EXPECT_EQ(folder.names(), names);
    Outputs right;
    EXPECT_TRUE(right.add(in(folder, "first"), "after").has_value());
    EXPECT_TRUE(right.add(in(folder, "second"), "new").has_value());
    EXPECT_EQ(folder.read("first"), "before");
    EXPECT_TRUE(right.commit().has_value());
    EXPECT_EQ(folder.read("first"), "after");
    EXPECT_EQ(folder.read("second"), "new");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"first", "second"}));
}

// A folder takes the place of the second file after it was written beside it.
TEST(Files, WhatShowsAlreadyIsTakenBack) {
    const Folder folder;
    folder.write("first", "before");
    Outputs outputs;
    EXPECT_TRUE(outputs.add(in(folder, "first"), "after").has_value());
    EXPECT_TRUE(outputs.add(in(folder, "new"), "new").has_value());
    EXPECT_TRUE(outputs.add(in(folder, "third"), "new").has_value());
    fs::remove_all(folder.path / "third");
    for (const std::string& name : folder.names())
        if (name.starts_with("third.")) fs::remove(folder.path / name);
    EXPECT_FALSE(outputs.commit().has_value());
    outputs = {};
    EXPECT_EQ(folder.read("first"), "before");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"first"});
}

// Of a file system that cannot swap two files one that was there cannot be had back: it stays as it
// is written, and only what is new goes.
TEST(Files, WhatCannotBeTakenBackStays) {
    const Folder folder;
    folder.write("first", "before");
    Outputs outputs;
    EXPECT_TRUE(outputs.add(in(folder, "first"), "after").has_value());
    EXPECT_TRUE(outputs.add(in(folder, "new"), "new").has_value());
    EXPECT_TRUE(outputs.add(in(folder, "third"), "new").has_value());
    for (const std::string& name : folder.names())
        if (name.starts_with("third.")) fs::remove(folder.path / name);
    cannot_swap = true;
    EXPECT_FALSE(outputs.commit().has_value());
    cannot_swap = false;
    outputs = {};
    EXPECT_EQ(folder.read("first"), "after");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"first"});
}

TEST(Files, WrongNames) {
    const Folder folder;
    EXPECT_EQ(write_text("", "text").error().sentence, "a file name is empty");
    EXPECT_EQ(read_text("", 1).error().sentence, "a file name is empty");
    EXPECT_EQ(make_folder("").error().sentence, "a folder's name is empty");
    EXPECT_EQ(write_text(folder.path, "text").error().sentence,
              folder.path.string() + ": is a folder");
}

TEST(Files, AFullDiskLeavesNothing) {
    const Folder folder;
    if (::mount("none", folder.path.c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "only root can mount a small disk";
    folder.write("first", "before");
    Outputs outputs;
    EXPECT_TRUE(outputs.add(in(folder, "first"), "after").has_value());
    const Result<void> second = outputs.add(in(folder, "second"), std::string(1 << 20, 'x'));
    outputs = {};
    const std::string kept = folder.read("first");
    const std::vector<std::string> names = folder.names();
    ::umount(folder.path.c_str());
    ASSERT_FALSE(second.has_value());
    EXPECT_TRUE(second.error().sentence.ends_with("second: No space left on device"));
    EXPECT_EQ(kept, "before");
    EXPECT_EQ(names, std::vector<std::string>{"first"});
}

}  // namespace
}  // namespace lockwarp::launch
