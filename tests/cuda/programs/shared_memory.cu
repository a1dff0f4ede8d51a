// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcuda
// Device memory and events of another process: two that add to each other's numbers, and who may
// open what.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "driver_check.hpp"

constexpr int count = 1 << 18, rounds = 4;

struct Handles {
    cudaIpcMemHandle_t large, small, other, freed;
    cudaIpcEventHandle_t event;
};

__global__ void add(int* x, int n, int by) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] += by;
}

struct Pipe {
    int end[2];
    Pipe() { CHECK(pipe(end) == 0); }
    template <class T>
    void put(const T& value) const {
        CHECK(write(end[1], &value, sizeof value) == sizeof value);
    }
    template <class T>
    T take() const {
        T value{};
        CHECK(read(end[0], &value, sizeof value) == sizeof value);
        return value;
    }
};

void check_what_is_not_shared(const Handles& h, int* large) {
    CUipcMemHandle out;
    int *managed = nullptr, *host = nullptr, *pool = nullptr, *device = nullptr;
    OK(cudaMallocManaged(&managed, 4096));
    OK(cudaMallocHost(&host, 4096));
    OK(cudaMallocAsync(&pool, 4096, nullptr));
    OK(cudaMalloc(&device, 4096));
    int on_stack = 0;
    for (void* const p : {static_cast<void*>(managed), static_cast<void*>(host),
                          static_cast<void*>(pool), static_cast<void*>(&on_stack)})
        CHECK(cuIpcGetMemHandle(&out, reinterpret_cast<CUdeviceptr>(p)) ==
              CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcGetMemHandle(&out, 0) == CUDA_ERROR_INVALID_VALUE);
    OK(cudaFree(device));
    CHECK(cuIpcGetMemHandle(&out, reinterpret_cast<CUdeviceptr>(device)) ==
          CUDA_ERROR_INVALID_VALUE);
    // Not its own, and not what is none.
    CUdeviceptr opened = 0;
    CUipcMemHandle handle;
    std::memcpy(&handle, &h.large, sizeof handle);
    CHECK(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuIpcOpenMemHandle(&opened, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    std::memset(&handle, 0, sizeof handle);
    CHECK(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_VALUE);
    std::memset(&handle, 0xab, sizeof handle);
    CHECK(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcCloseMemHandle(reinterpret_cast<CUdeviceptr>(large)) == CUDA_ERROR_INVALID_VALUE);
    int is_shared = 0;
    for (const auto& [p, expected] : {std::pair{large, 1}, {managed, 0}, {pool, 0}}) {
        DO(cuPointerGetAttribute(&is_shared, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                 reinterpret_cast<CUdeviceptr>(p)));
        CHECK(is_shared == expected);
    }
    OK(cudaFree(managed));
    OK(cudaFreeHost(host));
    OK(cudaFree(pool));
}

void check_what_is_no_event(const Handles& h) {
    cudaEvent_t plain = nullptr, opened = nullptr;
    EXPECT_ERROR(cudaEventCreateWithFlags(&plain, cudaEventInterprocess), cudaErrorInvalidValue);
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    cudaIpcEventHandle_t handle;
    EXPECT_ERROR(cudaIpcGetEventHandle(&handle, plain), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(plain));
    CUevent event = nullptr;
    CUipcEventHandle of_driver;
    std::memcpy(&of_driver, &h.event, sizeof of_driver);
    CHECK(cuIpcOpenEventHandle(&event, of_driver) == CUDA_ERROR_INVALID_CONTEXT);
    std::memset(&handle, 0, sizeof handle);
    EXPECT_ERROR(cudaIpcOpenEventHandle(&opened, handle), cudaErrorMapBufferObjectFailed);
}

// The owner adds ones, the other tens, by turns.
void own(const Pipe& out, const Pipe& in) {
    close(out.end[0]);
    close(in.end[1]);
    int *large = nullptr, *small = nullptr, *other = nullptr, *freed = nullptr;
    OK(cudaMalloc(&large, count * sizeof(int)));
    OK(cudaMalloc(&small, 5 * sizeof(int)));
    OK(cudaMalloc(&other, 1000 * sizeof(int)));
    OK(cudaMalloc(&freed, count * sizeof(int)));
    OK(cudaMemset(large, 0, count * sizeof(int)));
    OK(cudaMemset(small, 1, 5 * sizeof(int)));
    OK(cudaMemset(other, 2, 1000 * sizeof(int)));
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaEventQuery(event));
    Handles h{};
    OK(cudaIpcGetMemHandle(&h.large, large + 1000));  // of the whole, wherever it points
    OK(cudaIpcGetMemHandle(&h.small, small));
    OK(cudaIpcGetMemHandle(&h.other, other));
    OK(cudaIpcGetMemHandle(&h.freed, freed));
    OK(cudaIpcGetEventHandle(&h.event, event));
    cudaIpcMemHandle_t again;
    OK(cudaIpcGetMemHandle(&again, large));
    CHECK(std::memcmp(&again, &h.large, sizeof again) == 0);
    OK(cudaFree(freed));
    check_what_is_not_shared(h, large);
    check_what_is_no_event(h);
    out.put(h);
    for (int i = 0; i < rounds; ++i) {
        CHECK(in.take<char>() == 'r');
        add<<<count / 256, 256>>>(large, count, 1);
        OK(cudaEventRecord(event));
        out.put('o');
    }
    CHECK(in.take<char>() == 'r');
    OK(cudaEventSynchronize(event));
    std::vector<int> now(count);
    OK(cudaMemcpy(now.data(), large, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (const int x : now) CHECK(x == 11 * rounds);
    int first = 0;
    OK(cudaMemcpy(&first, small, 4, cudaMemcpyDeviceToHost));
    CHECK(first == 0x01010102);
    // What it frees the other has still.
    OK(cudaFree(large));
    out.put('f');
    CHECK(in.take<char>() == 'e');
    OK(cudaEventDestroy(event));
    OK(cudaFree(small));
}

void open(const Pipe& out, const Pipe& in) {
    close(out.end[0]);
    close(in.end[1]);
    const auto h = in.take<Handles>();
    int *large = nullptr, *twice = nullptr, *small = nullptr, *other = nullptr, *freed = nullptr;
    OK(cudaIpcOpenMemHandle((void**)&large, h.large, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void**)&twice, h.large, cudaIpcMemLazyEnablePeerAccess));
    CHECK(twice == large);
    OK(cudaIpcOpenMemHandle((void**)&small, h.small, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void**)&other, h.other, cudaIpcMemLazyEnablePeerAccess));
    if (emulated()) {  // a GPU has what a driver did not give back yet
        EXPECT_ERROR(cudaIpcOpenMemHandle((void**)&freed, h.freed, cudaIpcMemLazyEnablePeerAccess),
                     cudaErrorNotPermitted);
    }
    CUdeviceptr base = 0;
    size_t size = 0;
    DO(cuMemGetAddressRange(&base, &size, reinterpret_cast<CUdeviceptr>(small)));
    CHECK(base == reinterpret_cast<CUdeviceptr>(small) && size == 5 * sizeof(int));
    cudaPointerAttributes a{};
    OK(cudaPointerGetAttributes(&a, large));
    CHECK(a.type == cudaMemoryTypeDevice && a.device == 0);
    cudaIpcMemHandle_t handle;
    EXPECT_ERROR(cudaIpcGetMemHandle(&handle, large), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(large), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaIpcCloseMemHandle(large + 1), cudaErrorInvalidValue);
    int value = 0;
    OK(cudaMemcpy(&value, other + 999, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 0x02020202);
    add<<<1, 1>>>(small, 1, 1);
    OK(cudaDeviceSynchronize());

    cudaEvent_t event = nullptr, timed = nullptr;
    OK(cudaIpcOpenEventHandle(&event, h.event));
    CUipcEventHandle of_event;
    EXPECT_RESULT(cuIpcGetEventHandle(&of_event, event), CUDA_ERROR_INVALID_HANDLE);
    OK(cudaEventCreate(&timed));
    OK(cudaEventRecord(timed));
    float ms = 0;
    EXPECT_ERROR(cudaEventElapsedTime(&ms, timed, event), cudaErrorInvalidResourceHandle);
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < rounds; ++i) {
        out.put('r');
        CHECK(in.take<char>() == 'o');
        OK(cudaStreamWaitEvent(stream, event, 0));
        add<<<count / 256, 256, 0, stream>>>(large, count, 10);
        OK(cudaEventRecord(event, stream));
        OK(cudaEventSynchronize(event));
    }
    out.put('r');
    CHECK(in.take<char>() == 'f');
    OK(cudaMemcpy(&value, large + 77, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 11 * rounds);
    OK(cudaIpcCloseMemHandle(large));
    OK(cudaMemcpy(&value, large + 78, 4, cudaMemcpyDeviceToHost));
    OK(cudaIpcCloseMemHandle(large));
    EXPECT_ERROR(cudaIpcCloseMemHandle(large), cudaErrorInvalidValue);
    OK(cudaIpcCloseMemHandle(small));
    OK(cudaIpcCloseMemHandle(other));
    OK(cudaEventDestroy(event));
    out.put('e');
}

int main() {
    const Pipe to_other, to_owner;
    const pid_t other = fork();
    if (other == 0) {
        open(to_owner, to_other);
        return done("shared_memory");
    }
    own(to_other, to_owner);
    int status = -1;
    CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return done("shared_memory");
}
