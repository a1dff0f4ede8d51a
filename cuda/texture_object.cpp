// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cuda/array.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"

namespace lockwarp::cuda {

namespace {

using isa::Texture;

constexpr uint64_t texture_alignment = 512, pitch_alignment = 32;

struct Object {
    std::weak_ptr<Context> context;
    bool is_surface = false;
    ResourceDescription resource{};
    TextureDescription texture{};
};

struct Objects {
    std::mutex mutex;
    std::map<uint64_t, Object> by_handle;
};

Objects& objects() {
    static Objects* const only = new Objects;
    return *only;
}

Object object_of(uint64_t handle, bool is_surface) {
    ready();
    const std::lock_guard lock(objects().mutex);
    const auto found = objects().by_handle.find(handle);
    require(found != objects().by_handle.end() && found->second.is_surface == is_surface);
    return found->second;
}

void set_format(Texture& t, int format, unsigned channels) {
    const auto* const row = std::ranges::find(format_rows, format, &FormatRow::format);
    require(row != format_rows.end());
    require(channels == 1 || channels == 2 || channels == 4);
    t.kind = row->kind;
    t.bits = row->bits;
    t.channels = static_cast<uint8_t>(channels);
}

// The elements that a resource has.
Texture elements_of(const ResourceDescription& r) {
    Texture t;
    switch (r.type) {
        case ResourceType::array: {
            const std::shared_ptr<Array> array = driver().arrays.get(r.array, invalid_value);
            const Array3DDescription& d = array->description;
            set_format(t, d.format, d.channels);
            t.address = array->address;
            t.width = static_cast<uint32_t>(d.width);
            t.height = static_cast<uint32_t>(d.height);
            t.depth = static_cast<uint32_t>(d.depth);
            t.pitch = array->pitch;
            t.slice = array->slice;
            if ((d.flags & cubemap_array) != 0)
                t.faces = (d.flags & layered_array) != 0 ? isa::Faces::cubes : isa::Faces::cube;
            return t;
        }
        case ResourceType::linear: {
            set_format(t, r.memory.format, r.memory.channels);
            const uint64_t width = r.memory.size / isa::element_bytes(t);
            require(width != 0 && width <= UINT32_MAX);
            holding(r.memory.address, r.memory.size);
            t.width = static_cast<uint32_t>(width);
            t.buffer = true;
            break;
        }
        case ResourceType::pitch_2d: {
            set_format(t, r.memory.format, r.memory.channels);
            const uint64_t row = r.memory.size * isa::element_bytes(t);
            require(r.memory.size != 0 && r.memory.size <= INT32_MAX);
            require(r.memory.height != 0 && r.memory.height <= INT32_MAX);
            require(r.memory.pitch >= row && r.memory.pitch % pitch_alignment == 0);
            require(r.memory.pitch <= INT32_MAX);
            holding(r.memory.address, (r.memory.height - 1) * r.memory.pitch + row);
            t.width = static_cast<uint32_t>(r.memory.size);
            t.height = static_cast<uint32_t>(r.memory.height);
            t.pitch = r.memory.pitch;
            break;
        }
        default:
            fail(not_supported);
    }
    require(r.memory.address % texture_alignment == 0);
    t.address = r.memory.address;
    return t;
}

void set_lookup(Texture& t, const TextureDescription& d) {
    constexpr unsigned known =
        read_as_integer | normalized_coordinates | no_trilinear_optimization | seamless_cubemap;
    require((d.flags & ~known) == 0, not_supported);
    require(d.filter == 0 || d.filter == 1);
    for (size_t i = 0; i < 3; ++i) {
        require(d.address_mode[i] >= 0 &&
                d.address_mode[i] <= static_cast<int>(isa::AddressMode::border));
        t.mode[i] = static_cast<isa::AddressMode>(d.address_mode[i]);
    }
    t.normalized = (d.flags & normalized_coordinates) != 0;
    t.elements = (d.flags & read_as_integer) != 0;
    t.linear = d.filter == 1;
    for (size_t i = 0; i < 4; ++i) t.border[i] = std::bit_cast<uint32_t>(d.border[i]);
}

// CUDA_RESOURCE_VIEW_DESC and the runtime's cudaResourceViewDesc, which are alike.
struct View {
    int format;
    size_t width, height, depth;
    std::array<unsigned, 2> levels, layers;  // the first and the last
};

// Whether it shows the elements of an array as they are, all of them.
bool shows_all(const View& view, const Texture& t, const ResourceDescription& resource) {
    if (resource.type != ResourceType::array) return false;
    const auto is_own = [&](const FormatRow& row) {
        return row.kind == t.kind && row.bits == t.bits && view.format == row.view + t.channels / 2;
    };
    const auto same = [](size_t shown, uint32_t own) {
        return std::max<size_t>(shown, 1) == std::max<uint32_t>(own, 1);
    };
    return (view.format == 0 || std::ranges::any_of(format_rows, is_own)) &&
           same(view.width, t.width) && same(view.height, t.height) && same(view.depth, t.depth) &&
           view.levels == std::array{0u, 0u} && view.layers == std::array{0u, 0u};
}

uint64_t make(const Texture& t, const ResourceDescription& resource,
              const TextureDescription& texture) {
    const std::shared_ptr<Context> context = current();
    const isa::TextureBytes bytes = isa::encode(t);
    const Address handle = allocate(bytes.size(), Kind::device, context);
    std::memcpy(reinterpret_cast<void*>(handle), bytes.data(), bytes.size());
    const std::lock_guard lock(objects().mutex);
    objects().by_handle[handle] = {context, t.is_surface, resource, texture};
    return handle;
}

void destroy(uint64_t handle, bool is_surface) {
    object_of(handle, is_surface);
    finish_all();
    {
        const std::lock_guard lock(objects().mutex);
        objects().by_handle.erase(handle);
    }
    release(handle, Kind::device, Kind::device);
}

}  // namespace

bool filters_integers(const ResourceDescription& resource, const TextureDescription& texture) {
    Texture t = elements_of(resource);
    set_lookup(t, texture);
    return t.linear && !t.buffer && isa::gives_integers(t);
}

void forget_objects(const Context& context) {
    const std::lock_guard lock(objects().mutex);
    std::erase_if(objects().by_handle,
                  [&](const auto& item) { return item.second.context.lock().get() == &context; });
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuTexObjectCreate(uint64_t* out, const ResourceDescription* resource,
                         const TextureDescription* texture, const void* view) {
    return answer([&] {
        current();
        require(out != nullptr && resource != nullptr && texture != nullptr);
        Texture t = elements_of(*resource);
        require(view == nullptr || shows_all(*static_cast<const View*>(view), t, *resource),
                not_supported);
        set_lookup(t, *texture);
        *out = make(t, *resource, *texture);
    });
}

Result cuTexObjectDestroy(uint64_t handle) {
    return answer([&] { destroy(handle, false); });
}

Result cuTexObjectGetResourceDesc(ResourceDescription* out, uint64_t handle) {
    return answer([&] {
        require(out != nullptr);
        *out = object_of(handle, false).resource;
    });
}

Result cuTexObjectGetTextureDesc(TextureDescription* out, uint64_t handle) {
    return answer([&] {
        require(out != nullptr);
        *out = object_of(handle, false).texture;
    });
}

Result cuSurfObjectCreate(uint64_t* out, const ResourceDescription* resource) {
    return answer([&] {
        current();
        require(out != nullptr && resource != nullptr && resource->type == ResourceType::array);
        Texture t = elements_of(*resource);
        t.is_surface = true;
        *out = make(t, *resource, {});
    });
}

Result cuSurfObjectDestroy(uint64_t handle) {
    return answer([&] { destroy(handle, true); });
}

Result cuSurfObjectGetResourceDesc(ResourceDescription* out, uint64_t handle) {
    return answer([&] {
        require(out != nullptr);
        *out = object_of(handle, true).resource;
    });
}

}  // extern "C"
