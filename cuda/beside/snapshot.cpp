// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/snapshot.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <set>
#include <string_view>

#include "cuda/beside/forward.hpp"

namespace lockwarp::beside {

using cuda::Result;
using cuda::success;

namespace {

constexpr uint64_t widest_access = 32;
// In so many bytes at the beginning of each range all that may be an address is looked at.
constexpr uint64_t wholly_searched = uint64_t{1} << 20;
// Where a GPU's memory has its addresses on 64-bit Linux.
constexpr Address lowest = Address{1} << 32, highest = Address{1} << 47;
// Behind that, what lies in a region of 64 GiB where memory is known: small integers, of which two
// look like an address, are many, and the driver takes long to say that it knows none of them.
constexpr unsigned region_bits = 36;
using Regions = std::bitset<(highest >> region_bits)>;
// CUDA C++ programming guide, "Dynamic Global Memory Allocation and Operations".
constexpr Address block_alignment = 16;

bool copy_out(void* to, Address from, uint64_t size) {
    static const auto copy = behind_as<Result(void*, Address, size_t)>("cuMemcpyDtoH_v2");
    return copy != nullptr && copy(to, from, size) == success;
}

// By cuMemMap.
bool is_mapped(Address address) {
    static const auto retain = behind_as<Result(void**, void*)>("cuMemRetainAllocationHandle");
    static const auto release = behind_as<Result(void*)>("cuMemRelease");
    void* handle = nullptr;
    return retain != nullptr && release != nullptr &&
           retain(&handle, reinterpret_cast<void*>(address)) == success &&
           release(handle) == success;
}

// The bytes that hold the address.
bool range_of(Address address, Address& base, size_t& size) {
    static const auto of = behind_as<Result(Address*, size_t*, Address)>("cuMemGetAddressRange_v2");
    if (of == nullptr || of(&base, &size, address) != success || size == 0) return false;
    if (address - base < size) return true;
    // The host's memory, mapped, begins at 0 as an H200's driver (580) has it: a unit of it.
    constexpr uint64_t unit = uint64_t{2} << 20;
    base = address / unit * unit;
    size = unit;
    return is_mapped(address);
}

bool read(Address base, Range& r) {
    r.bytes.resize((r.size + widest_access - 1) / widest_access * widest_access);
    return copy_out(r.bytes.data(), base, r.size);
}

struct Taking {
    Snapshot& out;
    const CodeAddresses& code;
    uint64_t limit;
    std::string& why;
    bool may_leave_out = false;  // what is over the limit, or cannot be read

    bool is_known(Address a) const {
        const auto after = out.ranges.upper_bound(a);
        if (after == out.ranges.begin()) return false;
        const auto& [base, r] = *std::prev(after);
        return a - base < r.size;
    }
    bool follow(const uint8_t* bytes, uint64_t size) {
        size = std::min(size, wholly_searched);
        for (uint64_t i = 0; i + 8 <= size; i += 4) {
            Address address = 0;
            std::memcpy(&address, bytes + i, sizeof address);
            if (address < lowest || address >= highest || is_known(address)) continue;
            Address base = 0;
            size_t bytes_there = 0;
            if (!range_of(address, base, bytes_there)) {
                out.may_lead_to_blocks |=
                    i % 8 == 0 && address % block_alignment == 0 && !code.knows(address);
                continue;
            }
            if (out.ranges.contains(base)) continue;
            if (!add_whole(base, bytes_there)) return false;
        }
        return true;
    }
    // Programs that divide memory themselves have tables of addresses anywhere in it, and others
    // that nothing uses any more.
    void follow_far() {
        may_leave_out = true;
        std::set<Address> searched;
        const auto is_left = [&](const auto& range) {
            return range.second.size > wholly_searched && !searched.contains(range.first);
        };
        for (auto at = std::ranges::find_if(out.ranges, is_left); at != out.ranges.end();
             at = std::ranges::find_if(out.ranges, is_left)) {
            searched.insert(at->first);
            follow_far(at->second, regions());
        }
    }
    Regions regions() const {
        Regions known;
        for (const auto& [base, r] : out.ranges)
            for (Address a = base >> region_bits; a <= (base + r.size - 1) >> region_bits; ++a)
                if (a < known.size()) known.set(a);
        return known;
    }
    void follow_far(const Range& r, const Regions& known) {
        for (uint64_t i = wholly_searched; i + 8 <= r.size; i += 8) {
            Address address = 0, base = 0;
            size_t size = 0;
            std::memcpy(&address, r.bytes.data() + i, sizeof address);
            if (address < lowest || address >= highest || !known[address >> region_bits]) continue;
            if (!is_known(address) && range_of(address, base, size)) add_whole(base, size);
        }
    }
    // Of an iterator that goes backward, a kernel may have the end alone.
    bool follow_ends(const std::vector<uint8_t>& parameters) {
        for (size_t i = 0; i + 8 <= parameters.size(); i += 4) {
            Address end = 0, base = 0;
            size_t size = 0;
            std::memcpy(&end, parameters.data() + i, sizeof end);
            if (end <= lowest || end > highest || is_known(end - 1)) continue;
            if (range_of(end - 1, base, size) && base + size == end && !add_whole(base, size))
                return false;
        }
        return true;
    }
    // Of an array that a compiler knows, a kernel may have the address in its text alone.
    bool follow_numbers(const std::vector<uint64_t>& numbers) {
        for (const Address address : numbers) {
            Address base = 0;
            size_t size = 0;
            if (address < lowest || address >= highest || is_known(address)) continue;
            if (range_of(address, base, size) && !add_whole(base, size)) return false;
        }
        return true;
    }
    // One mapping may lie behind another, as in memory that grows: to a kernel both are one.
    bool add_whole(Address base, uint64_t size) {
        if (!add(base, size)) return false;
        if (!is_mapped(base)) return true;
        Address next = 0;
        size_t more = 0;
        const auto is_next = [&](Address a) {
            return !is_known(a) && range_of(a, next, more) && is_mapped(a);
        };
        for (Address end = base + size; is_next(end) && next == end; end += more)
            if (!add(next, more)) return false;
        for (; is_next(base - 1) && next + more == base; base = next)
            if (!add(next, more)) return false;
        return true;
    }
    bool add(Address base, uint64_t size) {
        if (size > limit || out.bytes > limit - size) {
            why = "it reaches more than " + std::to_string(limit >> 20) + " MiB";
            return may_leave_out;
        }
        Range& r = out.ranges[base];
        r.size = size;
        if (!read(base, r)) {
            out.ranges.erase(base);
            why = "its memory cannot be read";
            return may_leave_out;
        }
        out.bytes += size;
        return follow(r.bytes.data(), r.size);
    }
};

// By the kernel's module, or by its library; 0: the driver does not know it.
Address address_of_variable(Function* handle, const char* name, size_t& size) {
    static const auto module_of = behind_as<Result(Module**, Function*)>("cuFuncGetModule");
    static const auto in_module =
        behind_as<Result(Address*, size_t*, Module*, const char*)>("cuModuleGetGlobal_v2");
    static const auto library_of = behind_as<Result(Library**, Function*)>("cuKernelGetLibrary");
    static const auto in_library =
        behind_as<Result(Address*, size_t*, Library*, const char*)>("cuLibraryGetGlobal");
    Address out = 0;
    Module* module = nullptr;
    Library* library = nullptr;
    if (module_of != nullptr && module_of(&module, handle) == success &&
        in_module(&out, &size, module, name) == success)
        return out;
    if (library_of != nullptr && library_of(&library, handle) == success &&
        in_library(&out, &size, library, name) == success)
        return out;
    return 0;
}

}  // namespace

bool Snapshot::same(const Snapshot& other) const {
    return std::ranges::equal(ranges, other.ranges,
                              [](const auto& a, const auto& b) {
                                  return a.first == b.first && a.second.bytes == b.second.bytes;
                              }) &&
           std::ranges::equal(variables, other.variables, {}, &Variable::bytes, &Variable::bytes);
}

void Snapshot::to_emulator(const CodeAddresses& code) {
    for (auto& [base, r] : ranges) code.to_emulator(base, r.bytes);
    for (Variable& v : variables) code.to_emulator(v.address, v.bytes);
}

void Snapshot::to_gpu(const CodeAddresses& code) {
    for (auto& [base, r] : ranges) code.to_gpu(r.bytes);
    for (Variable& v : variables) code.to_gpu(v.bytes);
}

void Snapshot::take_addresses(const Snapshot& gpu, CodeAddresses& code) {
    std::map<uint64_t, const Variable*> places;  // of variables, the emulator's
    for (const Variable& v : variables) places.emplace(v.of.address, &v);
    const auto take_in = [&](const std::vector<uint8_t>& theirs, std::vector<uint8_t>& own) {
        if (theirs == own) return;
        code.learn_left(theirs, own);
        for (size_t i = 0; i + 8 <= own.size(); i += 8) {
            uint64_t here = 0, there = 0;
            std::memcpy(&here, own.data() + i, sizeof here);
            std::memcpy(&there, theirs.data() + i, sizeof there);
            const auto next = places.upper_bound(here);
            if (here == there || next == places.begin()) continue;
            const Variable& v = *std::prev(next)->second;
            // One past its end is an address of it too.
            if (here - v.of.address <= v.of.size && there - v.address == here - v.of.address)
                std::memcpy(own.data() + i, &there, sizeof there);
        }
    };
    for (auto& [base, r] : ranges) take_in(gpu.ranges.at(base).bytes, r.bytes);
    for (size_t i = 0; i < variables.size(); ++i)
        take_in(gpu.variables[i].bytes, variables[i].bytes);
}

std::optional<Snapshot> take(const Kernel& kernel, Function* handle,
                             const std::vector<uint8_t>& parameters, uint64_t limit,
                             std::string& why) {
    Snapshot out;
    Image& image = *kernel.image;
    lockwarp_module* const module = image.module;
    for (size_t i = 0; i < lockwarp_module_variables(module); ++i) {
        Variable v;
        v.of = variable_at(module, i);
        v.index = i;
        size_t size = 0;
        v.address = address_of_variable(handle, v.of.name, size);
        // One that the GPU's compiler left out is the emulator's own.
        if (v.address == 0 || v.of.bytes == nullptr || size != v.of.size) continue;
        v.bytes.resize(size);
        if (!copy_out(v.bytes.data(), v.address, size)) continue;
        if (!image.code_known) image.code.learn(v.address, v.bytes, image.initial[i]);
        out.variables.push_back(std::move(v));
    }
    image.code_known = true;
    Taking taking{out, image.code, limit, why};
    if (!taking.follow(parameters.data(), parameters.size())) return std::nullopt;
    if (!taking.follow_ends(parameters)) return std::nullopt;
    if (!taking.follow_numbers(image.numbers)) return std::nullopt;
    for (const Variable& v : out.variables)
        if (!taking.follow(v.bytes.data(), v.bytes.size())) return std::nullopt;
    taking.follow_far();
    return out;
}

bool take_again(Snapshot& snapshot) {
    bool good = true;
    for (auto& [base, r] : snapshot.ranges) good = good && read(base, r);
    for (Variable& v : snapshot.variables)
        good = good && copy_out(v.bytes.data(), v.address, v.bytes.size());
    return good;
}

}  // namespace lockwarp::beside
