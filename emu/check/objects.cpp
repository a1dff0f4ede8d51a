// SPDX-License-Identifier: Apache-2.0
#include "emu/check/objects.hpp"
#include "emu/warp/memory.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockwarp::check {

using ptx::Space;

Objects::Objects(const isa::Program& program, const warp::Launch& launch, std::vector<Shape> shapes)
    : shapes_(std::move(shapes)) {
    const auto add = [&](std::string name, Space space, uint64_t begin, uint64_t bytes) {
        if (bytes != 0) objects_.push_back({std::move(name), space, begin, begin + bytes, 0, {}});
    };
    // Dynamic shared memory has the name of the first variable without a size.
    const uint64_t dynamic = uint64_t{program.shared_begin} + program.shared_static;
    std::string name = "dynamic shared memory";
    for (const isa::Placed& v : program.variables) {
        const bool shared = v.space == Space::shared;
        if (shared && v.address >= dynamic && name.starts_with("dynamic"))
            name = v.name;
        else if (!v.in_frame || v.space == Space::local)
            add(v.name, v.space, v.address, v.bytes);
    }
    add(name, Space::shared, dynamic, launch.dynamic_shared);
    for (const warp::Buffer* b : warp::buffers_of(launch))
        add(b->name, Space::global, b->address, b->bytes.size());
    std::ranges::stable_sort(objects_, {},
                             [](const Object& o) { return std::tuple(o.space, o.begin, o.end); });
}

Object Objects::at(Space space, uint64_t address) const {
    for (const Object& o : objects_)
        if (o.space == space && address >= o.begin && address < o.end) {
            Object out = o;
            out.offset = address - o.begin;
            if (space != Space::global) return out;
            for (const Shape& s : shapes_)
                if (s.address >= o.begin && s.address <= address && s.address < o.end)
                    if (const std::string element = s.element(address - s.address);
                        !element.empty())
                        out.element = o.name + element;
            return out;
        }
    return {};
}

std::vector<Object> Objects::of(Space space) const {
    std::vector<Object> out;
    for (const Object& o : objects_)
        if (o.space == space) out.push_back(o);
    return out;
}

}  // namespace lockwarp::check
