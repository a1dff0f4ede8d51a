// SPDX-License-Identifier: Apache-2.0
// A library with kernels and a runtime of its own, opened and closed while the program runs.
// plugin: parts/plugin_library.cu
#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "check.hpp"

__global__ void twice(int* x) { *x *= 2; }

std::string folder() {
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    CHECK(size > 0);
    const std::string own(path, static_cast<size_t>(size));
    return own.substr(0, own.rfind('/'));
}

int main() {
    int* x = nullptr;
    int h = 5;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemcpy(x, &h, 4, cudaMemcpyHostToDevice));
    for (int round = 0; round < 2; ++round) {
        void* const library = dlopen((folder() + "/plugin.library").c_str(), RTLD_NOW);
        if (library == nullptr) std::puts(dlerror());
        CHECK(library != nullptr);
        auto* const add = reinterpret_cast<int (*)(int*, int)>(dlsym(library, "plugin_add"));
        CHECK(add != nullptr && add(x, 100) == 0);
        CHECK(dlclose(library) == 0);
        twice<<<1, 1>>>(x);
        OK(cudaGetLastError());
    }
    OK(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost));
    CHECK(h == ((5 + 100) * 2 + 100) * 2);
    return done("plugin");
}
