// SPDX-License-Identifier: Apache-2.0
// The device, the table of functions, and what is asked about kernels.
#include <fstream>
#include <iterator>
#include <set>

#include "cuda/functions_list.hpp"
#include "cuda/nvml.hpp"
#include "cuda/products.hpp"
#include "driver.hpp"
#include "emu/timing/machine.hpp"

namespace lockwarp::test {
namespace {

using Device = Cuda;

std::string text_of_file(const std::string& path) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/" + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Device, IsAnA100) {
    int count = 0, value = 0, version = 0;
    char name[100];
    ASSERT_EQ(entry<int(int*)>("cuDeviceGetCount")(&count), success);
    EXPECT_EQ(count, 1);
    ASSERT_EQ(entry<int(char*, int, int)>("cuDeviceGetName")(name, sizeof name, 0), success);
    EXPECT_EQ(std::string(name), "NVIDIA A100-SXM4-80GB");
    ASSERT_EQ(entry<int(int*)>("cuDriverGetVersion")(&version), success);
    EXPECT_EQ(version, 13000);
    const auto attribute = entry<int(int*, int, int)>("cuDeviceGetAttribute");
    const std::pair<int, int> expected[] = {{1, 1024},    {8, 49152}, {10, 32},       {16, 108},
                                            {39, 2048},   {75, 8},    {76, 0},        {81, 167936},
                                            {97, 166912}, {106, 32},  {38, 41943040}, {108, 0},
                                            {126, 1},     {127, 0},   {131, -1}};
    for (const auto& [number, of] : expected) {
        ASSERT_EQ(attribute(&value, number, 0), success);
        EXPECT_EQ(value, of) << number;
    }
    EXPECT_EQ(attribute(&value, 0, 0), invalid_value);
    EXPECT_EQ(attribute(&value, 1, 1), 101);
    int device = -1;
    EXPECT_EQ(entry<int(int*, int)>("cuDeviceGet")(&device, 1), 101);
}

// Two tables speak of the same machines.
TEST(Products, AreThoseOfTheModelOfCycles) {
    size_t compared = 0;
    for (const cuda::Product& p : cuda::products) {
        const timing::Machine* const m = timing::machine_of(p.arch);
        if (m == nullptr) continue;
        EXPECT_EQ(p.sms, m->sms) << p.name;
        EXPECT_EQ(p.threads, m->warps * 32) << p.name;
        EXPECT_EQ(p.ctas, m->ctas) << p.name;
        EXPECT_EQ(p.shared, m->shared) << p.name;
        EXPECT_EQ(p.reserved, m->reserved) << p.name;
        EXPECT_EQ(p.clock_khz, m->mhz * 1000u) << p.name;
        EXPECT_EQ(p.l2_kib, m->l2_kib) << p.name;
        ++compared;
    }
    EXPECT_GE(compared, 7u);
}

TEST(Functions, AreExportedAndHaveOneRow) {
    std::set<std::string> seen;
    size_t done = 0, hidden_count = 0;
    for (const cuda::ListedFunction& f : cuda::listed_functions) {
        EXPECT_TRUE(seen.insert(std::string(f.symbol)).second) << f.symbol;
        done += f.done ? 1 : 0;
        std::vector<std::string> symbols{std::string(f.symbol)};
        if (!f.per_thread.empty())
            symbols.push_back(std::string(f.symbol) + "_" + std::string(f.per_thread));
        // Two forms are given by cuGetProcAddress alone.
        const bool hidden = f.symbol == "cuCtxGetDevice_v2" || f.symbol == "cuCtxSynchronize_v2";
        hidden_count += hidden ? 1 : 0;
        for (const std::string& symbol : symbols)
            EXPECT_EQ(dlsym(library(), symbol.c_str()) == nullptr, hidden) << symbol;
        void* out = nullptr;
        const std::string name(f.name);
        ASSERT_EQ(exported<GetProcAddress>("cuGetProcAddress_v2")(name.c_str(), &out, f.since, 0,
                                                                  nullptr),
                  success);
        EXPECT_NE(out, nullptr) << f.symbol;
        if (!hidden) {
            EXPECT_EQ(out, dlsym(library(), std::string(f.symbol).c_str())) << f.symbol;
        }
    }
    EXPECT_GE(done, 200u);
    EXPECT_EQ(hidden_count, 2u);
    EXPECT_GE(seen.size(), 500u);
}

TEST(Functions, AreGivenByVersion) {
    const auto get = exported<GetProcAddress>("cuGetProcAddress_v2");
    void* out = nullptr;
    int status = -1;
    EXPECT_EQ(get("cuCtxCreate", &out, 3020, 0, &status), success);
    EXPECT_EQ(out, dlsym(library(), "cuCtxCreate_v2"));
    EXPECT_EQ(get("cuCtxCreate", &out, 13000, 0, &status), success);
    EXPECT_EQ(out, dlsym(library(), "cuCtxCreate_v4"));
    EXPECT_EQ(get("cuLaunchKernelEx", &out, 11000, 0, &status), success);
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(status, 2);  // of a later version
    EXPECT_EQ(get("cuNothing", &out, 13000, 0, &status), success);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(get("cuNothing", &out, 13000, 0, nullptr), not_found);
    EXPECT_EQ(get(nullptr, &out, 13000, 0, nullptr), invalid_value);
}

// A list of the page that begins with those letters is that of `names`, filled to 100 columns.
void expect_listed(const std::string& page, const std::string& first,
                   const std::set<std::string>& names) {
    const size_t begin = page.find("```\n" + first), end = page.find("\n```", begin);
    ASSERT_NE(begin, std::string::npos);
    std::string expected, line;
    for (const std::string& name : names) {
        if (line.size() + name.size() + 1 > 100) {
            expected += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + name;
    }
    expected += line;
    EXPECT_EQ(page.substr(begin + 4, end - begin - 4), expected);
}

// docs/programs.md names each function that is there.
TEST(Functions, AreListedInTheDocuments) {
    const std::string page = text_of_file("docs/programs.md");
    std::set<std::string> driver, runtime, management;
    for (const cuda::ListedFunction& f : cuda::listed_functions)
        if (f.done) driver.insert(std::string(f.name));
    for (const cuda::ListedRuntimeFunction& f : cuda::listed_runtime_functions)
        if (f.done && !f.symbol.starts_with("__")) runtime.insert(std::string(f.symbol));
    expect_listed(page, "cuA", driver);
    for (const cuda::ListedNvmlFunction& f : cuda::listed_nvml_functions)
        if (f.done) management.insert(std::string(f.symbol));
    expect_listed(page, "cuda", runtime);
    expect_listed(page, "nvml", management);
}

// As an H100 with driver 580 answers.
TEST_F(Device, WhatIsNoModuleIsToldFromWrongPtx) {
    const auto fat = entry<int(Handle*, const void*)>("cuModuleLoadFatBinary");
    const auto both = [&](const std::string& image) {
        Handle module = nullptr;
        const int result = fat(&module, image.c_str());
        if (result == success) {
            EXPECT_EQ(cuModuleUnload(module), success);
        }
        EXPECT_EQ(cuModuleLoadData(&module, image.c_str()), result);
        if (result == success) {
            EXPECT_EQ(cuModuleUnload(module), success);
        }
        return result;
    };
    EXPECT_EQ(both(scale_ptx), success);
    EXPECT_EQ(both("// a comment\n" + scale_ptx), success);
    EXPECT_EQ(both(".version 8.0\n.target sm_80\nxx"), invalid_ptx);
    EXPECT_EQ(both("/* one\n*/ // another\n\t" + scale_ptx), success);
    for (const char* const image :
         {"no fat binary", "", "a", " ", "//", "/* open", "// .version\nxx", ".versio 8.0",
          "xx .version 8.0\n.target sm_80\n", ".target sm_80\n.version 8.0\n.address_size 64\n",
          ".global .u32 x;\n.version 8.0", "version 8.0"})
        EXPECT_EQ(both(image), invalid_image) << image;
}

TEST_F(Device, KernelsHaveAttributesAndParameters) {
    const Handle f = function(load(scale_ptx), "scale");
    int value = -1;
    const auto attribute = entry<int(int*, int, Handle)>("cuFuncGetAttribute");
    const std::pair<int, int> expected[] = {{0, 1024}, {1, 0}, {2, 4}, {6, 80}, {8, 49152}};
    for (const auto& [number, of] : expected) {
        ASSERT_EQ(attribute(&value, number, f), success);
        EXPECT_EQ(value, of) << number;
    }
    ASSERT_EQ(attribute(&value, 4, f), success);
    EXPECT_GE(value, 1);  // registers
    EXPECT_LE(value, 255);
    size_t offset = 99, size = 99;
    const auto parameter = entry<int(Handle, size_t, size_t*, size_t*)>("cuFuncGetParamInfo");
    ASSERT_EQ(parameter(f, 1, &offset, &size), success);
    EXPECT_EQ(offset, 8u);
    EXPECT_EQ(size, 4u);
    EXPECT_EQ(parameter(f, 2, &offset, &size), invalid_value);
    const auto name_of = entry<int(const char**, Handle)>("cuFuncGetName");
    const char *name = nullptr, *other = nullptr;
    ASSERT_EQ(name_of(&name, f), success);
    EXPECT_STREQ(name, "scale");
    // One text, as an H200's driver has for functions of one name.
    ASSERT_EQ(name_of(&other, function(load(scale_ptx), "scale")), success);
    EXPECT_EQ(other, name);
}

TEST_F(Device, AnSmHoldsAsManyCtasAsFit) {
    const Handle f = function(load(scale_ptx), "scale");
    const auto resident =
        entry<int(int*, Handle, int, size_t)>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    int ctas = -1;
    ASSERT_EQ(resident(&ctas, f, 1024, 0), success);
    EXPECT_EQ(ctas, 2);  // of 2048 threads
    ASSERT_EQ(resident(&ctas, f, 32, 0), success);
    EXPECT_EQ(ctas, 32);
    ASSERT_EQ(resident(&ctas, f, 32, 40000), success);
    EXPECT_EQ(ctas, 4);  // 167936 bytes, 40064 and 1024 each
    int grid = 0, block = 0;
    ASSERT_EQ((entry<int(int*, int*, Handle, size_t (*)(int), size_t, int)>(
                  "cuOccupancyMaxPotentialBlockSize")(&grid, &block, f, nullptr, 0, 0)),
              success);
    EXPECT_EQ(block, 1024);
    EXPECT_EQ(grid, 216);
}

TEST(Errors, HaveNamesAndTexts) {
    const auto name = entry<int(int, const char**)>("cuGetErrorName");
    const auto text = entry<int(int, const char**)>("cuGetErrorString");
    const char* out = nullptr;
    ASSERT_EQ(name(700, &out), success);
    EXPECT_STREQ(out, "CUDA_ERROR_ILLEGAL_ADDRESS");
    ASSERT_EQ(text(700, &out), success);
    EXPECT_STREQ(out, "an illegal memory access was encountered");
    EXPECT_EQ(name(12345, &out), invalid_value);
    EXPECT_EQ(out, nullptr);
}

}  // namespace
}  // namespace lockwarp::test
