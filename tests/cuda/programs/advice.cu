// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcuda
// What is said of managed memory, and asked about it.
#include <algorithm>
#include <vector>

#include "driver_check.hpp"

constexpr size_t bytes = 8 << 20, part = 2 << 20;
constexpr int host = cudaCpuDeviceId, nobody = cudaInvalidDeviceId;

#if CUDART_VERSION >= 13000
cudaMemLocation place(int device) {
    cudaMemLocation l{};
    l.type = device == host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    l.id = device == host ? 0 : device;
    return l;
}
cudaError_t prefetch(void* p, size_t n, int device) {
    return cudaMemPrefetchAsync(p, n, place(device), 0, nullptr);
}
#else
int place(int device) { return device; }
cudaError_t prefetch(void* p, size_t n, int device) {
    return cudaMemPrefetchAsync(p, n, device, nullptr);
}
#endif

int asked(cudaMemRangeAttribute attribute, const void* p, size_t n) {
    int value = 77;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, p, n));
    return value;
}

std::vector<int> users(const void* p, size_t n, size_t places = 3) {
    std::vector<int> list(places, 77);
    OK(cudaMemRangeGetAttribute(list.data(), places * sizeof(int), cudaMemRangeAttributeAccessedBy,
                                p, n));
    return list;
}

void check_whole(char* m) {
    using List = std::vector<int>;
    CHECK(asked(cudaMemRangeAttributeReadMostly, m, bytes) == 0);
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseSetReadMostly, place(0)));
    CHECK(asked(cudaMemRangeAttributeReadMostly, m, bytes) == 1);
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseUnsetReadMostly, place(0)));
    CHECK(asked(cudaMemRangeAttributeReadMostly, m, bytes) == 0);

    CHECK(asked(cudaMemRangeAttributePreferredLocation, m, bytes) == nobody);
    for (const int device : {0, host}) {
        OK(cudaMemAdvise(m, bytes, cudaMemAdviseSetPreferredLocation, place(device)));
        CHECK(asked(cudaMemRangeAttributePreferredLocation, m, bytes) == device);
    }
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseUnsetPreferredLocation, place(0)));
    CHECK(asked(cudaMemRangeAttributePreferredLocation, m, bytes) == nobody);

    CHECK(users(m, bytes) == (List{nobody, nobody, nobody}));
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseSetAccessedBy, place(0)));
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseSetAccessedBy, place(host)));
    CHECK(users(m, bytes) == (List{0, host, nobody}) && users(m, bytes, 1) == List{0});
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseUnsetAccessedBy, place(0)));
    CHECK(users(m, bytes) == (List{host, nobody, nobody}));
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseUnsetAccessedBy, place(host)));
    CHECK(users(m, bytes) == (List{nobody, nobody, nobody}));

    CHECK(asked(cudaMemRangeAttributeLastPrefetchLocation, m, bytes) == nobody);
    for (const int device : {0, host}) {
        OK(prefetch(m, bytes, device));
        OK(cudaDeviceSynchronize());
        CHECK(asked(cudaMemRangeAttributeLastPrefetchLocation, m, bytes) == device);
    }
}

// Each page has what was said of a byte in it.
void check_parts(char* m) {
    OK(cudaMemAdvise(m, part, cudaMemAdviseSetReadMostly, place(0)));
    CHECK(asked(cudaMemRangeAttributeReadMostly, m, bytes) == 0);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m, part) == 1);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 5000, 1) == 1);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + part, part) == 0);
    OK(cudaMemAdvise(m + 2 * part + 100, 100, cudaMemAdviseSetReadMostly, place(0)));
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 2 * part, 4096) == 1);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 2 * part + 4096, 4096) == 0);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 2 * part - 1, 1) == 0);
    char* const across = m + 3 * part + 4000;
    OK(cudaMemAdvise(across, 97, cudaMemAdviseSetReadMostly, place(0)));
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 3 * part, 8192) == 1);
    CHECK(asked(cudaMemRangeAttributeReadMostly, m + 3 * part + 8192, 4096) == 0);
    OK(prefetch(m, part / 2, 0));
    OK(cudaDeviceSynchronize());
    CHECK(asked(cudaMemRangeAttributeLastPrefetchLocation, m, part / 2) == 0);
    CHECK(asked(cudaMemRangeAttributeLastPrefetchLocation, m, bytes) == nobody);
    CHECK(asked(cudaMemRangeAttributeLastPrefetchLocation, m + part / 2, part) == host);

    int read_mostly = 7, list[2]{7, 7};
    void* values[]{&read_mostly, list};
    size_t sizes[]{sizeof read_mostly, sizeof list};
    cudaMemRangeAttribute which[]{cudaMemRangeAttributeReadMostly, cudaMemRangeAttributeAccessedBy};
    OK(cudaMemRangeGetAttributes(values, sizes, which, 2, m, part));
    CHECK(read_mostly == 1 && list[0] == nobody && list[1] == nobody);
    read_mostly = 7;
    CUmem_range_attribute same[]{CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                 CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
    DO(cuMemRangeGetAttributes(values, sizes, same, 2, reinterpret_cast<CUdeviceptr>(m), bytes));
    CHECK(read_mostly == 0);
    EXPECT_ERROR(cudaMemRangeGetAttributes(values, sizes, which, 0, m, part),
                 cudaErrorInvalidValue);
}

void check_refused(char* m) {
    int value = 0;
    void *device = nullptr, *pinned = nullptr;
    OK(cudaMalloc(&device, 4096));
    OK(cudaMallocHost(&pinned, 4096));
    for (void* const p : {device, pinned, static_cast<void*>(&value)}) {
        EXPECT_RESULT(
            cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                   reinterpret_cast<CUdeviceptr>(p), 4),
            CUDA_ERROR_INVALID_VALUE);
        EXPECT_ERROR(cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, place(0)),
                     cudaErrorInvalidValue);
        EXPECT_ERROR(prefetch(p, 4, 0), cudaErrorInvalidValue);
    }
    const auto ask = [&](size_t size, int attribute, size_t n) {
        int values[4]{};
        return cudaMemRangeGetAttribute(values, size, cudaMemRangeAttribute(attribute), m, n);
    };
    EXPECT_ERROR(ask(4, 1, bytes + 1), cudaErrorInvalidValue);
    EXPECT_ERROR(ask(4, 1, 0), cudaErrorInvalidValue);
    for (const size_t size : {0, 3, 8}) EXPECT_ERROR(ask(size, 1, bytes), cudaErrorInvalidValue);
    for (const size_t size : {0, 2}) EXPECT_ERROR(ask(size, 3, bytes), cudaErrorInvalidValue);
    for (const int attribute : {0, 9})
        EXPECT_ERROR(ask(4, attribute, bytes), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemRangeGetAttribute(nullptr, 4, cudaMemRangeAttributeReadMostly, m, bytes),
                 cudaErrorInvalidValue);
    for (const int advice : {0, 7})
        EXPECT_ERROR(cudaMemAdvise(m, bytes, cudaMemoryAdvise(advice), place(0)),
                     cudaErrorInvalidValue);
    for (const size_t n : {size_t{0}, bytes + 1}) {
        EXPECT_ERROR(cudaMemAdvise(m, n, cudaMemAdviseSetReadMostly, place(0)),
                     cudaErrorInvalidValue);
        EXPECT_ERROR(prefetch(m, n, 0), cudaErrorInvalidValue);
    }
    // A device that is not there matters where it says anything.
    constexpr int missing = 55;
    OK(cudaMemAdvise(m, bytes, cudaMemAdviseSetReadMostly, place(missing)));
    for (const auto advice : {cudaMemAdviseSetPreferredLocation, cudaMemAdviseSetAccessedBy})
        EXPECT_ERROR(cudaMemAdvise(m, bytes, advice, place(missing)), cudaErrorInvalidValue);
    EXPECT_ERROR(prefetch(m, bytes, missing), cudaErrorInvalidDevice);
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
}

int main() {
    char* m = nullptr;
    OK(cudaMallocManaged(&m, bytes));
    check_whole(m);
    check_parts(m);
    check_refused(m);
    OK(cudaFree(m));
    return done("advice");
}
