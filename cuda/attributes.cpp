// SPDX-License-Identifier: Apache-2.0
// Attributes of streams and of kernel nodes (CUlaunchAttributeID). Clusters and cooperative
// launches change what a node does; of the others the last value is remembered.
#include <algorithm>
#include <cstring>

#include "cuda/graph.hpp"
#include "cuda/memory.hpp"

namespace lockwarp::cuda {

namespace {

constexpr int cooperative = 2, cluster = 4, priority = 8;
constexpr int last_attribute = 16;

void check_number(int number) { require(number > 0 && number <= last_attribute); }

Attributes& attributes_of(Stream* stream, std::unique_lock<std::mutex>& lock,
                          std::shared_ptr<void>& keep) {
    const std::shared_ptr<Context> context = current();
    if (reinterpret_cast<uintptr_t>(stream) <= 2) {
        keep = context;
        lock = std::unique_lock(context->mutex);
        return context->stream_attributes;
    }
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    keep = s;
    lock = std::unique_lock(s->mutex);
    return s->attributes;
}

// Of a kernel node; the graph's lock is not needed, as for its other parameters.
KernelWork& kernel_of(GraphNode& node) {
    auto* const work = std::get_if<KernelWork>(&node.work);
    require(work != nullptr);
    return *work;
}

void set(KernelWork& work, int number, const AttributeValue& value) {
    if (number == cooperative) {
        int is_cooperative = 0;
        std::memcpy(&is_cooperative, value.data(), sizeof is_cooperative);
        work.shape.cooperative = is_cooperative != 0;
    } else if (number == cluster) {
        std::memcpy(work.shape.cluster, value.data(), sizeof work.shape.cluster);
    } else {
        work.attributes[number] = value;
        if (number != priority) return;
        int wanted = 0;
        std::memcpy(&wanted, value.data(), sizeof wanted);
        wanted = std::clamp(wanted, highest_priority, lowest_priority);
        std::memcpy(work.attributes[number].data(), &wanted, sizeof wanted);
    }
}

AttributeValue get(const KernelWork& work, int number) {
    AttributeValue out{};
    if (number == cooperative) {
        const int is_cooperative = work.shape.cooperative ? 1 : 0;
        std::memcpy(out.data(), &is_cooperative, sizeof is_cooperative);
    } else if (number == cluster) {
        std::memcpy(out.data(), work.shape.cluster, sizeof work.shape.cluster);
    } else if (const auto found = work.attributes.find(number); found != work.attributes.end()) {
        out = found->second;
    }
    return out;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuStreamSetAttribute(Stream* stream, int number, const AttributeValue* value) {
    return answer([&] {
        std::unique_lock<std::mutex> lock;
        std::shared_ptr<void> keep;
        require(value != nullptr);
        check_number(number);
        attributes_of(stream, lock, keep)[number] = *value;
    });
}

Result cuStreamGetAttribute(Stream* stream, int number, AttributeValue* out) {
    return answer([&] {
        std::unique_lock<std::mutex> lock;
        std::shared_ptr<void> keep;
        require(out != nullptr);
        check_number(number);
        const Attributes& all = attributes_of(stream, lock, keep);
        const auto found = all.find(number);
        AttributeValue value{};
        if (found != all.end()) {
            value = found->second;
        } else if (number == priority && reinterpret_cast<uintptr_t>(stream) > 2) {
            const int of_stream = static_cast<Stream*>(keep.get())->priority;
            std::memcpy(value.data(), &of_stream, sizeof of_stream);
        }
        *out = value;
    });
}

Result cuStreamCopyAttributes(Stream* to, Stream* from) {
    return answer([&] {
        Attributes all;
        {
            std::unique_lock<std::mutex> lock;
            std::shared_ptr<void> keep;
            all = attributes_of(from, lock, keep);
        }
        std::unique_lock<std::mutex> lock;
        std::shared_ptr<void> keep;
        attributes_of(to, lock, keep) = all;
    });
}

Result cuGraphKernelNodeSetAttribute(GraphNode* node, int number, const AttributeValue* value) {
    return answer([&] {
        require(value != nullptr);
        check_number(number);
        set(kernel_of(*node_of(node)), number, *value);
    });
}

Result cuGraphKernelNodeGetAttribute(GraphNode* node, int number, AttributeValue* out) {
    return answer([&] {
        require(out != nullptr);
        check_number(number);
        *out = get(kernel_of(*node_of(node)), number);
    });
}

// From the second node; the order of the parameters is that of cuda.h.
Result cuGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from) {
    return answer([&] {
        const std::shared_ptr<GraphNode> target = node_of(to), source = node_of(from);
        keep_attributes(source->work, target->work);
    });
}

// CUgraphMem_attribute: used now and at most, reserved now and at most. A graph's memory is
// reserved for as long as the graph is there.
Result cuDeviceGetGraphMemAttribute(DeviceId device, int attribute, uint64_t* value) {
    return answer([&] {
        check_device(device);
        require(value != nullptr && attribute >= 0 && attribute < 4);
        const GraphBytes bytes = graph_bytes();
        *value = attribute % 2 == 0 ? bytes.now : bytes.high;
    });
}

// The only value that may be set is 0, of what there was at most.
Result cuDeviceSetGraphMemAttribute(DeviceId device, int attribute, const uint64_t* value) {
    return answer([&] {
        check_device(device);
        require(value != nullptr && *value == 0 && (attribute == 1 || attribute == 3));
        graph_bytes(true);
    });
}

Result cuDeviceGraphMemTrim(DeviceId device) {
    return answer([&] { check_device(device); });
}

}  // extern "C"
