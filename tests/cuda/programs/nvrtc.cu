// SPDX-License-Identifier: Apache-2.0
// A kernel by NVRTC, as machine code for the device: the program gets PTX and loads that.
// nvcc: -lnvrtc -lcuda
#include <cuda.h>
#include <nvrtc.h>

#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

const char source[] =
    "extern \"C\" __global__ void add(int* x, int a) { x[threadIdx.x] += a * SCALE; }\n";

void run(const std::vector<const char*>& options) {
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, source, "add.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS);
    CHECK(nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) ==
          NVRTC_SUCCESS);
    size_t size = 0;
    CHECK(nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS && size != 0);
    std::vector<char> code(size);
    CHECK(nvrtcGetCUBIN(program, code.data()) == NVRTC_SUCCESS);
    CHECK(nvrtcDestroyProgram(&program) == NVRTC_SUCCESS);
    CUmodule module;
    CUfunction add;
    CHECK(cuModuleLoadData(&module, code.data()) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&add, module, "add") == CUDA_SUCCESS);
    int* x = nullptr;
    int a = 5, h[4] = {};
    OK(cudaMalloc(&x, sizeof h));
    OK(cudaMemset(x, 0, sizeof h));
    void* parameters[] = {&x, &a};
    CHECK(cuLaunchKernel(add, 1, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr) == CUDA_SUCCESS);
    OK(cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost));
    for (const int i : h) CHECK(i == 15);
    OK(cudaFree(x));
    CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}

int main() {
    OK(cudaFree(nullptr));
    const std::string arch = "sm_" + std::to_string(architecture());
    run({("--gpu-architecture=" + arch).c_str(), "-DSCALE=3"});
    run({"-DSCALE=3", "-arch", arch.c_str()});
    return done("nvrtc");
}
