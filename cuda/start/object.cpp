// SPDX-License-Identifier: Apache-2.0
#include "cuda/start/object.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lockwarp::start {

namespace {

struct Name {
    const char* symbol;
    Name* next;  // of the same hash
};

#define WITH_none(symbol) {#symbol, nullptr},
#define WITH_ptds(symbol) {#symbol, nullptr}, {#symbol "_ptds", nullptr},
#define WITH_ptsz(symbol) {#symbol, nullptr}, {#symbol "_ptsz", nullptr},
#define DONE(symbol, toolkits, per_thread, implementation) WITH_##per_thread(symbol)
#define LACKING(symbol, toolkits, per_thread) WITH_##per_thread(symbol)
Name names[] = {
#include "cuda/runtime/functions.inc"
};
#undef DONE
#undef LACKING

constexpr size_t buckets = 1024;
Name* by_hash[buckets];

size_t hash(const char* text) {
    uint64_t h = 0xcbf29ce484222325;  // FNV-1a
    for (; *text != 0; ++text) h = (h ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
    return static_cast<size_t>(h % buckets);
}

const char* known(const char* symbol) {
    static bool made = false;
    if (!made) {
        for (Name& n : names) {
            Name*& first = by_hash[hash(n.symbol)];
            n.next = first;
            first = &n;
        }
        made = true;
    }
    for (const Name* n = by_hash[hash(symbol)]; n != nullptr; n = n->next)
        if (std::strcmp(n->symbol, symbol) == 0) return n->symbol;
    return nullptr;
}

struct File {
    const char* bytes = nullptr;
    size_t size = 0;

    template <class T>
    const T* at(uint64_t offset, uint64_t count = 1) const {
        if (offset > size || count > (size - offset) / sizeof(T)) return nullptr;
        return reinterpret_cast<const T*>(bytes + offset);
    }
    // A text that ends within the file; "" where there is none.
    const char* text(uint64_t offset) const {
        if (offset >= size) return "";
        const char* const begin = bytes + offset;
        return std::memchr(begin, 0, size - offset) != nullptr ? begin : "";
    }
};

bool open_file(const char* path, File& out) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    struct stat about {};
    if (::fstat(file, &about) == 0 && about.st_size > 0) {
        void* const p =
            ::mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
        if (p != MAP_FAILED)
            out = {static_cast<const char*>(p), static_cast<size_t>(about.st_size)};
    }
    ::close(file);
    return out.bytes != nullptr;
}

struct Sections {
    const Elf64_Shdr* all = nullptr;
    size_t count = 0;
    const Elf64_Shdr* symbols = nullptr;  // .symtab, else .dynsym
    const Elf64_Shdr* dynamic_symbols = nullptr;
    bool has_kernels = false;
};

bool read_sections(const File& f, Sections& out) {
    const auto* const header = f.at<Elf64_Ehdr>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    out.all = f.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    out.count = header->e_shnum;
    if (out.all == nullptr || header->e_shstrndx >= out.count) return false;
    const uint64_t section_names = out.all[header->e_shstrndx].sh_offset;
    for (size_t i = 0; i < out.count; ++i) {
        const Elf64_Shdr& s = out.all[i];
        if (s.sh_type == SHT_SYMTAB) out.symbols = &s;
        if (s.sh_type == SHT_DYNSYM) out.dynamic_symbols = &s;
        if (std::strcmp(f.text(section_names + s.sh_name), ".nvFatBinSegment") == 0)
            out.has_kernels = true;
    }
    if (out.symbols == nullptr) out.symbols = out.dynamic_symbols;
    return out.symbols != nullptr;
}

bool is_defined_function(const Elf64_Sym& s) {
    return ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF && s.st_value != 0;
}

template <class Visit>
void each_symbol(const File& f, const Sections& sections, const Elf64_Shdr* table, Visit visit) {
    if (table == nullptr || table->sh_link >= sections.count) return;
    const size_t count = table->sh_size / sizeof(Elf64_Sym);
    const auto* const symbols = f.at<Elf64_Sym>(table->sh_offset, count);
    const uint64_t texts = sections.all[table->sh_link].sh_offset;
    if (symbols == nullptr) return;
    for (size_t i = 0; i < count; ++i) {
        const char* const name = f.text(texts + symbols[i].st_name);
        if (std::strncmp(name, "cuda", 4) == 0 || std::strncmp(name, "__cuda", 6) == 0)
            visit(name, symbols[i]);
    }
}

// The runtime is linked as a whole: what is there tells the toolkit.
constexpr char only_in_13[] = "cudaMemGetDefaultMemPool";
constexpr char registers[] = "__cudaRegisterFatBinary";
constexpr size_t jump_bytes = 5;

// Whether another library is asked for the runtime.
bool asks_for_runtime(const File& f, const Sections& s) {
    bool asks = false;
    each_symbol(f, s, s.dynamic_symbols, [&](const char* name, const Elf64_Sym& symbol) {
        if (symbol.st_shndx == SHN_UNDEF && std::strcmp(name, registers) == 0) asks = true;
    });
    return asks;
}

void find_functions(const File& f, const Sections& s, uintptr_t base, Object& out) {
    bool is_runtime = false, is_13 = false;
    out.functions =
        static_cast<Found*>(std::malloc(sizeof(Found) * (sizeof names / sizeof *names)));
    if (out.functions == nullptr) return;
    each_symbol(f, s, s.symbols, [&](const char* name, const Elf64_Sym& symbol) {
        if (!is_defined_function(symbol) || symbol.st_size < jump_bytes) return;
        if (std::strcmp(name, registers) == 0) is_runtime = true;
        if (std::strcmp(name, only_in_13) == 0) is_13 = true;
        const char* const symbol_name = known(name);
        if (symbol_name == nullptr || out.count == sizeof names / sizeof *names) return;
        out.functions[out.count++] = {symbol_name,
                                      reinterpret_cast<unsigned char*>(base + symbol.st_value)};
    });
    out.toolkit = is_13 ? 13 : 12;
    if (!is_runtime) out.count = 0;
}

void find_text(const File& f, uintptr_t base, Object& out) {
    const auto* const header = f.at<Elf64_Ehdr>(0);
    const auto* const segments = f.at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    for (size_t i = 0; segments != nullptr && i < header->e_phnum; ++i) {
        if (segments[i].p_type != PT_LOAD || (segments[i].p_flags & PF_X) == 0) continue;
        auto* const begin = reinterpret_cast<unsigned char*>(base + segments[i].p_vaddr);
        unsigned char* const end = begin + segments[i].p_memsz;
        if (out.text_begin == nullptr || begin < out.text_begin) out.text_begin = begin;
        if (end > out.text_end) out.text_end = end;
    }
}

// Lockwarp's libraries lie in one folder.
bool is_own(const char* path) {
    Dl_info own{};
    if (::dladdr(reinterpret_cast<const void*>(&names), &own) == 0) return false;
    const char* const slash = std::strrchr(own.dli_fname, '/');
    const char* const other = std::strrchr(path, '/');
    if (slash == nullptr || other == nullptr) return false;
    const auto folder = static_cast<size_t>(slash - own.dli_fname);
    return folder == static_cast<size_t>(other - path) &&
           std::strncmp(own.dli_fname, path, folder) == 0;
}

// Before libc itself is initialised nothing else knows it.
const char* program_path() {
    static char path[4096];
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
    return size > 0 ? path : "this program";
}

}  // namespace

bool read_object(const link_map* map, bool is_program, Object& out) {
    out = {};
    out.path = is_program ? "/proc/self/exe" : map->l_name;
    if (out.path == nullptr || *out.path == 0 || is_own(out.path)) return false;
    File f;
    if (!open_file(out.path, f)) return false;
    Sections s;
    if (read_sections(f, s)) {
        find_functions(f, s, map->l_addr, out);
        out.stripped = out.count == 0 && s.has_kernels && !asks_for_runtime(f, s);
        if (out.count != 0) find_text(f, map->l_addr, out);
    }
    ::munmap(const_cast<char*>(f.bytes), f.size);
    if (is_program) out.path = program_path();
    if (out.count != 0 || out.stripped) return true;
    free_object(out);
    return false;
}

void free_object(Object& o) {
    std::free(o.functions);
    o.functions = nullptr;
}

}  // namespace lockwarp::start
