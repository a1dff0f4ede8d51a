// SPDX-License-Identifier: Apache-2.0
// The driver API: modules, libraries and links of PTX, and what they have of functions and
// variables.
// nvcc: -lcuda
#include "driver_check.hpp"

const char* const defines_ptx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .func (.param .u32 out) seven()
{
 .reg .b32 %r<1>;
 mov.u32 %r0, 7;
 st.param.u32 [out], %r0;
 ret;
}
)";
const char* const uses_ptx = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .u32 out) seven();
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r<1>; .reg .b64 %p<1>;
 ld.param.u64 %p0, [x];
 {
 .param .u32 got;
 call.uni (got), seven, ();
 ld.param.u32 %r0, [got];
 }
 st.global.u32 [%p0], %r0;
 ret;
}
)";

// The text as a file; its path.
const char* file_of(const char* text) {
    static char path[L_tmpnam] = "";
    if (*path == 0) CHECK(std::tmpnam(path) != nullptr);
    std::FILE* const file = std::fopen(path, "wb");
    CHECK(file != nullptr && std::fputs(text, file) >= 0 && std::fclose(file) == 0);
    return path;
}

void modules(const World& world) {
    CUmodule module = nullptr;
    DO(cuModuleLoad(&module, file_of(kernels_ptx)));
    unsigned count = 0;
    DO(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 2);
    CUfunction functions[2];
    DO(cuModuleEnumerateFunctions(functions, 2, module));
    const char* name = nullptr;
    DO(cuFuncGetName(&name, functions[0]));
    CHECK(std::strcmp(name, "add") == 0 || std::strcmp(name, "twice") == 0);
    CUmodule of = nullptr;
    DO(cuFuncGetModule(&of, functions[1]));
    CHECK(of == module);
    CUfunctionLoadingState state{};
    DO(cuFuncLoad(functions[0]));
    DO(cuFuncIsLoaded(&state, functions[0]));
    CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
    CUmoduleLoadingMode mode{};
    DO(cuModuleGetLoadingMode(&mode));
    DO(cuModuleUnload(module));

    world.launch_add(1);
    world.launch_add(1);
    CUdeviceptr launches = 0;
    size_t bytes = 0;
    int counted = 0;
    DO(cuModuleGetGlobal(&launches, &bytes, world.module, "launches"));
    DO(cuMemcpyDtoH(&counted, launches, bytes));
    CHECK(bytes == 4 && counted == 2);
    EXPECT_RESULT(cuModuleGetGlobal(&launches, &bytes, world.module, "nothing"),
                  CUDA_ERROR_NOT_FOUND);
    EXPECT_RESULT(cuModuleLoadFatBinary(&module, "no fat binary"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadData(&module, "no module"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadFatBinary(&module, ".version 7.0\nnonsense"), CUDA_ERROR_INVALID_PTX);
    DO(cuModuleLoadFatBinary(&module, kernels_ptx));
    DO(cuModuleUnload(module));
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    EXPECT_RESULT(cuModuleLoadDataEx(&module, ".version 7.0\nnonsense", 2, options, values),
                  CUDA_ERROR_INVALID_PTX);
    CHECK(*log != 0);
}

void libraries(const World& world) {
    CUlibrary library = nullptr;
    DO(cuLibraryLoadFromFile(&library, file_of(kernels_ptx), nullptr, nullptr, 0, nullptr, nullptr,
                             0));
    DO(cuLibraryUnload(library));
    DO(cuLibraryLoadData(&library, kernels_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    unsigned count = 0;
    DO(cuLibraryGetKernelCount(&count, library));
    CHECK(count == 2);
    CUkernel kernels[2], twice = nullptr;
    DO(cuLibraryEnumerateKernels(kernels, 2, library));
    DO(cuLibraryGetKernel(&twice, library, "twice"));
    CHECK(twice == kernels[0] || twice == kernels[1]);
    const char* name = nullptr;
    DO(cuKernelGetName(&name, twice));
    CHECK(std::strcmp(name, "twice") == 0);
    CUlibrary of = nullptr;
    DO(cuKernelGetLibrary(&of, twice));
    CHECK(of == library);
    CUmodule module = nullptr;
    DO(cuLibraryGetModule(&module, library));
    CHECK(module != nullptr);
    int value = 0;
    DO(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, twice, 0));
    CHECK(value == 1024);
    DO(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, twice, 0));
    DO(cuKernelSetCacheConfig(twice, CU_FUNC_CACHE_PREFER_L1, 0));
    size_t offset = 9, size = 0, bytes = 0;
    DO(cuKernelGetParamInfo(twice, 0, &offset, &size));
    CHECK(offset == 0 && size == 8);
    CUdeviceptr launches = 0;
    DO(cuLibraryGetGlobal(&launches, &bytes, library, "launches"));
    CHECK(bytes == 4);
    EXPECT_RESULT(cuLibraryGetManaged(&launches, &bytes, library, "nothing"), CUDA_ERROR_NOT_FOUND);
    CUfunction f = nullptr;
    DO(cuKernelGetFunction(&f, twice));
    world.set(21);
    CUdeviceptr x = world.x;
    void* parameters[] = {&x};
    DO(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(world.value() == 42);
    DO(cuLibraryUnload(library));
}

void links(const World& world) {
    CUlinkState link = nullptr;
    DO(cuLinkCreate(0, nullptr, nullptr, &link));
    DO(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(uses_ptx), std::strlen(uses_ptx) + 1,
                     "uses", 0, nullptr, nullptr));
    DO(cuLinkAddFile(link, CU_JIT_INPUT_PTX, file_of(defines_ptx), 0, nullptr, nullptr));
    void* image = nullptr;
    size_t size = 0;
    DO(cuLinkComplete(link, &image, &size));
    CUmodule module = nullptr;
    DO(cuModuleLoadData(&module, image));
    DO(cuLinkDestroy(link));
    CUfunction k = nullptr;
    DO(cuModuleGetFunction(&k, module, "k"));
    CUdeviceptr x = world.x;
    void* parameters[] = {&x};
    DO(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    int got = 0;
    DO(cuMemcpyDtoH(&got, x, sizeof got));
    CHECK(got == 7);
    DO(cuModuleUnload(module));
}

int main() {
    const World world;
    modules(world);
    libraries(world);
    links(world);
    std::remove(file_of(""));
    return done("driver_modules");
}
