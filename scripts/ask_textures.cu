// SPDX-License-Identifier: Apache-2.0
// Asks a GPU the questions of tests/hardware/texture_questions.hpp, and some about memory and
// objects. Prints bits, a line for each question, so that two machines, or one and `lockwarp exec`,
// are compared by diff. With --all every answer where otherwise many are told by a digest.
//   nvcc -std=c++20 -arch=sm_80 -I. scripts/ask_textures.cu tests/hardware/texture_questions.cpp \
//       -o ask_textures -lcuda; ./ask_textures
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/hardware/texture_questions.hpp"

using namespace lockwarp::hardware;

// What a thread answers.
struct Answer {
    uint32_t of[4];
};

__device__ void gather(cudaTextureObject_t t, const Place& p, uint32_t* o) {
#define LOCKWARP_GATHER(component)                                                    \
    asm volatile("tld4." component ".2d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
                 : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])                     \
                 : "l"(t), "f"(p.x), "f"(p.y))
    if (p.layer == 0) LOCKWARP_GATHER("r");
    if (p.layer == 1) LOCKWARP_GATHER("g");
    if (p.layer == 2) LOCKWARP_GATHER("b");
    if (p.layer == 3) LOCKWARP_GATHER("a");
#undef LOCKWARP_GATHER
}

__global__ void look(cudaTextureObject_t t, Shape shape, const Place* at, Answer* out,
                     size_t count) {
    const size_t n = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const Place p = at[n];
    Answer d{};
    uint32_t* const o = d.of;
    if (shape == Shape::line)
        asm volatile("tex.1d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "f"(p.x));
    if (shape == Shape::plane)
        asm volatile("tex.2d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "f"(p.x), "f"(p.y));
    if (shape == Shape::box)
        asm volatile("tex.3d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "f"(p.x), "f"(p.y), "f"(p.z));
    if (shape == Shape::planes)
        asm volatile("tex.a2d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "r"(p.layer), "f"(p.x), "f"(p.y));
    if (shape == Shape::cube)
        asm volatile("tex.cube.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "f"(p.x), "f"(p.y), "f"(p.z));
    if (shape == Shape::element)
        asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "r"(int(p.x)));
    if (shape == Shape::plane_element)
        asm volatile("tex.2d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                     : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
                     : "l"(t), "r"(int(p.x)), "r"(int(p.y)));
    if (shape == Shape::gathered) gather(t, p, o);
    out[n] = d;
}

__global__ void write_outside(cudaSurfaceObject_t s) { surf2Dwrite(1, s, 400, 0); }

void must(cudaError_t e, const char* what) {
    if (e == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorName(e));
    std::exit(1);
}

std::vector<Four> looked(cudaTextureObject_t t, Shape shape, const std::vector<Place>& at) {
    Place* places = nullptr;
    Answer* d = nullptr;
    must(cudaMalloc(&places, at.size() * sizeof(Place)), "cudaMalloc");
    must(cudaMalloc(&d, at.size() * sizeof(Answer)), "cudaMalloc");
    must(cudaMemcpy(places, at.data(), at.size() * sizeof(Place), cudaMemcpyHostToDevice), "copy");
    look<<<unsigned((at.size() + 255) / 256), 256>>>(t, shape, places, d, at.size());
    std::vector<Answer> answers(at.size());
    must(cudaMemcpy(answers.data(), d, at.size() * sizeof(Answer), cudaMemcpyDeviceToHost),
         "a lookup");
    cudaFree(places);
    cudaFree(d);
    std::vector<Four> out(at.size());
    for (size_t i = 0; i < at.size(); ++i) std::memcpy(&out[i], &answers[i], sizeof out[i]);
    return out;
}

cudaTextureDesc described(const Lookup& l) {
    cudaTextureDesc d{};
    for (size_t i = 0; i < 3; ++i) d.addressMode[i] = cudaTextureAddressMode(int(l.mode[i]));
    d.filterMode = l.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = l.floats ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    d.normalizedCoords = l.normalized;
    std::memcpy(d.borderColor, l.border.data(), sizeof d.borderColor);
    return d;
}

// An array with these elements.
struct Texture {
    cudaArray_t array = nullptr;
    explicit Texture(const Elements& e, unsigned more_flags = 0) {
        const auto bits = [&](unsigned n) {
            return n < e.format.channels ? int(e.format.bits) : 0;
        };
        const cudaChannelFormatKind kinds[] = {
            cudaChannelFormatKindUnsigned, cudaChannelFormatKindSigned, cudaChannelFormatKindFloat};
        const cudaChannelFormatDesc format{bits(0), bits(1), bits(2), bits(3),
                                           kinds[int(e.format.kind)]};
        unsigned flags = more_flags;
        if (e.arrangement == Arrangement::layered) flags |= cudaArrayLayered;
        if (e.arrangement == Arrangement::cube) flags |= cudaArrayCubemap;
        must(cudaMalloc3DArray(&array, &format, make_cudaExtent(e.width, e.height, e.depth), flags),
             "cudaMalloc3DArray");
        const size_t h = e.height == 0 ? 1 : e.height, d = e.depth == 0 ? 1 : e.depth;
        cudaMemcpy3DParms p{};
        p.srcPtr = make_cudaPitchedPtr(const_cast<void*>(e.bytes),
                                       e.width * e.format.channels * e.format.bits / 8, e.width, h);
        p.dstArray = array;
        p.extent = make_cudaExtent(e.width, h, d);
        p.kind = cudaMemcpyHostToDevice;
        must(cudaMemcpy3D(&p), "cudaMemcpy3D");
    }
    Texture(const Texture&) = delete;
    ~Texture() { cudaFreeArray(array); }
    cudaResourceDesc resource() const {
        cudaResourceDesc r{};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = array;
        return r;
    }
};

// The runtime refuses to filter elements that stay integers; the driver does not.
cudaTextureObject_t object_of(const cudaResourceDesc& r, const cudaTextureDesc& d, Kind kind) {
    cudaTextureObject_t out = 0;
    if (kind == Kind::floating || d.filterMode == cudaFilterModePoint ||
        d.readMode == cudaReadModeNormalizedFloat) {
        must(cudaCreateTextureObject(&out, &r, &d, nullptr), "cudaCreateTextureObject");
        return out;
    }
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = CUarray(r.res.array.array);
    CUDA_TEXTURE_DESC texture{};
    for (size_t i = 0; i < 3; ++i) texture.addressMode[i] = CUaddress_mode(d.addressMode[i]);
    texture.filterMode = CU_TR_FILTER_MODE_LINEAR;
    texture.flags = CU_TRSF_READ_AS_INTEGER;
    if (d.normalizedCoords != 0) texture.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    std::memcpy(texture.borderColor, d.borderColor, sizeof texture.borderColor);
    CUtexObject made = 0;
    if (cuTexObjectCreate(&made, &resource, &texture, nullptr) != CUDA_SUCCESS) {
        std::fprintf(stderr, "cuTexObjectCreate failed\n");
        std::exit(1);
    }
    return made;
}

class OfGpu : public Asked {
  public:
    std::vector<Four> at(const Elements& of, const Lookup& how, Shape shape,
                         const std::vector<Place>& places) override {
        const Texture texture(of);
        const cudaResourceDesc r = texture.resource();
        const cudaTextureDesc d = described(how);
        const cudaTextureObject_t t = object_of(r, d, of.format.kind);
        std::vector<Four> out = looked(t, shape, places);
        cudaDestroyTextureObject(t);
        return out;
    }
};

const auto f32 = cudaChannelFormatDesc{32, 0, 0, 0, cudaChannelFormatKindFloat};

void memory() {
    std::vector<float> values(64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i + 1);
    char* d = nullptr;
    must(cudaMalloc(&d, 4096), "cudaMalloc");
    must(cudaMemcpy(d, values.data(), 256, cudaMemcpyHostToDevice), "copy");
    cudaResourceDesc r{};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = d;
    r.res.linear.desc = f32;
    r.res.linear.sizeInBytes = 30;  // seven elements and a half
    const auto said = [](const char* question, const cudaResourceDesc& resource, const Lookup& l) {
        const cudaTextureDesc t = described(l);
        cudaTextureObject_t object = 0;
        std::printf("%s: %s\n", question,
                    cudaGetErrorName(cudaCreateTextureObject(&object, &resource, &t, nullptr)));
        cudaGetLastError();
        return object;
    };
    const cudaTextureObject_t object = said("linear memory of 30 bytes", r, {});
    std::printf("linear memory:");
    for (const Four& a :
         looked(object, Shape::element, {{0}, {6}, {7}, {8}, {-1}, {float(1 << 30)}}))
        std::printf(" %x,%x,%x,%x", a[0], a[1], a[2], a[3]);
    std::printf("\n");
    r.res.linear.devPtr = d + 4;
    said("linear memory at 4", r, {});
    r.res.linear.devPtr = d + 256;
    said("linear memory at 256", r, {});
    r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = d;
    r.res.pitch2D.desc = f32;
    r.res.pitch2D.width = 4;
    r.res.pitch2D.height = 4;
    r.res.pitch2D.pitchInBytes = 32;
    said("rows with a pitch of 32", r, {});
    r.res.pitch2D.pitchInBytes = 16;
    said("rows with a pitch of 16", r, {});
    r.res.pitch2D.pitchInBytes = 32;
    r.res.pitch2D.devPtr = d + 32;
    said("rows at 32", r, {});
    const Texture bytes(
        Elements{{Kind::unsigned_integer, 8, 1}, 4, 0, 0, Arrangement::plain, values.data()});
    Lookup linear;
    linear.linear = true;
    said("filtered integers", bytes.resource(), linear);
    cudaSurfaceObject_t surface = 0;
    const cudaResourceDesc plain = bytes.resource();
    std::printf("a surface of an array that is not for them: %s\n",
                cudaGetErrorName(cudaCreateSurfaceObject(&surface, &plain)));
    cudaGetLastError();
    const Texture target(Elements{{}, 4, 4, 0, Arrangement::plain, values.data()},
                         cudaArraySurfaceLoadStore);
    const cudaResourceDesc whole = target.resource();
    must(cudaCreateSurfaceObject(&surface, &whole), "cudaCreateSurfaceObject");
    write_outside<<<1, 1>>>(surface);
    std::printf("a write outside a surface: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

int main(int argc, char** argv) {
    OfGpu gpu;
    std::fputs(answers(gpu, argc > 1 && std::string(argv[1]) == "--all").c_str(), stdout);
    memory();
}
