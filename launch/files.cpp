// SPDX-License-Identifier: Apache-2.0
#include "launch/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

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
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::string& path, uint64_t max) {
    return read_as<std::vector<uint8_t>>(path, max);
}

Result<std::string> read_text(const std::string& path, uint64_t max) {
    return read_as<std::string>(path, max);
}

Result<void> write_text(const std::string& path, std::string_view text) {
    return write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes) {
    std::string temporary = path + ".XXXXXX";
    const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (file.number < 0) return because(path);
    const auto give_up = [&] {
        auto why = because(path);
        ::unlink(temporary.c_str());
        return why;
    };
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t n = ::write(file.number, bytes.data() + at, bytes.size() - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return give_up();
        at += static_cast<size_t>(n);
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file.number, 0666 & ~mask) != 0 || ::fsync(file.number) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0)
        return give_up();
    return {};
}

Result<void> make_folder(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return failure(path + ": " + error.message());
    return {};
}

}  // namespace lockwarp::launch
