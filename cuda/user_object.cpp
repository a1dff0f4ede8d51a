// SPDX-License-Identifier: Apache-2.0
// User objects: what a program wants to be told of when the last graph that uses it is gone.
#include <algorithm>

#include "cuda/graph.hpp"

namespace lockwarp::cuda {

struct UserObject {
    void* object;
    HostFunction destroy;
    std::atomic<unsigned> count;
};

namespace {

constexpr unsigned no_wait = 1;  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
constexpr unsigned moved = 1;    // CU_GRAPH_USER_OBJECT_MOVE

Handles<UserObject>& objects() {
    static auto* const only = new Handles<UserObject>;
    return *only;
}

void give_back(UserObject* handle, unsigned count) {
    const std::shared_ptr<UserObject> o = objects().get(handle, invalid_value);
    require(count != 0 && count <= o->count);
    if ((o->count -= count) != 0) return;
    objects().take(handle, invalid_value);
    o->destroy(o->object);
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuUserObjectCreate(UserObject** out, void* object, HostFunction destroy, unsigned count,
                          unsigned flags) {
    return answer([&] {
        ready();
        require(out != nullptr && destroy != nullptr && count != 0 && flags == no_wait);
        auto o = std::make_shared<UserObject>();
        o->object = object;
        o->destroy = destroy;
        o->count = count;
        *out = objects().add(std::move(o));
    });
}

Result cuUserObjectRetain(UserObject* handle, unsigned count) {
    return answer([&] {
        require(count != 0);
        objects().get(handle, invalid_value)->count += count;
    });
}

Result cuUserObjectRelease(UserObject* handle, unsigned count) {
    return answer([&] { give_back(handle, count); });
}

Result cuGraphRetainUserObject(Graph* graph, UserObject* handle, unsigned count, unsigned flags) {
    return answer([&] {
        require(count != 0 && flags <= moved);
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        const std::shared_ptr<UserObject> o = objects().get(handle, invalid_value);
        if (flags == 0) o->count += count;
        const std::lock_guard lock(g->mutex);
        // Each is one reference; copies of the graph and what is instantiated of it share them.
        for (unsigned i = 0; i < count; ++i)
            g->kept.emplace_back(static_cast<void*>(handle), [](void* p) {
                answer([&] { give_back(static_cast<UserObject*>(p), 1); });
            });
    });
}

Result cuGraphReleaseUserObject(Graph* graph, UserObject* handle, unsigned count) {
    return answer([&] {
        require(count != 0);
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        std::vector<std::shared_ptr<void>> released;  // outside the lock
        const std::lock_guard lock(g->mutex);
        const auto is_its = [&](const auto& k) { return k.get() == handle; };
        require(static_cast<size_t>(std::ranges::count_if(g->kept, is_its)) >= count);
        for (; count != 0; --count) {
            const auto found = std::ranges::find_if(g->kept, is_its);
            released.push_back(std::move(*found));
            g->kept.erase(found);
        }
    });
}

}  // extern "C"
