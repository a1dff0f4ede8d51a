// SPDX-License-Identifier: Apache-2.0
// The driver API: copies and fills of every kind.
// nvcc: -lcuda
#include "driver_check.hpp"

constexpr size_t bytes = 240;

struct Bytes {
    unsigned char h[bytes];
    CUdeviceptr d = 0;
    explicit Bytes(int first) {
        for (size_t i = 0; i < bytes; ++i) h[i] = static_cast<unsigned char>(first + int(i));
        DO(cuMemAlloc(&d, bytes));
        DO(cuMemcpyHtoD(d, h, bytes));
    }
    ~Bytes() { DO(cuMemFree(d)); }
    bool is(const Bytes& other) const {
        unsigned char now[bytes];
        DO(cuMemcpyDtoH(now, d, bytes));
        return std::memcmp(now, other.h, bytes) == 0;
    }
    unsigned at(size_t i) const {
        unsigned char now[bytes];
        DO(cuMemcpyDtoH(now, d, bytes));
        return now[i];
    }
};

void lines(CUstream s) {
    const Bytes a(1);
    Bytes b(2), c(3), d(4), e(5), f(6);
    DO(cuMemcpyDtoD(b.d, a.d, bytes));
    DO(cuMemcpy(c.d, a.d, bytes));
    DO(cuMemcpyDtoDAsync(d.d, a.d, bytes, s));
    DO(cuMemcpyAsync(e.d, a.d, bytes, s));
    DO(cuMemcpyHtoDAsync(f.d, a.h, bytes, s));
    DO(cuStreamSynchronize(s));
    CHECK(b.is(a) && c.is(a) && d.is(a) && e.is(a) && f.is(a));
    unsigned char h[bytes];
    DO(cuMemcpyDtoHAsync(h, a.d, bytes, s));
    DO(cuStreamSynchronize(s));
    CHECK(std::memcmp(h, a.h, bytes) == 0);
    EXPECT_RESULT(cuMemcpyHtoD(a.d, a.h, bytes + 1000), CUDA_ERROR_INVALID_VALUE);
}

// A box of 4 by 3 bytes, 24 in a row.
template <class Copy>
void rows(Copy copy) {
    const Bytes from(1);
    Bytes to(100);
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = from.d;
    c.dstDevice = to.d;
    c.srcPitch = c.dstPitch = 24;
    c.srcXInBytes = 2;
    c.srcY = 1;
    c.dstXInBytes = 3;
    c.dstY = 2;
    c.WidthInBytes = 4;
    c.Height = 3;
    copy(&c);
    for (size_t y = 0; y < 3; ++y)
        for (size_t x = 0; x < 4; ++x)
            CHECK(to.at((y + 2) * 24 + x + 3) == from.h[(y + 1) * 24 + x + 2]);
    CHECK(to.at(2 * 24 + 2) == to.h[2 * 24 + 2] && to.at(2 * 24 + 7) == to.h[2 * 24 + 7]);
}

// Two slices of 3 rows of 4 bytes.
template <class Copy>
void boxes(Copy copy) {
    const Bytes from(1);
    Bytes to(100);
    CUDA_MEMCPY3D c{};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = from.h;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = to.d;
    c.srcPitch = c.dstPitch = 20;
    c.srcHeight = 5;
    c.dstHeight = 6;
    c.WidthInBytes = 4;
    c.Height = 3;
    c.Depth = 2;
    copy(&c);
    for (size_t z = 0; z < 2; ++z)
        for (size_t y = 0; y < 3; ++y)
            CHECK(to.at((z * 6 + y) * 20 + 3) == from.h[(z * 5 + y) * 20 + 3]);
    CHECK(to.at(4) == to.h[4]);
}

// The same between contexts, which here are one.
template <class Copy>
void boxes_between_contexts(Copy copy) {
    const Bytes from(1);
    Bytes to(100);
    CUDA_MEMCPY3D_PEER c{};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    DO(cuCtxGetCurrent(&c.srcContext));
    c.dstContext = c.srcContext;
    c.srcDevice = from.d;
    c.dstDevice = to.d;
    c.srcPitch = c.dstPitch = 20;
    c.srcHeight = 5;
    c.dstHeight = 6;
    c.WidthInBytes = 4;
    c.Height = 3;
    c.Depth = 2;
    copy(&c);
    for (size_t z = 0; z < 2; ++z)
        for (size_t y = 0; y < 3; ++y)
            CHECK(to.at((z * 6 + y) * 20 + 3) == from.h[(z * 5 + y) * 20 + 3]);
    CHECK(to.at(4) == to.h[4]);
}

void fills(CUstream s) {
    Bytes x(0);
    DO(cuMemsetD8(x.d, 7, 10));
    DO(cuMemsetD16(x.d + 10, 0x0102, 2));
    DO(cuMemsetD32(x.d + 16, 0x01020304, 1));
    CHECK(x.at(9) == 7 && x.at(10) == 2 && x.at(13) == 1 && x.at(14) == 14 && x.at(16) == 4);
    DO(cuMemsetD8Async(x.d + 20, 8, 3, s));
    DO(cuMemsetD16Async(x.d + 24, 0x0909, 1, s));
    DO(cuMemsetD32Async(x.d + 28, 0x0a0a0a0a, 1, s));
    DO(cuStreamSynchronize(s));
    CHECK(x.at(22) == 8 && x.at(23) == 23 && x.at(25) == 9 && x.at(31) == 10 && x.at(32) == 32);
    DO(cuMemsetD2D8(x.d, 16, 1, 2, 3));
    DO(cuMemsetD2D16(x.d + 4, 16, 0x0202, 2, 3));
    DO(cuMemsetD2D32(x.d + 8, 16, 0x03030303, 1, 3));
    CHECK(x.at(33) == 1 && x.at(34) == 34 && x.at(39) == 2 && x.at(43) == 3 && x.at(44) == 44);
    DO(cuMemsetD2D8Async(x.d + 64, 16, 4, 2, 2, s));
    DO(cuMemsetD2D16Async(x.d + 68, 16, 0x0505, 1, 2, s));
    DO(cuMemsetD2D32Async(x.d + 72, 16, 0x06060606, 1, 2, s));
    DO(cuStreamSynchronize(s));
    CHECK(x.at(81) == 4 && x.at(82) == 82 && x.at(85) == 5 && x.at(91) == 6);
    EXPECT_RESULT(cuMemsetD32(x.d + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

// Several copies by one call.
void batch(CUstream s) {
#if CUDA_VERSION >= 13000
    CUdeviceptr d = 0;
    DO(cuMemAlloc(&d, 8));
    unsigned a = 1, b = 2, h[2] = {};
    CUdeviceptr to[2] = {d, d + 4};
    CUdeviceptr from[2] = {reinterpret_cast<CUdeviceptr>(&a), reinterpret_cast<CUdeviceptr>(&b)};
    size_t sizes[2] = {4, 4}, first = 0;
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    DO(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, s));
    DO(cuStreamSynchronize(s));
    DO(cuMemcpyDtoH(h, d, 8));
    CHECK(h[0] == 1 && h[1] == 2);
    DO(cuMemFree(d));
#endif
}

int main() {
    const World world;
    CUstream s = nullptr;
    DO(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    lines(s);
    rows([](const CUDA_MEMCPY2D* c) { DO(cuMemcpy2D(c)); });
    rows([](const CUDA_MEMCPY2D* c) { DO(cuMemcpy2DUnaligned(c)); });
    rows([&](const CUDA_MEMCPY2D* c) {
        DO(cuMemcpy2DAsync(c, s));
        DO(cuStreamSynchronize(s));
    });
    boxes([](const CUDA_MEMCPY3D* c) { DO(cuMemcpy3D(c)); });
    boxes([&](const CUDA_MEMCPY3D* c) {
        DO(cuMemcpy3DAsync(c, s));
        DO(cuStreamSynchronize(s));
    });
    boxes_between_contexts([](const CUDA_MEMCPY3D_PEER* c) { DO(cuMemcpy3DPeer(c)); });
    boxes_between_contexts([&](const CUDA_MEMCPY3D_PEER* c) {
        DO(cuMemcpy3DPeerAsync(c, s));
        DO(cuStreamSynchronize(s));
    });
    fills(s);
    batch(s);
    DO(cuStreamDestroy(s));
    return done("driver_copies");
}
