// SPDX-License-Identifier: Apache-2.0
#include "launch/files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

namespace lockwarp::launch {

namespace {

tl::unexpected<Error> because(const std::string& path) {
    return failure(path + ": " + std::strerror(errno));
}

struct Descriptor {
    int number;
    explicit Descriptor(int n) : number(n) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

template <class Bytes>
Result<Bytes> read_as(const std::string& path, uint64_t max) {
    if (path.empty()) return failure("a file name is empty");
    // A FIFO that nobody writes to would be waited for.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number < 0) return because(path);
    struct stat status {};
    if (::fstat(file.number, &status) != 0) return because(path);
    if (!S_ISREG(status.st_mode)) return failure(path + ": not a regular file");
    const auto size = static_cast<uint64_t>(status.st_size);
    if (size > max)
        return failure(path + ": " + std::to_string(size) + " bytes, at most " +
                       std::to_string(max) + " are read");
    Bytes out(size, 0);
    for (uint64_t at = 0; at < size;) {
        const ssize_t n = ::read(file.number, out.data() + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return because(path);
        if (n == 0) return failure(path + ": became shorter while it was read");
        at += static_cast<uint64_t>(n);
    }
    return out;
}

Result<void> write_all(int file, const std::string& path, std::span<const uint8_t> bytes) {
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t n = ::write(file, bytes.data() + at, bytes.size() - at);
        if (n != -1)
            at += static_cast<size_t>(n);
        else if (errno != EINTR)
            return because(path);
    }
    return {};
}

// Where a name leads.
struct Place {
    std::string path;     // of a regular file: without symbolic links
    bool direct = false;  // it is written to as it is
    bool exists = false;
    mode_t mode = 0;  // of a file that is there
};

constexpr int max_links = 40;  // as Linux's own

bool is_in_proc(const std::filesystem::path& path) {
    struct statfs system {};
    const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
    return ::statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

Result<Place> place_of(const std::string& path) {
    if (path.empty()) return failure("a file name is empty");
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) return because(path);
    if (exists && S_ISDIR(status.st_mode)) return failure(path + ": is a folder");
    if (exists && !S_ISREG(status.st_mode)) return Place{path, true};
    std::filesystem::path at = path;
    std::error_code error;
    for (int links = 0; std::filesystem::is_symlink(at, error); ++links) {
        // What stands there names a descriptor, not a file.
        if (is_in_proc(at)) return Place{path, true};
        if (links == max_links) return failure(path + ": too many symbolic links");
        const std::filesystem::path to = std::filesystem::read_symlink(at, error);
        if (error) return failure(path + ": " + error.message());
        at = to.is_absolute() ? to : at.parent_path() / to;
    }
    return Place{at.string(), false, exists, exists ? status.st_mode & 07777 : 0};
}

mode_t new_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

Result<void> write_direct(const std::string& path, std::span<const uint8_t> bytes) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file.number < 0) return because(path);
    return write_all(file.number, path, bytes);
}

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::string& path, uint64_t max) {
    return read_as<std::vector<uint8_t>>(path, max);
}

Result<std::string> read_text(const std::string& path, uint64_t max) {
    return read_as<std::string>(path, max);
}

Result<void> Outputs::add(const std::string& path, std::string_view text) {
    return add(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

Result<void> Outputs::add(const std::string& path, std::span<const uint8_t> bytes) {
    Result<Place> place = place_of(path);
    if (!place) return failure(place);
    if (place->direct) {
        direct_.push_back({place->path, {bytes.begin(), bytes.end()}});
        return {};
    }
    std::string name = place->path + ".XXXXXX";
    const Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (file.number < 0) return because(path);
    Temporary temporary(std::move(name));
    if (Result<void> written = write_all(file.number, path, bytes); !written) return written;
    const mode_t mode = place->exists ? place->mode : new_mode();
    if (::fchmod(file.number, mode) != 0 || ::fsync(file.number) != 0) return because(path);
    staged_.push_back({std::move(place->path), std::move(temporary), place->exists});
    return {};
}

Result<void> Outputs::commit() {
    // A device that refuses must not leave the others behind.
    for (const Direct& d : direct_)
        if (Result<void> written = write_direct(d.path, d.bytes); !written) return written;
    const auto held = hold_unfinished();
    for (Staged& s : staged_) {
        const char* const from = s.temporary.path().c_str();
        s.swapped = ::renameat2(AT_FDCWD, from, AT_FDCWD, s.path.c_str(), RENAME_EXCHANGE) == 0;
        if (s.swapped) continue;
        // There was none, or the file system cannot swap.
        if (::rename(from, s.path.c_str()) != 0) {
            auto why = because(s.path);
            take_back();
            return why;
        }
        s.temporary.keep();
    }
    staged_.clear();
    direct_.clear();
    return {};
}

// Files that show already are as they were before. One that was not there is not there again.
void Outputs::take_back() {
    for (Staged& s : staged_) {
        if (s.swapped)
            ::renameat2(AT_FDCWD, s.temporary.path().c_str(), AT_FDCWD, s.path.c_str(),
                        RENAME_EXCHANGE);
        else if (s.temporary.path().empty() && !s.existed)
            ::unlink(s.path.c_str());
    }
    staged_.clear();
}

Result<void> write_text(const std::string& path, std::string_view text) {
    return write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes) {
    Outputs one;
    if (Result<void> added = one.add(path, bytes); !added) return added;
    return one.commit();
}

Result<void> make_folder(const std::string& path) {
    if (path.empty()) return failure("a folder's name is empty");
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return failure(path + ": " + error.message());
    return {};
}

}  // namespace lockwarp::launch
