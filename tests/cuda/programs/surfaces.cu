// SPDX-License-Identifier: Apache-2.0
// Surfaces: reads and writes of every size, in one to three dimensions and in layers, and what lies
// outside.
#include <vector>

#include "check.hpp"

constexpr int width = 8, height = 4, depth = 3;

__global__ void fill(cudaSurfaceObject_t s) {
    const int x = int(threadIdx.x), y = int(threadIdx.y), z = int(blockIdx.x);
    surf3Dwrite(x + 10 * y + 100 * z, s, x * 4, y, z);
}

__global__ void fill_layers(cudaSurfaceObject_t planes, cudaSurfaceObject_t lines) {
    const int x = int(threadIdx.x), y = int(threadIdx.y), layer = int(blockIdx.x);
    surf2DLayeredwrite(x + 10 * y + 100 * layer, planes, x * 4, y, layer);
    if (y == 0) surf1DLayeredwrite(x + 1000 * layer, lines, x * 4, layer);
}

// What it reads there, of each size, goes to the place next to it.
__global__ void copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    const int y = int(threadIdx.x);
    surf2Dwrite(surf2Dread<unsigned char>(from, 0, y), to, 1, y);
    surf2Dwrite(surf2Dread<short>(from, 2, y), to, 4, y);
    surf2Dwrite(surf2Dread<uint2>(from, 8, y), to, 16, y);
    surf2Dwrite(surf2Dread<uchar4>(from, 4, y), to, 8, y);
    surf2Dwrite(surf2Dread<long long>(from, 16, y), to, 24, y);
}

__global__ void outside(cudaSurfaceObject_t s, cudaSurfaceObject_t l, int* out) {
    out[0] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeZero);
    out[1] = surf2Dread<int>(s, 4 * width, 1, cudaBoundaryModeZero);
    out[2] = surf2Dread<int>(s, 4, height, cudaBoundaryModeZero);
    out[3] = surf2Dread<int>(s, 400, 1, cudaBoundaryModeClamp);
    out[4] = surf2Dread<int>(s, -8, 100, cudaBoundaryModeClamp);
    surf2Dwrite(99, s, 4 * width, 0, cudaBoundaryModeZero);
    surf2Dwrite(77, s, 4 * width, 0, cudaBoundaryModeClamp);
    surf1Dwrite(5, l, 8);
    out[5] = surf1Dread<int>(l, 8);
    out[6] = surf1Dread<int>(l, 4, cudaBoundaryModeZero);
}

__global__ void trap_outside(cudaSurfaceObject_t s) { surf2Dwrite(1, s, 4 * width, 0); }

struct Surface {
    cudaArray_t array = nullptr;
    cudaSurfaceObject_t object = 0;
    cudaExtent extent{};
    Surface(cudaExtent e, unsigned flags = 0) : extent(e) {
        const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
        OK(cudaMalloc3DArray(&array, &format, e, flags | cudaArraySurfaceLoadStore));
        cudaResourceDesc r{};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = array;
        OK(cudaCreateSurfaceObject(&object, &r));
        cudaResourceDesc said{};
        OK(cudaGetSurfaceObjectResourceDesc(&said, object));
        CHECK(said.resType == cudaResourceTypeArray && said.res.array.array == array);
        set(std::vector<int>(count()));
    }
    ~Surface() {
        OK(cudaDestroySurfaceObject(object));
        OK(cudaFreeArray(array));
    }
    size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
    size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
    size_t count() const { return extent.width * rows() * slices(); }
    cudaPitchedPtr host(std::vector<int>& v) const {
        return make_cudaPitchedPtr(v.data(), extent.width * 4, extent.width, rows());
    }
    void set(std::vector<int> in) {
        cudaMemcpy3DParms p{};
        p.srcPtr = host(in);
        p.dstArray = array;
        p.extent = make_cudaExtent(extent.width, rows(), slices());
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
    }
    std::vector<int> get() const {
        std::vector<int> out(count());
        cudaMemcpy3DParms p{};
        p.srcArray = array;
        p.dstPtr = host(out);
        p.extent = make_cudaExtent(extent.width, rows(), slices());
        p.kind = cudaMemcpyDeviceToHost;
        OK(cudaMemcpy3D(&p));
        return out;
    }
};

// Nothing works behind it: it stays as it is.
void trapped() {
    const auto* const s = new Surface(make_cudaExtent(width, height, 0));
    trap_outside<<<1, 1>>>(s->object);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
}

int main() {
    const dim3 plane(width, height);
    {
        Surface box(make_cudaExtent(width, height, depth));
        fill<<<depth, plane>>>(box.object);
        const std::vector<int> all = box.get();
        for (int i = 0; i < width * height * depth; ++i)
            CHECK(all[size_t(i)] ==
                  i % width + 10 * (i / width % height) + 100 * (i / width / height));
        // A part of it, to a place of its own.
        Surface other(make_cudaExtent(width, height, depth));
        cudaMemcpy3DParms p{};
        p.srcArray = box.array;
        p.srcPos = make_cudaPos(1, 2, 1);
        p.dstArray = other.array;
        p.dstPos = make_cudaPos(0, 1, 0);
        p.extent = make_cudaExtent(2, 2, 2);
        p.kind = cudaMemcpyDeviceToDevice;
        OK(cudaMemcpy3D(&p));
        const std::vector<int> part = other.get();
        CHECK(part[width] == 121 && part[width + 1] == 122 && part[width + 2] == 0);
        CHECK(part[width * height + 2 * width + 1] == 232 && part[0] == 0);
    }
    {
        Surface planes(make_cudaExtent(width, height, depth), cudaArrayLayered);
        Surface lines(make_cudaExtent(width, 0, depth), cudaArrayLayered);
        fill_layers<<<depth, plane>>>(planes.object, lines.object);
        const std::vector<int> p = planes.get(), l = lines.get();
        CHECK(p[0] == 0 && p[width + 3] == 13 && p[width * height * 2 + width * 3 + 7] == 237);
        CHECK(l[0] == 0 && l[7] == 7 && l[width + 2] == 1002 && l[2 * width + 5] == 2005);
    }
    {
        Surface from(make_cudaExtent(width, height, 0)), to(make_cudaExtent(width, height, 0));
        std::vector<int> in(width * height);
        for (size_t i = 0; i < in.size(); ++i) in[i] = int(0x01020304u * (i + 1));
        from.set(in);
        copy<<<1, height>>>(from.object, to.object);
        const std::vector<int> out = to.get();
        for (int y = 0; y < height; ++y) {
            const int* const a = &in[size_t(y * width)];
            const int* const b = &out[size_t(y * width)];
            CHECK(b[0] == (a[0] & 0xff) << 8 && b[1] == (a[0] >> 16 & 0xffff) && b[2] == a[1]);
            CHECK(b[4] == a[2] && b[5] == a[3] && b[6] == a[4] && b[7] == a[5] && b[3] == 0);
        }
        Surface line(make_cudaExtent(width, 0, 0));
        int* d = nullptr;
        int h[7];
        OK(cudaMalloc(&d, sizeof h));
        outside<<<1, 1>>>(from.object, line.object, d);
        OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
        CHECK(h[0] == 0 && h[1] == 0 && h[2] == 0 && h[5] == 5 && h[6] == 0);
        CHECK(h[3] == in[width + 7] && h[4] == in[width * 3]);
        const std::vector<int> now = from.get();
        CHECK(now[7] == 77 && now[8] == in[8] && line.get()[2] == 5);
        OK(cudaFree(d));
    }
    trapped();
    return done("surfaces");
}
