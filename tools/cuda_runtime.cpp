// SPDX-License-Identifier: Apache-2.0
#include "tools/cuda_runtime.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace lockwarp::tools {

namespace {

// A structure at a place of the file; false where it does not lie within it.
template <class T>
bool read_at(std::span<const char> file, uint64_t offset, T& out) {
    if (offset > file.size() || file.size() - offset < sizeof out) return false;
    std::memcpy(&out, file.data() + offset, sizeof out);
    return true;
}

std::string_view text_at(std::span<const char> file, uint64_t offset) {
    if (offset >= file.size()) return {};
    const std::span<const char> rest = file.subspan(offset);
    return {rest.begin(), std::ranges::find(rest, '\0')};
}

std::vector<Elf64_Shdr> sections_of(std::span<const char> file, const Elf64_Ehdr& header) {
    std::vector<Elf64_Shdr> out;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr s;
        if (header.e_shoff > file.size() ||
            !read_at(file, header.e_shoff + uint64_t{i} * sizeof s, s))
            break;
        out.push_back(s);
    }
    return out;
}

// The library of that name's begin that a .dynamic section asks for.
std::string needed(std::span<const char> file, const std::vector<Elf64_Shdr>& sections,
                   const Elf64_Shdr& dynamic, std::string_view begin) {
    if (dynamic.sh_link >= sections.size()) return {};
    const uint64_t names = sections[dynamic.sh_link].sh_offset;
    Elf64_Dyn d;
    for (uint64_t at = 0; at + sizeof d <= dynamic.sh_size; at += sizeof d) {
        if (dynamic.sh_offset > file.size() || !read_at(file, dynamic.sh_offset + at, d)) break;
        if (d.d_tag != DT_NEEDED || names > file.size()) continue;
        const std::string_view name = text_at(file, names + d.d_un.d_val);
        if (name.starts_with(begin)) return std::string(name);
    }
    return {};
}

}  // namespace

std::string cuda_runtime_in(std::span<const char> file) {
    constexpr std::string_view fat_section = ".nv_fatbin", runtime = "libcudart.so";
    Elf64_Ehdr header;
    if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
        return {};
    const std::vector<Elf64_Shdr> sections = sections_of(file, header);
    if (header.e_shstrndx >= sections.size()) return {};
    const uint64_t names = sections[header.e_shstrndx].sh_offset;
    std::string found;
    for (const Elf64_Shdr& s : sections) {
        if (s.sh_type == SHT_DYNAMIC) {
            std::string library = needed(file, sections, s, runtime);
            if (!library.empty()) return library;
        }
        if (names <= file.size() && text_at(file, names + s.sh_name) == fat_section)
            found = fat_section;
    }
    return found;
}

std::string cuda_runtime_in_file(const std::filesystem::path& program) {
    const int file = ::open(program.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    struct stat about {};
    std::string found;
    if (::fstat(file, &about) == 0 && about.st_size > 0) {
        const auto size = static_cast<size_t>(about.st_size);
        void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            found = cuda_runtime_in(std::span(static_cast<const char*>(bytes), size));
            ::munmap(bytes, size);
        }
    }
    ::close(file);
    return found;
}

}  // namespace lockwarp::tools
