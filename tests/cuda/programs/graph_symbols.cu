// SPDX-License-Identifier: Apache-2.0
// Graphs that copy to variables and from them, and graphs as text.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "check.hpp"

__device__ int numbers[4] = {1, 2, 3, 4};

__global__ void twice() { numbers[threadIdx.x] *= 2; }

void copies() {
    int in[2] = {10, 20}, out[3] = {}, other[2] = {7, 8};
    cudaGraph_t g;
    cudaGraphNode_t to, doubled, from;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, g, nullptr, 0, numbers, in, sizeof in, 4,
                                      cudaMemcpyHostToDevice));
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(twice);
    p.gridDim = dim3(1);
    p.blockDim = dim3(4);
    OK(cudaGraphAddKernelNode(&doubled, g, &to, 1, &p));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, g, &doubled, 1, out, numbers, sizeof out, 4,
                                        cudaMemcpyDeviceToHost));
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    const auto launch = [&] {
        OK(cudaGraphLaunch(exec, nullptr));
        OK(cudaDeviceSynchronize());
    };
    launch();
    CHECK(out[0] == 20 && out[1] == 40 && out[2] == 8);

    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, numbers, other, sizeof other, 4,
                                                cudaMemcpyHostToDevice));
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, out, numbers, sizeof out, 4,
                                                  cudaMemcpyDeviceToHost));
    launch();
    CHECK(out[0] == 14 && out[1] == 16 && out[2] == 16);
    OK(cudaGraphExecDestroy(exec));

    // Of the graph itself: the first two numbers, from the second on.
    OK(cudaGraphMemcpyNodeSetParamsToSymbol(to, numbers, in, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, out, numbers, 8, 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&exec, g, 0));
    launch();
    CHECK(out[0] == 20 && out[1] == 28);
    OK(cudaGraphExecDestroy(exec));

    // Past the variable; nothing; the wrong way; no variable.
    EXPECT_ERROR(cudaGraphAddMemcpyNodeToSymbol(&to, g, nullptr, 0, numbers, in, 8, 12,
                                                cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphAddMemcpyNodeToSymbol(&to, g, nullptr, 0, numbers, in, 0, 0,
                                                cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphAddMemcpyNodeToSymbol(&to, g, nullptr, 0, numbers, in, 8, 0,
                                                cudaMemcpyDeviceToHost),
                 cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(cudaGraphAddMemcpyNodeFromSymbol(&to, g, nullptr, 0, out, numbers, 8, 0,
                                                  cudaMemcpyHostToDevice),
                 cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(
        cudaGraphAddMemcpyNodeFromSymbol(&to, g, nullptr, 0, out, in, 8, 0, cudaMemcpyDeviceToHost),
        cudaErrorInvalidSymbol);
    OK(cudaGraphDestroy(g));
}

size_t count(const std::string& text, const std::string& of) {
    size_t n = 0;
    for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++n;
    return n;
}

void text() {
    cudaGraph_t g, child;
    cudaGraphNode_t kernel, filled, inner;
    int* x = nullptr;
    OK(cudaMalloc(&x, 64));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(twice);
    p.gridDim = dim3(1);
    p.blockDim = dim3(4);
    OK(cudaGraphAddKernelNode(&kernel, child, nullptr, 0, &p));
    cudaMemsetParams fill{};
    fill.dst = x;
    fill.elementSize = 4;
    fill.width = 16;
    fill.height = 1;
    OK(cudaGraphAddMemsetNode(&filled, g, nullptr, 0, &fill));
    OK(cudaGraphAddChildGraphNode(&inner, g, &filled, 1, child));
    const std::string path = "/tmp/graph_symbols." + std::to_string(getpid()) + ".dot";
    for (const unsigned flags : {0u, unsigned{cudaGraphDebugDotFlagsVerbose}}) {
        OK(cudaGraphDebugDotPrint(g, path.c_str(), flags));
        std::stringstream all;
        all << std::ifstream(path).rdbuf();
        CHECK(all.str().rfind("digraph", 0) == 0);
        CHECK(count(all.str(), " -> ") >= 1 && count(all.str(), "MEMSET") >= 1);
        CHECK(count(all.str(), "_Z5twicev") >= 1);
        CHECK(count(all.str(), "{") == count(all.str(), "}"));
    }
    CHECK(std::remove(path.c_str()) == 0);
    OK(cudaGraphDebugDotPrint(g, "/dev/null", 0));
    struct stat about {};
    CHECK(stat("/dev/null", &about) == 0 && S_ISCHR(about.st_mode));
    EXPECT_ERROR(cudaGraphDebugDotPrint(g, nullptr, 0), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphDebugDotPrint(nullptr, path.c_str(), 0), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphDebugDotPrint(g, "/there/is/no/such/folder.dot", 0),
                 cudaErrorOperatingSystem);
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(x));
}

int main() {
    copies();
    text();
    return done("graph_symbols");
}
