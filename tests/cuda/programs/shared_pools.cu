// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcuda
// A pool of another process, and what was allocated from it.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "driver_check.hpp"

constexpr int count = 1 << 16;

struct Exported {
    cudaMemPoolPtrExportData large, small;
};

__global__ void add(int* x, int n, int by) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] += by;
}

// A message of one byte, and room for a file beside it.
struct FileMessage {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr message{};
    FileMessage() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
    }
    FileMessage(const FileMessage&) = delete;
};

void send_file(int to, int file) {
    FileMessage m;
    cmsghdr* const header = CMSG_FIRSTHDR(&m.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
    CHECK(sendmsg(to, &m.message, 0) == 1);
}

int take_file(int from) {
    FileMessage m;
    CHECK(recvmsg(from, &m.message, 0) == 1 && CMSG_FIRSTHDR(&m.message) != nullptr);
    int file = -1;
    std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&m.message)), sizeof file);
    return file;
}

cudaMemPool_t make_pool(cudaMemAllocationHandleType type) {
    cudaMemPoolProps p{};
    p.allocType = cudaMemAllocationTypePinned;
    p.handleTypes = type;
    p.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    OK(cudaMemPoolCreate(&pool, &p));
    return pool;
}

void own(int other) {
    int types = 0;
    OK(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    CHECK((types & cudaMemHandleTypePosixFileDescriptor) != 0);
    const cudaMemPool_t pool = make_pool(cudaMemHandleTypePosixFileDescriptor);
    const cudaMemPool_t alone = make_pool(cudaMemHandleTypeNone);
    cudaMemPool_t usual = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&usual, 0));
    constexpr auto as_file = cudaMemHandleTypePosixFileDescriptor;
    int file = -1;
    EXPECT_ERROR(cudaMemPoolExportToShareableHandle(&file, alone, as_file, 0),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemPoolExportToShareableHandle(&file, usual, as_file, 0),
                 cudaErrorInvalidValue);
    EXPECT_RESULT(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_NONE, 0),
                  CUDA_ERROR_INVALID_VALUE);
    OK(cudaMemPoolExportToShareableHandle(&file, pool, as_file, 0));

    int *large = nullptr, *small = nullptr, *of_other_pool = nullptr, *of_none = nullptr;
    OK(cudaMallocFromPoolAsync(&large, count * sizeof(int), pool, nullptr));
    OK(cudaMallocFromPoolAsync(&small, 5 * sizeof(int), pool, nullptr));
    OK(cudaMallocFromPoolAsync(&of_other_pool, 4096, alone, nullptr));
    OK(cudaMalloc(&of_none, 4096));
    OK(cudaMemset(large, 0, count * sizeof(int)));
    OK(cudaMemset(small, 1, 5 * sizeof(int)));
    Exported e{};
    cudaMemPoolPtrExportData none{};
    OK(cudaMemPoolExportPointer(&e.large, large));
    OK(cudaMemPoolExportPointer(&e.small, small));
    for (int* const p : {large + 1, of_other_pool, of_none})
        EXPECT_ERROR(cudaMemPoolExportPointer(&none, p), cudaErrorInvalidValue);
    CUipcMemHandle handle;
    EXPECT_RESULT(cuIpcGetMemHandle(&handle, reinterpret_cast<CUdeviceptr>(large)),
                  CUDA_ERROR_INVALID_VALUE);
    unsigned long long allowed = 0;
    DO(cuPointerGetAttribute(&allowed, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                             reinterpret_cast<CUdeviceptr>(large)));
    CHECK(allowed == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    void* context = large;
    DO(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                             reinterpret_cast<CUdeviceptr>(large)));
    CHECK(context == nullptr);
    // Its own process may import it as well, at another address.
    cudaMemPool_t imported = nullptr;
    int* again = nullptr;
    OK(cudaMemPoolImportFromShareableHandle(
        &imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)), as_file, 0));
    CUdeviceptr not_imported = 0;
    CUmemPoolPtrExportData of_large;
    DO(cuMemPoolExportPointer(&of_large, reinterpret_cast<CUdeviceptr>(large)));
    EXPECT_RESULT(cuMemPoolImportPointer(&not_imported, pool, &of_large), CUDA_ERROR_INVALID_VALUE);
    OK(cudaMemPoolImportPointer((void**)&again, imported, &e.large));
    CHECK(again != large);

    add<<<count / 256, 256>>>(large, count, 1);
    OK(cudaDeviceSynchronize());
    send_file(other, file);
    CHECK(write(other, &e, sizeof e) == sizeof e);
    char byte = 0;
    CHECK(read(other, &byte, 1) == 1);
    int now = 0;
    OK(cudaMemcpy(&now, large + count - 1, 4, cudaMemcpyDeviceToHost));
    CHECK(now == 11);
    OK(cudaMemcpy(&now, again + 1, 4, cudaMemcpyDeviceToHost));
    CHECK(now == 11);
    OK(cudaFreeAsync(again, nullptr));
    OK(cudaFreeAsync(large, nullptr));
    OK(cudaFreeAsync(small, nullptr));
    OK(cudaFreeAsync(of_other_pool, nullptr));
    OK(cudaFree(of_none));
    OK(cudaStreamSynchronize(nullptr));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemPoolDestroy(alone));
    CHECK(write(other, &byte, 1) == 1);
}

void import(int owner) {
    const int file = take_file(owner);
    Exported e{};
    CHECK(read(owner, &e, sizeof e) == sizeof e);
    constexpr auto as_file = cudaMemHandleTypePosixFileDescriptor;
    cudaMemPool_t pool = nullptr, same = nullptr;
    OK(cudaFree(nullptr));  // initializes the driver
    const int no_pool = open("/dev/null", O_RDONLY);
    for (const int f : {no_pool, -1})
        EXPECT_RESULT(cuMemPoolImportFromShareableHandle(
                          &pool, reinterpret_cast<void*>(static_cast<intptr_t>(f)),
                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                      CUDA_ERROR_UNKNOWN);
    for (cudaMemPool_t* const p : {&pool, &same})
        OK(cudaMemPoolImportFromShareableHandle(
            p, reinterpret_cast<void*>(static_cast<intptr_t>(file)), as_file, 0));
    CHECK(pool == same);

    // It gives no memory itself.
    int* x = nullptr;
    uint64_t used = 0;
    int other_file = -1;
    EXPECT_ERROR(cudaMallocFromPoolAsync(&x, 4096, pool, nullptr), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaDeviceSetMemPool(0, pool), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &used),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemPoolExportToShareableHandle(&other_file, pool, as_file, 0),
                 cudaErrorInvalidValue);
    cudaMemLocation here{};
    here.type = cudaMemLocationTypeDevice;
    cudaMemAccessFlags access{};
    OK(cudaMemPoolGetAccess(&access, pool, &here));
    CHECK(access == cudaMemAccessFlagsProtReadWrite);

    int *large = nullptr, *small = nullptr;
    cudaMemPoolPtrExportData none{};
    EXPECT_ERROR(cudaMemPoolImportPointer((void**)&x, pool, &none), cudaErrorInvalidValue);
    OK(cudaMemPoolImportPointer((void**)&large, pool, &e.large));
    OK(cudaMemPoolImportPointer((void**)&small, pool, &e.small));
    OK(cudaMemPoolImportPointer((void**)&x, pool, &e.large));
    CHECK(x == large);
    EXPECT_ERROR(cudaMemPoolExportPointer(&none, large), cudaErrorInvalidValue);
    CUmemoryPool of_pointer = nullptr;
    DO(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                             reinterpret_cast<CUdeviceptr>(large)));
    CHECK(of_pointer != nullptr);
    int value = 0;
    OK(cudaMemcpy(&value, small + 4, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 0x01010101);
    add<<<count / 256, 256>>>(large, count, 10);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(small));
    EXPECT_ERROR(cudaFreeAsync(small, nullptr), cudaErrorInvalidValue);
    char byte = 'i';
    CHECK(write(owner, &byte, 1) == 1);
    CHECK(read(owner, &byte, 1) == 1);
    OK(cudaMemcpy(&value, large + 7, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 11);
    OK(cudaFreeAsync(large, nullptr));
    OK(cudaStreamSynchronize(nullptr));
}

int main() {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    const pid_t other = fork();
    close(ends[other == 0 ? 0 : 1]);
    if (other == 0) {
        import(ends[1]);
        return done("shared_pools");
    }
    own(ends[0]);
    int status = -1;
    CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return done("shared_pools");
}
