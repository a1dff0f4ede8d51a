// SPDX-License-Identifier: Apache-2.0
// Textures of arrays, of rows and of linear memory: address modes, filters, normalized coordinates
// and reading integers as floats. Filtered values lie where weights and sums have no rounding.
// nvcc: -Wno-deprecated-declarations
#include <cstring>
#include <vector>

#include "check.hpp"

constexpr int width = 8, height = 4, depth = 3;

// A thread's lookup each, at (x, y, z).
struct Place {
    float x, y, z;
};
enum Shape { line, plane, box, lines, planes, cube, cubes, element };

template <class T>
__global__ void look(cudaTextureObject_t t, Shape shape, const Place* at, T* out) {
    const Place p = at[threadIdx.x];
    T& d = out[threadIdx.x];
    const int layer = int(p.z);
    if (shape == line) d = tex1D<T>(t, p.x);
    if (shape == plane) d = tex2D<T>(t, p.x, p.y);
    if (shape == box) d = tex3D<T>(t, p.x, p.y, p.z);
    if (shape == lines) d = tex1DLayered<T>(t, p.x, layer);
    if (shape == planes) d = tex2DLayered<T>(t, p.x, p.y, layer);
    if (shape == cube) d = texCubemap<T>(t, p.x, p.y, p.z);
    if (shape == cubes) d = texCubemapLayered<T>(t, p.x, p.y, p.z, 1);
    if (shape == element) d = tex1Dfetch<T>(t, int(p.x));
}

template <class T>
std::vector<T> looked(cudaTextureObject_t t, Shape shape, const std::vector<Place>& at) {
    Place* places = nullptr;
    T* d = nullptr;
    OK(cudaMalloc(&places, at.size() * sizeof(Place)));
    OK(cudaMalloc(&d, at.size() * sizeof(T)));
    OK(cudaMemcpy(places, at.data(), at.size() * sizeof(Place), cudaMemcpyHostToDevice));
    look<T><<<1, unsigned(at.size())>>>(t, shape, places, d);
    std::vector<T> out(at.size());
    OK(cudaMemcpy(out.data(), d, at.size() * sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaFree(places));
    OK(cudaFree(d));
    return out;
}

__global__ void ask(cudaTextureObject_t t, cudaSurfaceObject_t s, unsigned* out) {
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("txq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
    if (s == 0) return;
    asm("suq.width.b32 %0, [%1];" : "=r"(out[3]) : "l"(s));
    asm("suq.height.b32 %0, [%1];" : "=r"(out[4]) : "l"(s));
    asm("suq.depth.b32 %0, [%1];" : "=r"(out[5]) : "l"(s));
}

// What a kernel is told of the sizes of a texture, and of a surface of the same array.
std::vector<unsigned> asked(cudaTextureObject_t t, cudaSurfaceObject_t s = 0) {
    std::vector<unsigned> out(s == 0 ? 3 : 6);
    unsigned* d = nullptr;
    OK(cudaMalloc(&d, 6 * sizeof(unsigned)));
    ask<<<1, 1>>>(t, s, d);
    OK(cudaMemcpy(out.data(), d, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    OK(cudaFree(d));
    return out;
}

cudaTextureObject_t object(const cudaResourceDesc& r, cudaTextureAddressMode mode,
                           cudaTextureFilterMode filter, bool normalized,
                           cudaTextureReadMode read = cudaReadModeElementType) {
    cudaTextureDesc d{};
    for (auto& m : d.addressMode) m = mode;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    d.borderColor[0] = 7;
    cudaTextureObject_t out = 0;
    OK(cudaCreateTextureObject(&out, &r, &d, nullptr));
    cudaTextureDesc said{};
    OK(cudaGetTextureObjectTextureDesc(&said, out));
    CHECK(said.addressMode[0] == mode && said.filterMode == filter && said.readMode == read &&
          said.normalizedCoords == int(normalized));
    cudaResourceDesc resource{};
    OK(cudaGetTextureObjectResourceDesc(&resource, out));
    CHECK(resource.resType == r.resType && resource.res.array.array == r.res.array.array);
    return out;
}

cudaResourceDesc of(cudaArray_t array) {
    cudaResourceDesc r{};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    return r;
}

float value(int x, int y = 0, int z = 0) { return float(x + 16 * y + 256 * z); }

std::vector<float> values(int w, int h, int d) {
    std::vector<float> out;
    for (int z = 0; z < d; ++z)
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) out.push_back(value(x, y, z));
    return out;
}

cudaArray_t filled(cudaExtent e, unsigned flags) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    OK(cudaMalloc3DArray(&array, &format, e, flags));
    const size_t h = e.height == 0 ? 1 : e.height, d = e.depth == 0 ? 1 : e.depth;
    std::vector<float> in = values(int(e.width), int(h), int(d));
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(in.data(), e.width * sizeof(float), e.width, h);
    p.dstArray = array;
    p.extent = make_cudaExtent(e.width, h, d);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    return array;
}

using Numbers = std::vector<float>;

void planes_of_an_array(cudaStream_t stream) {
    const cudaChannelFormatDesc format =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array = nullptr;
    OK(cudaMallocArray(&array, &format, width, height));
    Numbers in = values(width, height, 1), back(in.size());
    const size_t row = width * sizeof(float);
    OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArrayAsync(back.data(), row, array, 0, 0, row, height,
                                  cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back == in);
    cudaChannelFormatDesc said{};
    cudaExtent extent{};
    unsigned flags = 9;
    OK(cudaArrayGetInfo(&said, &extent, &flags, array));
    CHECK(said.x == 32 && said.y == 0 && said.f == cudaChannelFormatKindFloat);
    CHECK(extent.width == width && extent.height == height && extent.depth == 0 && flags == 0);
    OK(cudaGetChannelDesc(&said, array));
    CHECK(said.x == 32 && said.w == 0);

    const auto point = cudaFilterModePoint, linear = cudaFilterModeLinear;
    const cudaResourceDesc r = of(array);
    cudaTextureObject_t t = object(r, cudaAddressModeClamp, point, false);
    CHECK((looked<float>(t, plane, {{0, 0}, {2.5f, 1.5f}, {-3, 2}, {100, 100}, {7.99f, 3.99f}}) ==
           Numbers{0, value(2, 1), value(0, 2), value(7, 3), value(7, 3)}));
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeBorder, point, false);
    CHECK((looked<float>(t, plane, {{-0.5f, 0}, {3, 3.5f}, {8, 0}, {0, 4}}) ==
           Numbers{7, value(3, 3), 7, 7}));
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeWrap, point, true);
    CHECK((looked<float>(t, plane, {{0.25f, 0.5f}, {1.25f, -0.5f}, {-0.0625f, 0}, {9, 3.75f}}) ==
           Numbers{value(2, 2), value(2, 2), value(7, 0), value(0, 3)}));
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeMirror, point, true);
    CHECK((looked<float>(t, plane, {{1.0625f, 0}, {-0.0625f, 0}, {1.5625f, 1.125f}, {2.25f, 0}}) ==
           Numbers{value(7), value(0), value(3, 3), value(2)}));
    OK(cudaDestroyTextureObject(t));
    // Between the centres of elements, which lie at halves.
    t = object(r, cudaAddressModeClamp, linear, false);
    CHECK((looked<float>(t, plane, {{2.5f, 1.5f}, {3, 1.5f}, {2.75f, 2}, {0, 0}, {50, 1.5f}}) ==
           Numbers{value(2, 1), 18.5f, 26.25f, 0, value(7, 1)}));
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeWrap, linear, true);
    CHECK((looked<float>(t, plane, {{0, 0.125f}, {1, 1.125f}}) == Numbers{3.5f, 3.5f}));
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeBorder, linear, false);
    CHECK((looked<float>(t, plane, {{0, 0.5f}, {8, 0.5f}}) == Numbers{3.5f, 7}));
    OK(cudaDestroyTextureObject(t));

    // Integers are not filtered.
    const cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>();
    cudaArray_t integers = nullptr;
    OK(cudaMallocArray(&integers, &whole, width, height));
    const cudaResourceDesc of_integers = of(integers);
    cudaTextureDesc filtered{};
    filtered.filterMode = linear;
    EXPECT_ERROR(cudaCreateTextureObject(&t, &of_integers, &filtered, nullptr),
                 cudaErrorInvalidFilterSetting);
    OK(cudaFreeArray(integers));

    // Parts of it, and another array.
    cudaArray_t other = nullptr;
    OK(cudaMallocArray(&other, &format, width, height));
    OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, row, height, cudaMemcpyDeviceToDevice));
    const Numbers two{100, 101};
    OK(cudaMemcpy2DToArrayAsync(other, 4, 1, two.data(), 4, 4, 2, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpy2DFromArray(back.data(), row, other, 0, 0, row, height, cudaMemcpyDefault));
    CHECK(back[9] == 100 && back[17] == 101 && back[8] == in[8] && back[31] == in[31]);
    EXPECT_ERROR(cudaMemcpy2DToArray(other, 4, 0, in.data(), row, row, 1, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    OK(cudaFreeArray(other));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(nullptr));
}

void bytes_of_arrays(cudaStream_t stream) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t a = nullptr, b = nullptr;
    OK(cudaMallocArray(&a, &format, width, 2));
    OK(cudaMallocArray(&b, &format, width, 2));
    const size_t all = 2 * width * sizeof(float);
    const Numbers in = values(width, 2, 1);
    Numbers back(in.size());
    OK(cudaMemcpyToArray(a, 0, 0, in.data(), all, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArrayAsync(b, 0, 0, in.data(), 4, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpyArrayToArray(b, 0, 0, a, 0, 0, all, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(back.data(), b, 0, 0, all, cudaMemcpyDeviceToHost));
    CHECK(back == in);
    OK(cudaMemcpyFromArrayAsync(back.data(), b, 8, 1, 8, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == value(2, 1) && back[1] == value(3, 1) && back[2] == value(2));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

void shapes() {
    cudaArray_t array = filled(make_cudaExtent(width, height, depth), cudaArrayDefault);
    cudaTextureObject_t t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
    CHECK((looked<float>(t, box, {{1, 2, 1}, {7.5f, 3.5f, 2.5f}, {-1, -1, 9}}) ==
           Numbers{value(1, 2, 1), value(7, 3, 2), value(0, 0, 2)}));
    OK(cudaDestroyTextureObject(t));
    t = object(of(array), cudaAddressModeClamp, cudaFilterModeLinear, false);
    CHECK((looked<float>(t, box, {{1.5f, 2.5f, 1.5f}, {1.5f, 2.5f, 2}, {2, 3, 1}}) ==
           Numbers{value(1, 2, 1), value(1, 2, 1) + 128, 1.5f + 40 + 128}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));

    array = filled(make_cudaExtent(width, 0, depth), cudaArrayLayered);
    t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
    CHECK((looked<float>(t, lines, {{3, 0, 0}, {3, 0, 2}, {9, 0, 1}}) ==
           Numbers{value(3), value(3, 0, 2), value(7, 0, 1)}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));

    array = filled(make_cudaExtent(width, height, depth), cudaArrayLayered);
    t = object(of(array), cudaAddressModeWrap, cudaFilterModePoint, true);
    CHECK((looked<float>(t, planes, {{0.5f, 0.25f, 2}, {1.5f, 0.25f, 0}}) ==
           Numbers{value(4, 1, 2), value(4, 1)}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));

    // The middle of each face: between the four elements there, for which it is no tie.
    array = filled(make_cudaExtent(5, 5, 6), cudaArrayCubemap);
    t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, true);
    CHECK((looked<float>(t, cube,
                         {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}) ==
           Numbers{value(2, 2), value(2, 2, 1), value(2, 2, 2), value(2, 2, 3), value(2, 2, 4),
                   value(2, 2, 5)}));
    // Of +x, s is -z and t is -y.
    CHECK((looked<float>(t, cube, {{1, 0.9f, 0.9f}, {1, -0.9f, 0.9f}, {0.5f, 1, -0.9f}}) ==
           Numbers{value(0, 0), value(0, 4), value(3, 0, 2)}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));

    array = filled(make_cudaExtent(3, 3, 12), cudaArrayCubemap | cudaArrayLayered);
    t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, true);
    CHECK((looked<float>(t, cubes, {{1, 0, 0}, {0, 0, -1}}) ==
           Numbers{value(1, 1, 6), value(1, 1, 11)}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
}

void sizes() {
    using Sizes = std::vector<unsigned>;
    struct Row {
        cudaExtent extent;
        unsigned flags;
        Sizes sizes;
    };
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    for (const Row& row : {
             Row{{17, 0, 0}, 0, {17, 1, 0, 17, 0, 0}},
             Row{{17, 9, 0}, 0, {17, 9, 0, 17, 9, 0}},
             Row{{17, 9, 5}, 0, {17, 9, 5, 17, 9, 5}},
             Row{{17, 0, 6}, cudaArrayLayered, {17, 6, 0, 17, 6, 0}},
             Row{{17, 9, 6}, cudaArrayLayered, {17, 9, 6, 17, 9, 6}},
             Row{{12, 12, 6}, cudaArrayCubemap, {12, 12, 0, 12, 12, 6}},
             Row{{12, 12, 12}, cudaArrayCubemap | cudaArrayLayered, {12, 12, 2, 12, 12, 12}},
         }) {
        cudaArray_t array = nullptr;
        OK(cudaMalloc3DArray(&array, &format, row.extent, row.flags | cudaArraySurfaceLoadStore));
        const cudaResourceDesc r = of(array);
        cudaTextureObject_t t = object(r, cudaAddressModeClamp, cudaFilterModePoint, false);
        cudaSurfaceObject_t s = 0;
        OK(cudaCreateSurfaceObject(&s, &r));
        CHECK(asked(t, s) == row.sizes);
        OK(cudaDestroySurfaceObject(s));
        OK(cudaDestroyTextureObject(t));
        OK(cudaFreeArray(array));
    }
}

void memory() {
    float* d = nullptr;
    OK(cudaMalloc(&d, width * sizeof(float)));
    const Numbers in = values(width, 1, 1);
    OK(cudaMemcpy(d, in.data(), width * sizeof(float), cudaMemcpyHostToDevice));
    cudaResourceDesc r{};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = d;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = width * sizeof(float);
    cudaTextureObject_t t = object(r, cudaAddressModeClamp, cudaFilterModePoint, false);
    CHECK((looked<float>(t, element, {{0}, {5}, {7}, {8}, {-1}}) == Numbers{0, 5, 7, 0, 0}));
    CHECK((asked(t) == std::vector<unsigned>{width, 0, 0}));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(d));

    unsigned char* rows = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&rows, &pitch, width * 4, height));
    std::vector<unsigned char> colours(width * height * 4);
    for (size_t i = 0; i < colours.size(); ++i) colours[i] = static_cast<unsigned char>(2 * i);
    colours[4] = 255;
    OK(cudaMemcpy2D(rows, pitch, colours.data(), width * 4, width * 4, height,
                    cudaMemcpyHostToDevice));
    r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = rows;
    r.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    r.res.pitch2D.width = width;
    r.res.pitch2D.height = height;
    r.res.pitch2D.pitchInBytes = pitch;
    t = object(r, cudaAddressModeClamp, cudaFilterModePoint, false);
    CHECK((asked(t) == std::vector<unsigned>{width, height, 0}));
    const auto c = looked<uchar4>(t, plane, {{1, 0}, {3, 2}, {99, 99}});
    CHECK(c[0].x == 255 && c[0].y == 10 && c[1].x == 4 * 2 * (8 * 2 + 3) % 256);
    CHECK(c[2].w == colours.back());
    OK(cudaDestroyTextureObject(t));
    t = object(r, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
    const auto f = looked<float4>(t, plane, {{1, 0}, {0, 0}});
    CHECK(f[0].x == 1 && f[1].x == 0 && f[0].y > 10.0f / 255 - 1e-6f &&
          f[0].y < 10.0f / 255 + 1e-6f);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(rows));

    const cudaChannelFormatDesc format = cudaCreateChannelDesc<short2>();
    const short numbers[] = {-32768, 32767, -1, 16384};
    cudaArray_t array = nullptr;
    OK(cudaMallocArray(&array, &format, 2, 0));
    OK(cudaMemcpyToArray(array, 0, 0, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
    const auto whole = looked<short2>(t, line, {{0}, {1}});
    CHECK(whole[0].x == -32768 && whole[0].y == 32767 && whole[1].x == -1 && whole[1].y == 16384);
    OK(cudaDestroyTextureObject(t));
    t = object(of(array), cudaAddressModeClamp, cudaFilterModePoint, false,
               cudaReadModeNormalizedFloat);
    const auto part = looked<float2>(t, line, {{0}, {1}});
    CHECK(part[0].x == -1 && part[0].y == 1 && part[1].x < 0 && part[1].y > 0.5f);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
}

__global__ void gather(cudaTextureObject_t t, float x, float y, float4* out) {
    out[0] = tex2Dgather<float4>(t, x, y, 0);
    out[1] = tex2Dgather<float4>(t, x, y, 1);
}

// The four elements that a filter would weigh, from below on the left counter-clockwise.
void gathered() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
    std::vector<float> both(width * height * 2);
    for (size_t i = 0; i < both.size(); ++i) both[i] = static_cast<float>(i);
    float4* out = nullptr;
    OK(cudaMallocManaged(&out, 2 * sizeof *out));
    for (const bool is_for_it : {true, false}) {
        cudaArray_t array = nullptr;
        OK(cudaMallocArray(&array, &format, width, height,
                           is_for_it ? cudaArrayTextureGather : cudaArrayDefault));
        OK(cudaMemcpy2DToArray(array, 0, 0, both.data(), width * 8, width * 8, height,
                               cudaMemcpyHostToDevice));
        const cudaTextureObject_t t =
            object(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
        gather<<<1, 1>>>(t, 3.0f, 2.0f, out);
        OK(cudaDeviceSynchronize());
        const auto at = [&](unsigned x, unsigned y) {
            return static_cast<float>((y * width + x) * 2);
        };
        CHECK(out[0].x == at(2, 2) && out[0].y == at(3, 2) && out[0].z == at(3, 1) &&
              out[0].w == at(2, 1));
        CHECK(out[1].x == at(2, 2) + 1 && out[1].w == at(2, 1) + 1);
        OK(cudaDestroyTextureObject(t));
        OK(cudaFreeArray(array));
    }
    OK(cudaFree(out));
}

int main() {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    planes_of_an_array(stream);
    bytes_of_arrays(stream);
    shapes();
    sizes();
    memory();
    gathered();
    OK(cudaStreamDestroy(stream));
    return done("textures");
}
