// SPDX-License-Identifier: Apache-2.0
// Probes of memory: a chase, in which the loaded zero is added to the address, and accesses that
// are independent of each other.
#include <array>

#include "programs/clock_probe_parts.hpp"

namespace lockwarp::programs {

namespace {

using Names = std::vector<std::string>;

struct Access {
    std::string_view key;   // with the stride behind it
    std::string_view text;  // without operands
    unsigned registers;
    unsigned width;
    bool load;
    bool rows;  // a lane names a row of 16 bytes
    uint16_t target;
    std::array<uint16_t, 8> strides;  // bytes from lane to lane; 65535: no more
};

constexpr uint16_t no = UINT16_MAX;
constexpr std::array<uint16_t, 8> row_strides{16, 32, 48, 64, 80, 128, 256, no};

// Volatile loads: of others the assembler drops the words that are not used.
constexpr auto shared_accesses = std::to_array<Access>({
    {"ldmatrix.x1", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1, 32, true, true, 75, row_strides},
    {"ldmatrix.x2", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", 2, 32, true, true, 75, row_strides},
    {"ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4, 32, true, true, 75, row_strides},
    {"ldmatrix.x1.trans", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, 32, true, true, 75,
     row_strides},
    {"ldmatrix.x2.trans", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, 32, true, true, 75,
     row_strides},
    {"ldmatrix.x4.trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, 32, true, true, 75,
     row_strides},
    {"stmatrix.x1", "stmatrix.sync.aligned.m8n8.x1.shared.b16", 1, 32, false, true, 90,
     row_strides},
    {"stmatrix.x2", "stmatrix.sync.aligned.m8n8.x2.shared.b16", 2, 32, false, true, 90,
     row_strides},
    {"stmatrix.x4", "stmatrix.sync.aligned.m8n8.x4.shared.b16", 4, 32, false, true, 90,
     row_strides},
    {"stmatrix.x1.trans", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, 32, false, true, 90,
     row_strides},
    {"stmatrix.x4.trans", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, 32, false, true, 90,
     row_strides},
    {"ld.shared.b32",
     "ld.volatile.shared.b32",
     1,
     32,
     true,
     false,
     0,
     {0, 4, 8, 12, 16, 32, 64, 128}},
    {"ld.shared.b64",
     "ld.volatile.shared.b64",
     1,
     64,
     true,
     false,
     0,
     {0, 8, 16, 24, 32, 64, 128, no}},
    {"ld.shared.v2.b32",
     "ld.volatile.shared.v2.b32",
     2,
     32,
     true,
     false,
     0,
     {8, 16, 24, 32, 64, 128, no}},
    {"ld.shared.v4.b32",
     "ld.volatile.shared.v4.b32",
     4,
     32,
     true,
     false,
     0,
     {16, 32, 48, 64, 80, 128, no}},
    {"st.shared.b32", "st.shared.b32", 1, 32, false, false, 0, {0, 4, 8, 12, 16, 32, 64, 128}},
    {"st.shared.b64", "st.shared.b64", 1, 64, false, false, 0, {8, 16, 24, 32, 64, 128, no}},
    {"st.shared.v2.b32", "st.shared.v2.b32", 2, 32, false, false, 0, {8, 16, 24, 32, 64, 128, no}},
    {"st.shared.v4.b32", "st.shared.v4.b32", 4, 32, false, false, 0, {16, 32, 48, 64, 80, 128, no}},
});

constexpr unsigned accesses = 256;
constexpr unsigned shared_total = 40960;

std::string data(const Access& a, const Names& names) {
    return a.registers == 1 && !a.rows ? names[0] : braced(names);
}

// The register that has the first lane's address and `stride` for each further one.
std::string lane_address(ProbeWriter& w, unsigned stride, unsigned cleared) {
    const std::string base = w.shared(shared_total, cleared);
    const std::string address = w.fresh(32);
    w.setup("mad.lo.u32 " + address + ", %r2, " + std::to_string(stride) + ", " + base);
    return address;
}

void add_load(ProbeList& list, const Access& a, unsigned stride, bool latency) {
    const std::string key = std::string(a.key) + " stride" + std::to_string(stride) +
                            (latency ? " latency" : " throughput");
    if (!list.wants(key)) return;
    const unsigned chains = latency ? 1 : a.registers == 4 ? 8 : 16;
    ProbeWriter w(key, accesses,
                  latency ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 4, 8, 16, 32});
    const std::string base = lane_address(w, stride, 32 * stride + 128);
    Names addresses;
    std::vector<Names> values(chains);
    for (Names& v : values) {
        addresses.push_back(w.fresh(32));
        w.setup("add.u32 " + addresses.back() + ", " + base + ", " + w.zero(32));
        for (unsigned i = 0; i < a.registers; ++i) v.push_back(w.fresh(a.width));
    }
    const std::string low = w.fresh(32);
    const std::string high = w.fresh(32);
    for (unsigned i = 0; i < accesses; i += chains) {
        for (unsigned c = 0; c < chains; ++c)
            w.line(std::string(a.text) + " " + data(a, values[c]) + ", [" + addresses[c] + "]");
        for (unsigned c = 0; c < chains; ++c) {
            const std::string& address = addresses[c];
            if (a.width == 32) {
                w.line("add.u32 " + address + ", " + address + ", " + values[c][0]);
                continue;
            }
            // Both words, or the assembler loads but one; it adds all three at once.
            w.line("mov.b64 {" + low + ", " + high + "}, " + values[c][0]);
            w.line("add.u32 " + address + ", " + address + ", " + low);
            w.line("add.u32 " + address + ", " + address + ", " + high);
        }
    }
    for (const std::string& name : addresses) w.result(name, 32);
    list.add(w);
}

// Each to a place of its own, 128 bytes further on and so in the same banks.
void add_store(ProbeList& list, const Access& a, unsigned stride) {
    const std::string key = std::string(a.key) + " stride" + std::to_string(stride) + " throughput";
    if (!list.wants(key)) return;
    ProbeWriter w(key, accesses, {1, 4, 8, 16, 32});
    const std::string address = lane_address(w, stride, 4);
    Names values;
    for (unsigned i = 0; i < a.registers; ++i) values.push_back(w.zero(a.width));
    for (unsigned i = 0; i < accesses; ++i)
        w.line(std::string(a.text) + " [" + address + "+" + std::to_string(i * 128) + "], " +
               data(a, values));
    const std::string read = w.fresh(32);
    w.after("ld.shared.b32 " + read + ", [" + address + "]");
    w.result(read, 32);
    list.add(w);
}

// The memory at an address holds that address: a load gives the next one's address.
struct Chase {
    std::string_view key;
    std::string_view text;
    uint16_t target = 0;
};
constexpr auto chases = std::to_array<Chase>({
    {"ld.global v1 latency", "ld.global.b64"},
    {"ld.global.ca v1 latency", "ld.global.ca.b64"},
    {"ld.global.cg v1 latency", "ld.global.cg.b64"},
});

void add_chase(ProbeList& list, const Chase& c) {
    if (!list.wants(std::string(c.key))) return;
    ProbeWriter w(std::string(c.key), 128, {1});
    const std::string at = w.zero(64);
    w.setup("add.u64 " + at + ", " + at + ", %q4");
    w.setup("st.global.b64 [" + at + "], " + at);
    for (unsigned i = 0; i < 128; ++i) w.line(std::string(c.text) + " " + at + ", [" + at + "]");
    w.result(at, 64);
    list.add(w);
}

// From memory that no cache holds: lines far apart, each read once.
void add_cold(ProbeList& list) {
    const std::string key = "ld.global dram latency";
    if (!list.wants(key)) return;
    constexpr unsigned count = 64;
    ProbeWriter w(key, count, {1});
    w.cold(uint64_t{1} << 28);
    const std::string at = w.fresh(64);
    const std::string value = w.fresh(64);
    w.setup("mov.u64 " + at + ", %q4");
    for (unsigned i = 0; i < count; ++i) {
        w.line("ld.global.b64 " + value + ", [" + at + "+" + std::to_string((i + 1) * 0x1f080) +
               "]");
        w.line("add.u64 " + at + ", " + at + ", " + value);
    }
    w.result(at, 64);
    list.add(w);
}

// A warp's 32 lanes load 16 bytes each, side by side; eight such places for each warp. Two words
// are the next address, and the others, zeros, are added to it: of words that are not used the
// assembler loads none.
void add_wide_loads(ProbeList& list, const std::string& cache) {
    const std::string key = "ld.global" + cache + " v4 throughput";
    if (!list.wants(key)) return;
    constexpr unsigned chains = 8;
    ProbeWriter w(key, accesses, {1, 4, 8, 16, 32});
    const std::string lane = w.fresh(64);
    w.setup("mul.wide.u32 " + lane + ", %r1, 16");
    w.setup("add.u64 " + lane + ", " + lane + ", %q4");
    Names at;
    for (unsigned c = 0; c < chains; ++c) {
        at.push_back(w.fresh(64));
        w.setup("add.u64 " + at[c] + ", " + lane + ", " + std::to_string(c * 16384));
        w.setup("st.global.b64 [" + at[c] + "], " + at[c]);
    }
    const Names word{w.fresh(32), w.fresh(32), w.fresh(32), w.fresh(32)};
    for (unsigned i = 0; i < accesses; ++i) {
        const std::string& a = at[i % chains];
        w.line("ld.global" + cache + ".v4.b32 " + braced(word) + ", [" + a + "]");
        w.line("add.u32 " + word[0] + ", " + word[0] + ", " + word[2]);
        w.line("add.u32 " + word[0] + ", " + word[0] + ", " + word[3]);
        w.line("mov.b64 " + a + ", {" + word[0] + ", " + word[1] + "}");
    }
    for (const std::string& name : at) w.result(name, 64);
    list.add(w);
}

void add_copies(ProbeList& list, const std::string& cache, unsigned bytes, bool latency) {
    const std::string key =
        "cp.async." + cache + " " + std::to_string(bytes) + (latency ? " latency" : " throughput");
    if (!list.wants(key)) return;
    constexpr unsigned count = 64;
    ProbeWriter w(key, count,
                  latency ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 4, 8, 16, 32});
    const std::string base = w.shared(shared_total, 4);
    const std::string to = w.fresh(32);
    const std::string from = w.fresh(64);
    w.setup("mad.lo.u32 " + to + ", %r1, " + std::to_string(bytes) + ", " + base);
    w.setup("mul.wide.u32 " + from + ", %r1, " + std::to_string(bytes));
    w.setup("add.u64 " + from + ", " + from + ", %q4");
    for (unsigned i = 0; i < count; ++i) {
        w.line("cp.async." + cache + ".shared.global [" + to + "], [" + from + "], " +
               std::to_string(bytes));
        if (latency) w.line("cp.async.commit_group;\ncp.async.wait_group 0");
    }
    w.after("cp.async.wait_all;\nbar.sync 0");
    const std::string read = w.fresh(32);
    w.after("ld.shared.b32 " + read + ", [" + to + "]");
    w.result(read, 32);
    list.add(w);
}

void add_global_stores(ProbeList& list, const std::string& kind, unsigned registers) {
    const std::string key = "st.global." + kind + " throughput";
    if (!list.wants(key)) return;
    constexpr unsigned count = 64;
    const unsigned bytes = registers * 4;
    ProbeWriter w(key, count, {1, 4, 8, 16, 32});
    const std::string at = w.fresh(64);
    w.setup("mul.wide.u32 " + at + ", %r1, " + std::to_string(bytes));
    w.setup("add.u64 " + at + ", " + at + ", %q4");
    Names values;
    for (unsigned i = 0; i < registers; ++i) values.push_back(w.zero(32));
    for (unsigned i = 0; i < count; ++i)
        w.line("st.global." + kind + " [" + at + "+" + std::to_string(i * 1024 * bytes) + "], " +
               (registers == 1 ? values[0] : braced(values)));
    list.add(w);
}

void add_constant(ProbeList& list) {
    const std::string key = "ld.const.b32 latency";
    if (!list.wants(key)) return;
    ProbeWriter w(key, accesses, {1});
    w.module(".const .align 16 .b8 constants[256];\n");
    const std::string at = w.zero(32);
    const std::string base = w.fresh(32);
    const std::string value = w.fresh(32);
    w.setup("mov.u32 " + base + ", constants");
    w.setup("add.u32 " + at + ", " + at + ", " + base);
    for (unsigned i = 0; i < accesses; ++i) {
        w.line("ld.const.b32 " + value + ", [" + at + "]");
        w.line("add.u32 " + at + ", " + at + ", " + value);
    }
    w.result(at, 32);
    list.add(w);
}

// One place for each lane.
void add_shared_atomics(ProbeList& list) {
    if (const std::string key = "atom.shared.add.u32 latency"; list.wants(key)) {
        ProbeWriter w(key, 128, {1});
        const std::string at = lane_address(w, 4, 4096);
        const std::string value = w.zero(32);
        const std::string old = w.fresh(32);
        for (unsigned i = 0; i < 128; ++i) {
            w.line("atom.shared.add.u32 " + old + ", [" + at + "], " + value);
            w.line("add.u32 " + at + ", " + at + ", " + old);
        }
        w.result(at, 32);
        list.add(w);
    }
    if (const std::string key = "red.shared.add.u32 throughput"; list.wants(key)) {
        ProbeWriter w(key, 128, {1, 4, 8, 16, 32});
        const std::string at = lane_address(w, 4, 4096);
        const std::string value = w.zero(32);
        for (unsigned i = 0; i < 128; ++i) w.line("red.shared.add.u32 [" + at + "], " + value);
        list.add(w);
    }
}

void add_global_atomics(ProbeList& list) {
    if (const std::string key = "atom.global.add.u64 latency"; list.wants(key)) {
        ProbeWriter w(key, 64, {1});
        const std::string at = w.fresh(64);
        const std::string value = w.zero(64);
        w.setup("mul.wide.u32 " + at + ", %r1, 8");
        w.setup("add.u64 " + at + ", " + at + ", %q4");
        // The address, and 0 is added to it.
        w.setup("st.global.b64 [" + at + "], " + at);
        for (unsigned i = 0; i < 64; ++i)
            w.line("atom.global.add.u64 " + at + ", [" + at + "], " + value);
        w.result(at, 64);
        list.add(w);
    }
    if (const std::string key = "red.global.add.u32 throughput"; list.wants(key)) {
        ProbeWriter w(key, 64, {1, 4, 8, 16, 32});
        const std::string value = w.zero(32);
        const std::string at = w.fresh(64);
        w.setup("mul.wide.u32 " + at + ", %r1, 4");
        w.setup("add.u64 " + at + ", " + at + ", %q4");
        for (unsigned i = 0; i < 64; ++i) w.line("red.global.add.u32 [" + at + "], " + value);
        list.add(w);
    }
}

}  // namespace

void add_shared_probes(ProbeList& list) {
    for (const Access& a : shared_accesses) {
        if (!list.has(a.target)) continue;
        for (const uint16_t stride : a.strides) {
            if (stride == no) break;
            if (!a.load) {
                add_store(list, a, stride);
                continue;
            }
            add_load(list, a, stride, true);
            add_load(list, a, stride, false);
        }
    }
    add_shared_atomics(list);
}

void add_global_probes(ProbeList& list) {
    for (const Chase& c : chases) add_chase(list, c);
    add_cold(list);
    add_wide_loads(list, "");
    add_wide_loads(list, ".cg");
    add_global_stores(list, "b32", 1);
    add_global_stores(list, "v4.b32", 4);
    add_constant(list);
    add_global_atomics(list);
    if (!list.has(80)) return;
    for (const bool latency : {true, false}) {
        add_copies(list, "cg", 16, latency);
        add_copies(list, "ca", 16, latency);
        add_copies(list, "ca", 4, latency);
    }
}

// Pairs whose order a scheduler cares about.
void add_pair_probes(ProbeList& list) {
    constexpr unsigned count = 128;
    const std::string volatile_store = "st.volatile.shared.b32";
    if (const std::string key = "st.shared>ld.shared latency"; list.wants(key)) {
        ProbeWriter w(key, count, {1});
        const std::string at = lane_address(w, 4, 4096);
        const std::string value = w.zero(32);
        for (unsigned i = 0; i < count; ++i) {
            w.line(volatile_store + " [" + at + "], " + value);
            w.line("ld.volatile.shared.b32 " + value + ", [" + at + "]");
        }
        w.result(value, 32);
        list.add(w);
    }
    if (const std::string key = "st.shared>bar.sync>ld.shared>bar.sync latency"; list.wants(key)) {
        ProbeWriter w(key, count, {1, 4, 8, 16, 32});
        const std::string base = w.shared(shared_total, 4096);
        const std::string at = w.fresh(32);
        const std::string value = w.zero(32);
        w.setup("mad.lo.u32 " + at + ", %r1, 4, " + base);
        for (unsigned i = 0; i < count; ++i) {
            w.line(volatile_store + " [" + at + "], " + value + ";\nbar.sync 0");
            w.line("ld.volatile.shared.b32 " + value + ", [" + at + "];\nbar.sync 0");
        }
        w.result(value, 32);
        list.add(w);
    }
    if (!list.has(80)) return;
    const std::string product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
    const std::string name = "mma.m16n8k16.f32.f16.f16.f32";
    const auto zeros = [](ProbeWriter& w, unsigned n) {
        Names names;
        for (unsigned i = 0; i < n; ++i) names.push_back(w.zero(32));
        return names;
    };
    if (const std::string key = "ldmatrix.x4>" + name + " latency"; list.wants(key)) {
        ProbeWriter w(key, count, {1});
        const std::string at = lane_address(w, 16, 1024);
        const Names b = zeros(w, 2);
        const Names c = zeros(w, 4);
        Names a;
        Names d;
        for (unsigned i = 0; i < 4; ++i) a.push_back(w.fresh(32));
        for (unsigned i = 0; i < 4; ++i) d.push_back(w.fresh(32));
        for (unsigned i = 0; i < count; ++i) {
            w.line("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + braced(a) + ", [" + at + "]");
            w.line(product + braced(d) + ", " + braced(a) + ", " + braced(b) + ", " + braced(c));
            w.line("add.u32 " + at + ", " + at + ", " + d[0]);
        }
        w.result(at, 32);
        list.add(w);
    }
    if (const std::string key = name + " through A latency"; list.wants(key)) {
        ProbeWriter w(key, count, {1});
        Names a = zeros(w, 4);
        const Names b = zeros(w, 2);
        const Names c = zeros(w, 4);
        for (unsigned i = 0; i < count; ++i)
            w.line(product + braced(a) + ", " + braced(a) + ", " + braced(b) + ", " + braced(c));
        for (const std::string& r : a) w.result(r, 32);
        list.add(w);
    }
    if (const std::string key = name + ">st.shared>ld.shared latency"; list.wants(key)) {
        ProbeWriter w(key, count, {1});
        const std::string at = lane_address(w, 4, 4096);
        const Names a = zeros(w, 4);
        const Names b = zeros(w, 2);
        const Names c = zeros(w, 4);
        const Names d = zeros(w, 4);
        for (unsigned i = 0; i < count; ++i) {
            w.line(product + braced(d) + ", " + braced(a) + ", " + braced(b) + ", " + braced(c));
            w.line(volatile_store + " [" + at + "], " + d[0]);
            w.line("ld.volatile.shared.b32 " + a[0] + ", [" + at + "]");
        }
        w.result(a[0], 32);
        list.add(w);
    }
}

}  // namespace lockwarp::programs
