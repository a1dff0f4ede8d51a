// SPDX-License-Identifier: Apache-2.0
// Asks a GPU what CUDA's documents leave open about textures: how filters round, what lies at edges
// and outside, what channels that are not there hold. Prints bits, a line for each question, so
// that two machines, or one and `lockwarp exec`, are compared by diff.
//   nvcc -arch=sm_80 scripts/ask_textures.cu -o ask_textures; ./ask_textures
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

struct Place {
    float x, y, z;
    int layer;
};
struct Four {
    uint32_t of[4];
};
enum class Shape { line, plane, box, planes, cube, element, plane_element };

__global__ void look(cudaTextureObject_t t, Shape shape, const Place* at, Four* out, size_t count) {
    const size_t n = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const Place p = at[n];
    Four d{};
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
    Four* d = nullptr;
    must(cudaMalloc(&places, at.size() * sizeof(Place)), "cudaMalloc");
    must(cudaMalloc(&d, at.size() * sizeof(Four)), "cudaMalloc");
    must(cudaMemcpy(places, at.data(), at.size() * sizeof(Place), cudaMemcpyHostToDevice), "copy");
    look<<<unsigned((at.size() + 255) / 256), 256>>>(t, shape, places, d, at.size());
    std::vector<Four> out(at.size());
    must(cudaMemcpy(out.data(), d, at.size() * sizeof(Four), cudaMemcpyDeviceToHost), "a lookup");
    cudaFree(places);
    cudaFree(d);
    return out;
}

struct Lookup {
    cudaTextureAddressMode mode = cudaAddressModeClamp;
    bool linear = false, normalized = false, floats = false;
    float border[4] = {0.25f, 0.5f, 0.75f, 1.5f};
};

cudaTextureDesc described(const Lookup& l) {
    cudaTextureDesc d{};
    for (auto& m : d.addressMode) m = l.mode;
    d.filterMode = l.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = l.floats ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    d.normalizedCoords = l.normalized;
    std::memcpy(d.borderColor, l.border, sizeof l.border);
    return d;
}

// An array with these elements, and what lookups in it give.
struct Texture {
    cudaArray_t array = nullptr;
    Texture(const cudaChannelFormatDesc& format, cudaExtent e, const void* bytes,
            unsigned flags = 0) {
        must(cudaMalloc3DArray(&array, &format, e, flags), "cudaMalloc3DArray");
        const size_t element = size_t(format.x + format.y + format.z + format.w) / 8;
        const size_t h = e.height == 0 ? 1 : e.height, d = e.depth == 0 ? 1 : e.depth;
        cudaMemcpy3DParms p{};
        p.srcPtr = make_cudaPitchedPtr(const_cast<void*>(bytes), e.width * element, e.width, h);
        p.dstArray = array;
        p.extent = make_cudaExtent(e.width, h, d);
        p.kind = cudaMemcpyHostToDevice;
        must(cudaMemcpy3D(&p), "cudaMemcpy3D");
    }
    ~Texture() { cudaFreeArray(array); }
    cudaResourceDesc resource() const {
        cudaResourceDesc r{};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = array;
        return r;
    }
    std::vector<Four> at(const Lookup& l, Shape shape, const std::vector<Place>& places) const {
        const cudaResourceDesc r = resource();
        const cudaTextureDesc d = described(l);
        cudaTextureObject_t t = 0;
        must(cudaCreateTextureObject(&t, &r, &d, nullptr), "cudaCreateTextureObject");
        std::vector<Four> out = looked(t, shape, places);
        cudaDestroyTextureObject(t);
        return out;
    }
};

void print(const std::string& question, const std::vector<Four>& answers, int channels = 1) {
    std::printf("%s:", question.c_str());
    for (const Four& a : answers) {
        std::printf(" ");
        for (int c = 0; c < channels; ++c) std::printf("%s%x", c == 0 ? "" : ",", a.of[c]);
    }
    std::printf("\n");
}

// A long answer: where it changes, or how often and where first it is not what is expected.
void print_changes(const std::string& question, const std::vector<Place>& at,
                   const std::vector<Four>& answers) {
    std::printf("%s:", question.c_str());
    for (size_t i = 0; i < at.size(); ++i)
        if (i == 0 || answers[i].of[0] != answers[i - 1].of[0]) {
            uint32_t bits = 0;
            std::memcpy(&bits, &at[i].x, 4);
            std::printf(" %x>%x", bits, answers[i].of[0]);
        }
    std::printf("\n");
}

void print_differences(const std::string& question, const std::vector<float>& expected,
                       const std::vector<Four>& answers) {
    size_t different = 0;
    std::string first;
    for (size_t i = 0; i < expected.size(); ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, &expected[i], 4);
        if (bits == answers[i].of[0]) continue;
        char text[64];
        std::snprintf(text, sizeof text, " %zx:%x,%x", i, bits, answers[i].of[0]);
        if (different++ < 16) first += text;
    }
    std::printf("%s: %zu of %zu differ%s\n", question.c_str(), different, expected.size(),
                first.c_str());
}

const cudaExtent line_of(size_t n) { return make_cudaExtent(n, 0, 0); }
const auto f32 = cudaChannelFormatDesc{32, 0, 0, 0, cudaChannelFormatKindFloat};

void weights() {
    const float ends[] = {0, 1};
    const Texture t(f32, line_of(2), ends);
    Lookup linear;
    linear.linear = true;
    std::vector<Place> at;
    for (int i = -64; i <= 4160; ++i) at.push_back({0.5f + float(i) / 4096, 0, 0, 0});
    print_changes("weights, x by 2^-12", at, t.at(linear, Shape::line, at));
    at.clear();
    for (int i = -256; i <= 256; ++i) at.push_back({1.0f + float(i) / (1 << 22), 0, 0, 0});
    print_changes("weights, x about 1 by 2^-22", at, t.at(linear, Shape::line, at));
    linear.normalized = true;
    at.clear();
    for (int i = 0; i <= 4096; ++i) at.push_back({0.25f + float(i) / 8192, 0, 0, 0});
    print_changes("weights, normalized x by 2^-13", at, t.at(linear, Shape::line, at));
    std::vector<float> many(1000);
    for (size_t i = 0; i < many.size(); ++i) many[i] = float(i & 1);
    const Texture wide(f32, line_of(many.size()), many.data());
    at.clear();
    for (int i = 0; i <= 2048; ++i) at.push_back({0.7003f + float(i) / (1 << 20), 0, 0, 0});
    print_changes("weights, normalized x of 1000 elements", at, wide.at(linear, Shape::line, at));
}

std::vector<float> numbers(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> out(n);
    for (float& f : out) {
        const float mantissa = float(random() >> 8) / float(1 << 23) - 1;
        f = std::ldexp(mantissa, int(random() % 12) - 6);
    }
    return out;
}

void sums() {
    Lookup linear;
    linear.linear = true;
    const std::vector<float> values = numbers(512, 1);
    std::mt19937 random(2);
    std::vector<Place> at;
    for (int i = 0; i < 96; ++i) {
        const auto place = [&] { return 0.5f + float(random() % (7 * 256)) / 256; };
        at.push_back({place(), place(), place(), 0});
    }
    const Texture line(f32, line_of(8), values.data());
    print("sums of 2", line.at(linear, Shape::line, at));
    const Texture plane(f32, make_cudaExtent(8, 8, 0), values.data());
    print("sums of 4", plane.at(linear, Shape::plane, at));
    const Texture box(f32, make_cudaExtent(8, 8, 8), values.data());
    print("sums of 8", box.at(linear, Shape::box, at));
    const float odd[] = {INFINITY, 1,     NAN,    1,      -0.0f,  -0.0f,
                         3e38f,    3e38f, 1e-45f, 1e-45f, 1e-39f, 0};
    const Texture special(f32, line_of(12), odd);
    std::vector<Place> halves;
    for (int i = 1; i < 24; ++i) halves.push_back({float(i) / 2, 0, 0, 0});
    print("infinity, NaN, zeros, subnormals", special.at(linear, Shape::line, halves));
    print("the same, nearest", special.at({}, Shape::line, halves));
}

template <class T>
void integers(const char* name, cudaChannelFormatKind kind, float most) {
    constexpr size_t count = size_t{1} << 8 * sizeof(T);
    constexpr size_t row = count < 4096 ? count : 4096;
    std::vector<T> values(count);
    std::vector<float> expected(count);
    std::vector<Place> at(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = T(i);
        expected[i] = std::max(float(values[i]) / most, -1.0f);
        at[i] = {float(i % row) + 0.5f, float(i / row) + 0.5f, 0, 0};
    }
    const cudaChannelFormatDesc format{8 * sizeof(T), 0, 0, 0, kind};
    const Texture t(format, make_cudaExtent(row, count / row, 0), values.data());
    Lookup floats;
    floats.floats = true;
    print_differences(std::string(name) + " as floats", expected, t.at(floats, Shape::plane, at));
    floats.linear = true;
    print_differences(std::string(name) + " as floats, filtered at their places", expected,
                      t.at(floats, Shape::plane, at));
    std::mt19937 random(3);
    at.resize(96);
    for (Place& p : at) p = {0.5f + float(random() % 65280) / 256, 0.5f, 0, 0};
    print(std::string(name) + " as floats, filtered", t.at(floats, Shape::plane, at));
}

void halves() {
    std::vector<uint16_t> values(65536);
    std::vector<Place> at(65536);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = uint16_t(i);
        at[i] = {float(i % 4096) + 0.5f, float(i / 4096) + 0.5f, 0, 0};
    }
    const cudaChannelFormatDesc format{16, 0, 0, 0, cudaChannelFormatKindFloat};
    const Texture t(format, make_cudaExtent(4096, 16, 0), values.data());
    const std::vector<Four> all = t.at({}, Shape::plane, at);
    uint32_t digest = 2166136261u;
    for (const Four& f : all) digest = (digest ^ f.of[0]) * 16777619u;
    std::printf("f16: digest %x, NaNs", digest);
    for (const size_t i : {0x7c00, 0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xffff, 1, 0x8000})
        std::printf(" %x", all[i].of[0]);
    std::printf("\n");
    Lookup linear;
    linear.linear = true;
    at.resize(64);
    for (size_t i = 0; i < 64; ++i) at[i] = {100.5f + float(i * 37) / 256, 3.5f, 0, 0};
    print("f16, filtered", t.at(linear, Shape::plane, at));
}

void channels() {
    const float two[] = {1, 2, 3, 4};
    print("channels of float", Texture(f32, line_of(2), two).at({}, Shape::line, {{0.5f}}), 4);
    const cudaChannelFormatDesc pair{32, 32, 0, 0, cudaChannelFormatKindFloat};
    print("channels of float2", Texture(pair, line_of(2), two).at({}, Shape::line, {{0.5f}}), 4);
    const cudaChannelFormatDesc byte{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const Texture bytes(byte, line_of(4), two);
    Lookup floats;
    floats.floats = true;
    print("channels of a byte", bytes.at({}, Shape::line, {{0.5f}}), 4);
    print("channels of a byte as floats", bytes.at(floats, Shape::line, {{0.5f}}), 4);
    Lookup border;
    border.mode = cudaAddressModeBorder;
    print("border of float", Texture(f32, line_of(2), two).at(border, Shape::line, {{9}}), 4);
    print("border of a byte", bytes.at(border, Shape::line, {{9}}), 4);
    const cudaChannelFormatDesc whole{32, 0, 0, 0, cudaChannelFormatKindSigned};
    print("border of int", Texture(whole, line_of(2), two).at(border, Shape::line, {{9}}), 4);
    border.floats = true;
    print("border of a byte as floats", bytes.at(border, Shape::line, {{9}}), 4);
}

void edges() {
    std::vector<float> values(64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    const char* const names[] = {"wrap", "clamp", "mirror", "border"};
    std::vector<Place> around;
    for (float x = -17; x <= 17; x += 0.75f) around.push_back({x, 0.5f, 0, 0});
    const std::vector<Place> strange{{NAN},   {INFINITY}, {-INFINITY}, {3e9f},
                                     {-3e9f}, {1e38f},    {-0.0f}};
    for (int mode = 0; mode < 4; ++mode)
        for (const bool normalized : {false, true}) {
            Lookup l;
            l.mode = cudaTextureAddressMode(mode);
            l.normalized = normalized;
            const std::string name =
                std::string(names[mode]) + (normalized ? ", normalized" : ", not normalized");
            const Texture t(f32, line_of(7), values.data());
            std::vector<Place> at = around;
            for (Place& p : at) p.x /= normalized ? 7.0f : 1.0f;
            print(name, t.at(l, Shape::line, at));
            print(name + ", strange", t.at(l, Shape::line, strange));
            const Texture plane(f32, make_cudaExtent(8, 8, 0), values.data());
            print(name + ", integers",
                  plane.at(l, Shape::plane_element,
                           {{-1, 0}, {0, -2}, {8, 1}, {1, 9}, {3, 3}, {-9, 17}}));
            l.linear = true;
            print(name + ", filtered", t.at(l, Shape::line, at));
            print(name + ", filtered, strange", t.at(l, Shape::line, strange));
        }
    // The float on each side of where the next element begins.
    for (const int n : {3, 5, 7, 11, 13}) {
        Lookup l;
        l.normalized = true;
        std::vector<Place> at;
        for (int k = 1; k < n; ++k) {
            const float x = float(k) / float(n);
            for (const float y : {std::nextafter(std::nextafter(x, 0.0f), 0.0f),
                                  std::nextafter(x, 0.0f), x, std::nextafter(x, 1.0f)})
                at.push_back({y, 0, 0, 0});
        }
        print("nearest of " + std::to_string(n),
              Texture(f32, line_of(size_t(n)), values.data()).at(l, Shape::line, at));
    }
    const Texture layers(f32, make_cudaExtent(2, 2, 3), values.data(), cudaArrayLayered);
    print("layers",
          layers.at({}, Shape::planes, {{0, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 0, 3}, {0, 0, 0, -1}}));
    std::vector<float> faces(4 * 4 * 6);
    for (size_t i = 0; i < faces.size(); ++i) faces[i] = float(i);
    const Texture cube(f32, make_cudaExtent(4, 4, 6), faces.data(), cudaArrayCubemap);
    std::vector<Place> directions;
    std::mt19937 random(5);
    const auto side = [&] { return float(int(random() % 513) - 256) / 256; };
    for (int i = 0; i < 96; ++i) directions.push_back({side(), side(), side(), 0});
    for (const float a : {-1.0f, 1.0f})
        for (const float b : {-1.0f, 1.0f})
            for (const float c : {-1.0f, 1.0f}) directions.push_back({a, b, c, 0});
    directions.push_back({0, 0, 0, 0});
    Lookup l;
    l.normalized = true;
    print("cube", cube.at(l, Shape::cube, directions));
    l.linear = true;
    print("cube, filtered", cube.at(l, Shape::cube, directions));
}

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
    print("linear memory", looked(object, Shape::element, {{0}, {6}, {7}, {8}, {-1}, {1 << 30}}),
          4);
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
    const cudaChannelFormatDesc byte{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const Texture bytes(byte, line_of(4), values.data());
    Lookup linear;
    linear.linear = true;
    said("filtered integers", bytes.resource(), linear);
    cudaSurfaceObject_t surface = 0;
    const cudaResourceDesc plain = bytes.resource();
    std::printf("a surface of an array that is not for them: %s\n",
                cudaGetErrorName(cudaCreateSurfaceObject(&surface, &plain)));
    cudaGetLastError();
    const Texture target(f32, make_cudaExtent(4, 4, 0), values.data(), cudaArraySurfaceLoadStore);
    const cudaResourceDesc whole = target.resource();
    must(cudaCreateSurfaceObject(&surface, &whole), "cudaCreateSurfaceObject");
    write_outside<<<1, 1>>>(surface);
    std::printf("a write outside a surface: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

int main() {
    weights();
    sums();
    integers<uint8_t>("u8", cudaChannelFormatKindUnsigned, 255);
    integers<int8_t>("s8", cudaChannelFormatKindSigned, 127);
    integers<uint16_t>("u16", cudaChannelFormatKindUnsigned, 65535);
    integers<int16_t>("s16", cudaChannelFormatKindSigned, 32767);
    halves();
    channels();
    edges();
    memory();
}
