// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects.
#include "cuda/array.hpp"
#include "cuda/runtime/array.hpp"

namespace lockwarp::cuda {

namespace {

ResourceDescription driver_resource(const RuntimeResource& r) {
    ResourceDescription out{};
    out.type = r.type;
    switch (r.type) {
        case ResourceType::array:
            out.array = r.array;
            return out;
        case ResourceType::linear:
        case ResourceType::pitch_2d:
            out.memory.address = reinterpret_cast<Address>(r.memory.pointer);
            set_format(r.memory.format, out.memory.format, out.memory.channels);
            out.memory.size = r.memory.size;
            if (r.type == ResourceType::linear) return out;
            out.memory.height = r.memory.height;
            out.memory.pitch = r.memory.pitch;
            return out;
        default:
            fail(not_supported);
    }
}

RuntimeResource runtime_resource(const ResourceDescription& r) {
    RuntimeResource out{};
    out.type = r.type;
    if (r.type == ResourceType::array) {
        out.array = r.array;
        return out;
    }
    out.memory.pointer = reinterpret_cast<void*>(r.memory.address);
    out.memory.format = channels_of(r.memory.format, r.memory.channels);
    out.memory.size = r.memory.size;
    if (r.type == ResourceType::linear) return out;
    out.memory.height = r.memory.height;
    out.memory.pitch = r.memory.pitch;
    return out;
}

TextureDescription driver_texture(const RuntimeTexture& t) {
    require(t.read_mode == 0 || t.read_mode == 1);
    TextureDescription out{};
    std::copy_n(t.address_mode, 3, out.address_mode);
    out.filter = t.filter;
    out.flags = (t.read_mode == 0 ? read_as_integer : 0) |
                (t.normalized != 0 ? normalized_coordinates : 0) | (t.srgb != 0 ? srgb : 0) |
                (t.no_trilinear_optimization != 0 ? no_trilinear_optimization : 0) |
                (t.seamless_cubemap != 0 ? seamless_cubemap : 0);
    out.max_anisotropy = t.max_anisotropy;
    out.mipmap_filter = t.mipmap_filter;
    out.mipmap_bias = t.mipmap_bias;
    out.mipmap_least = t.mipmap_least;
    out.mipmap_most = t.mipmap_most;
    std::copy_n(t.border, 4, out.border);
    return out;
}

RuntimeTexture runtime_texture(const TextureDescription& t) {
    RuntimeTexture out{};
    const auto has = [&](unsigned flag) { return (t.flags & flag) != 0 ? 1 : 0; };
    std::copy_n(t.address_mode, 3, out.address_mode);
    out.filter = t.filter;
    out.read_mode = 1 - has(read_as_integer);
    out.srgb = has(srgb);
    std::copy_n(t.border, 4, out.border);
    out.normalized = has(normalized_coordinates);
    out.max_anisotropy = t.max_anisotropy;
    out.mipmap_filter = t.mipmap_filter;
    out.mipmap_bias = t.mipmap_bias;
    out.mipmap_least = t.mipmap_least;
    out.mipmap_most = t.mipmap_most;
    out.no_trilinear_optimization = has(no_trilinear_optimization);
    out.seamless_cubemap = has(seamless_cubemap);
    return out;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaCreateTextureObject(uint64_t* out, const RuntimeResource* resource,
                               const RuntimeTexture* texture, const void* view) {
    return call([&] {
        require(out != nullptr && resource != nullptr && texture != nullptr);
        const ResourceDescription r = driver_resource(*resource);
        const TextureDescription t = driver_texture(*texture);
        const Result made = cuTexObjectCreate(out, &r, &t, view);
        if (made != success || !filters_integers(r, t)) return made;
        cuTexObjectDestroy(*out);
        return invalid_filter_setting;
    });
}

Result cudaDestroyTextureObject(uint64_t handle) {
    return call([&] { return cuTexObjectDestroy(handle); });
}

Result cudaGetTextureObjectResourceDesc(RuntimeResource* out, uint64_t handle) {
    return call([&] {
        require(out != nullptr);
        ResourceDescription r{};
        check(cuTexObjectGetResourceDesc(&r, handle));
        *out = runtime_resource(r);
    });
}

Result cudaGetTextureObjectTextureDesc(RuntimeTexture* out, uint64_t handle) {
    return call([&] {
        require(out != nullptr);
        TextureDescription t{};
        check(cuTexObjectGetTextureDesc(&t, handle));
        *out = runtime_texture(t);
    });
}

Result cudaCreateSurfaceObject(uint64_t* out, const RuntimeResource* resource) {
    return call([&] {
        require(out != nullptr && resource != nullptr);
        const ResourceDescription r = driver_resource(*resource);
        return cuSurfObjectCreate(out, &r);
    });
}

Result cudaDestroySurfaceObject(uint64_t handle) {
    return call([&] { return cuSurfObjectDestroy(handle); });
}

Result cudaGetSurfaceObjectResourceDesc(RuntimeResource* out, uint64_t handle) {
    return call([&] {
        require(out != nullptr);
        ResourceDescription r{};
        check(cuSurfObjectGetResourceDesc(&r, handle));
        *out = runtime_resource(r);
    });
}

}  // extern "C"
