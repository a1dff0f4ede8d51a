// SPDX-License-Identifier: Apache-2.0
// Libraries of kernels that the program loads itself.
#include <cstdio>
#include <cstring>

#include "check.hpp"

const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 step = 3;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 seen = 77;\n"
    ".visible .entry count(.param .u64 x)\n{\n"
    " .reg .b32 %r<3>; .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [x];\n"
    " ld.global.u32 %r0, [%p0];\n"
    " ld.global.u32 %r1, [step];\n"
    " add.u32 %r0, %r0, %r1;\n"
    " st.global.u32 [%p0], %r0;\n"
    " ret;\n}\n";

int main() {
    cudaLibrary_t library, from_file;
    OK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    unsigned count = 0;
    OK(cudaLibraryGetKernelCount(&count, library));
    CHECK(count == 1);
    cudaKernel_t kernel, listed;
    OK(cudaLibraryGetKernel(&kernel, library, "count"));
    OK(cudaLibraryEnumerateKernels(&listed, 1, library));
    CHECK(kernel == listed);
    EXPECT_ERROR(cudaLibraryGetKernel(&listed, library, "nothing"), cudaErrorSymbolNotFound);
    cudaGetLastError();
    int* x = nullptr;
    int h = 0;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    void* parameters[] = {&x};
    OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), parameters, 0,
                        nullptr));
    void* step = nullptr;
    void* managed = nullptr;
    size_t bytes = 0;
    OK(cudaLibraryGetGlobal(&step, &bytes, library, "step"));
    CHECK(bytes == 4);
    EXPECT_ERROR(cudaLibraryGetManaged(&managed, &bytes, library, "step"), cudaErrorSymbolNotFound);
    cudaGetLastError();
    OK(cudaLibraryGetManaged(&managed, &bytes, library, "seen"));
    CHECK(bytes == 4 && managed != nullptr && *static_cast<int*>(managed) == 77);
    const int ten = 10;
    OK(cudaMemcpy(step, &ten, 4, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), parameters, 0,
                        nullptr));
    OK(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost));
    CHECK(h == 13);
    char path[] = "/tmp/lockwarp_library_XXXXXX";
    const int file = mkstemp(path);
    std::FILE* const out = fdopen(file, "w");
    CHECK(out != nullptr && std::fputs(ptx, out) >= 0 && std::fclose(out) == 0);
    OK(cudaLibraryLoadFromFile(&from_file, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
    std::remove(path);
    OK(cudaLibraryUnload(from_file));
    OK(cudaLibraryUnload(library));
    return done("libraries");
}
