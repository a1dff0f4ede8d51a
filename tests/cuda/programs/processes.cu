// SPDX-License-Identifier: Apache-2.0
// Forks: before the runtime was used a child may use it, after that it may not.
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

__global__ void put(int* x) { *x = 7; }

int use() {
    int* x = nullptr;
    int h = 0;
    if (const cudaError_t e = cudaMalloc(&x, 4); e != cudaSuccess) return e;
    put<<<1, 1>>>(x);
    if (const cudaError_t e = cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); e != cudaSuccess)
        return e;
    return h == 7 ? 0 : 99;
}

int status_of_child() {
    const pid_t child = fork();
    if (child == 0) _exit(use());
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main() {
    CHECK(status_of_child() == 0);
    CHECK(use() == 0);
    CHECK(status_of_child() == cudaErrorInitializationError);
    CHECK(use() == 0);
    return done("processes");
}
