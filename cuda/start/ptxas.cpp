// SPDX-License-Identifier: Apache-2.0
// liblockwarp_ptxas.so, preloaded by --keep-ptx: where the program has kernels made into machine
// code by NVIDIA's ptxas, itself or by nvcc, that process leaves the PTX that it was given in the
// place of what it made. It does all that it does otherwise: what it says and its exit status are
// its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "cuda/start/said.hpp"

namespace lockwarp::start {

namespace {

constexpr size_t max_path = 4096;
char from[max_path], to[max_path];  // empty: this process is no such ptxas

bool is_ptxas() {
    char path[max_path];
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) return false;
    path[size] = 0;
    const char* const slash = std::strrchr(path, '/');
    return slash != nullptr && std::strcmp(slash + 1, "ptxas") == 0;
}

// The value of an option: "-o x", "-o=x" or "--output-file=x". nullptr: the word is another.
const char* output_in(const char* word, const char* next) {
    constexpr const char* names[] = {"-o", "--output-file"};
    for (const char* const name : names) {
        const size_t size = std::strlen(name);
        if (std::strcmp(word, name) == 0) return next;
        if (std::strncmp(word, name, size) == 0 && word[size] == '=') return word + size + 1;
    }
    return nullptr;
}

// Code that is to be linked stays machine code: what links it knows no other.
bool is_to_be_linked(const char* word) {
    return std::strcmp(word, "-c") == 0 || std::strcmp(word, "--compile-only") == 0;
}

bool is_file(const char* path) {
    struct stat s {};
    return ::stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool keep(char* path, const char* word) {
    if (std::strlen(word) >= max_path) return false;
    std::strcpy(path, word);
    return true;
}

__attribute__((constructor)) void look_at_words(int count, char** words, char**) {
    if (!is_ptxas()) return;
    const char *input = nullptr, *output = nullptr;
    for (int i = 1; i < count; ++i) {
        if (is_to_be_linked(words[i])) return;
        if (const char* const o = output_in(words[i], i + 1 < count ? words[i + 1] : nullptr)) {
            output = o;
            if (o == words[i + 1]) ++i;
        } else if (words[i][0] != '-' && is_file(words[i])) {
            input = words[i];
        }
    }
    if (input == nullptr || output == nullptr || !keep(to, output) || !keep(from, input)) to[0] = 0;
}

bool is_machine_code(const char* path) {
    constexpr char elf[] = {0x7f, 'E', 'L', 'F'};
    char begin[sizeof elf] = {};
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    const bool read = file >= 0 && ::read(file, begin, sizeof begin) == sizeof begin;
    if (file >= 0) ::close(file);
    return read && std::memcmp(begin, elf, sizeof elf) == 0;
}

bool copy(int in, int out) {
    char bytes[1 << 16];
    for (;;) {
        const ssize_t size = ::read(in, bytes, sizeof bytes);
        if (size <= 0) return size == 0;
        for (ssize_t done = 0; done < size;) {
            const ssize_t n = ::write(out, bytes + done, static_cast<size_t>(size - done));
            if (n <= 0) return false;
            done += n;
        }
    }
}

// Programs give the driver the file's bytes as they are: machine code says how long it is, text
// ends with a zero.
bool end_text(int out) { return ::write(out, "", 1) == 1; }

// ptxas has ended: what it wrote is whole, and so is what takes its place.
__attribute__((destructor)) void give_the_text() {
    if (to[0] == 0 || !is_file(to) || !is_machine_code(to)) return;
    char part[max_path + 32];
    std::snprintf(part, sizeof part, "%s.lockwarp-%ld", to, static_cast<long>(::getpid()));
    const int in = ::open(from, O_RDONLY | O_CLOEXEC);
    const int out = ::open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool copied = in >= 0 && out >= 0 && copy(in, out) && end_text(out);
    if (in >= 0) ::close(in);
    if (out >= 0) ::close(out);
    if (copied && ::rename(part, to) == 0) return;
    if (out >= 0) ::unlink(part);
    say("ptxas: machine code stays in ", to);
}

}  // namespace
}  // namespace lockwarp::start
