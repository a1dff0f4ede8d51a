// SPDX-License-Identifier: Apache-2.0
// A graph as a file in Graphviz's DOT, for people who look at it.
#include "cuda/graph.hpp"
#include "cuda/launch_file.hpp"
#include "cuda/write_file.hpp"

namespace lockwarp::cuda {

namespace {

// CUgraphDebugDot_flags: what is said of a node besides its type, and of a kernel its name.
constexpr unsigned verbose = 1u << 0, handles = 1u << 10;

// In the order of Work. 0: there is no more to say.
struct KindRow {
    const char* type;
    unsigned flag;
};
constexpr std::array kinds{KindRow{"KERNEL", 1u << 2},
                           KindRow{"MEMCPY", 1u << 3},
                           KindRow{"MEMSET", 1u << 4},
                           KindRow{"HOST", 1u << 5},
                           KindRow{"GRAPH", 0},
                           KindRow{"EMPTY", 0},
                           KindRow{"EVENT WAIT", 1u << 6},
                           KindRow{"EVENT RECORD", 1u << 6},
                           KindRow{"MEM ALLOC", 1u << 11},
                           KindRow{"MEM FREE", 1u << 12},
                           KindRow{"CONDITIONAL", 1u << 15},
                           KindRow{"BATCH MEM OP", 1u << 13}};
static_assert(kinds.size() == std::variant_size_v<Work>);

std::string shape(const uint32_t (&n)[3]) {
    return std::to_string(n[0]) + "," + std::to_string(n[1]) + "," + std::to_string(n[2]);
}

std::string place(MemoryType type, const void* host, Address device, const Array* array) {
    if (type == array_memory) return "array " + hex_number(reinterpret_cast<uint64_t>(array));
    return hex_number(type == host_memory ? reinterpret_cast<uint64_t>(host) : device);
}

struct Details {
    std::string operator()(const KernelWork& w) const {
        return "grid " + shape(w.shape.grid) + "\\nblock " + shape(w.shape.block) + "\\nshared " +
               std::to_string(w.shape.dynamic_shared);
    }
    std::string operator()(const Copy3D& c) const {
        return place(c.source_type, c.source_host, c.source_device, c.source_array) + " to " +
               place(c.target_type, c.target_host, c.target_device, c.target_array) + "\\n" +
               std::to_string(c.width) + " x " + std::to_string(c.height) + " x " +
               std::to_string(c.depth);
    }
    std::string operator()(const MemsetNode& m) const {
        return hex_number(m.target) + "\\nvalue " + hex_number(m.value) + " of " +
               std::to_string(m.element_size) + "\\n" + std::to_string(m.width) + " x " +
               std::to_string(m.height);
    }
    std::string operator()(const HostNode& h) const {
        return hex_number(reinterpret_cast<uint64_t>(h.function));
    }
    std::string operator()(const WaitWork& w) const {
        return hex_number(reinterpret_cast<uint64_t>(w.event.get()));
    }
    std::string operator()(const RecordWork& w) const {
        return hex_number(reinterpret_cast<uint64_t>(w.event.get()));
    }
    std::string operator()(const AllocateWork& a) const {
        return hex_number(a.address) + "\\n" + std::to_string(a.size) + " bytes";
    }
    std::string operator()(const FreeWork& f) const { return hex_number(f.address); }
    std::string operator()(const ConditionalWork& c) const {
        return c.type == ConditionalType::if_      ? "if"
               : c.type == ConditionalType::while_ ? "while"
                                                   : "switch";
    }
    std::string operator()(const MemoryWork& m) const {
        std::string out;
        for (const MemoryOperation& o : m.operations)
            out += (out.empty() ? "" : "\\n") + hex_number(o.address) + " " + hex_number(o.value);
        return out;
    }
    std::string operator()(const ChildWork&) const { return {}; }
    std::string operator()(const Nothing&) const { return {}; }
};

struct Drawing {
    unsigned flags;
    unsigned graphs = 0;
    std::string text;

    void add(Graph& graph) {
        const std::string name = "graph_" + std::to_string(++graphs);
        std::vector<std::shared_ptr<Graph>> within;
        text += "subgraph cluster_" + std::to_string(graphs) + " {\nlabel=\"" + name + "\";\n";
        {
            const std::lock_guard lock(graph.mutex);
            std::map<const GraphNode*, std::string> names;
            for (const auto& node : graph.nodes) {
                const std::string id = "\"" + name + "_node_" + std::to_string(names.size()) + "\"";
                names[node.get()] = id;
                text += id + "[shape=\"box\" label=\"" + label(*node) + "\"];\n";
                if (const auto* child = std::get_if<ChildWork>(&node->work))
                    within.push_back(child->graph);
                if (const auto* choice = std::get_if<ConditionalWork>(&node->work))
                    within.insert(within.end(), choice->bodies.begin(), choice->bodies.end());
            }
            for (const auto& node : graph.nodes)
                for (const GraphNode* before : node->before)
                    text += names[before] + " -> " + names[node.get()] + ";\n";
        }
        text += "}\n";
        for (const auto& g : within) add(*g);
    }
    std::string label(const GraphNode& node) const {
        const KindRow& kind = kinds[node.work.index()];
        std::string out = kind.type;
        if (const auto* kernel = std::get_if<KernelWork>(&node.work))
            out += "\\n" + kernel->function->name;
        if ((flags & handles) != 0) out += "\\n" + hex_number(reinterpret_cast<uint64_t>(&node));
        if ((flags & (kind.flag | verbose)) == 0) return out;
        const std::string more = std::visit(Details{}, node.work);
        return more.empty() ? out : out + "\\n" + more;
    }
};

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGraphDebugDotPrint(Graph* graph, const char* path, unsigned flags) {
    return answer([&] {
        require(graph != nullptr && path != nullptr);
        Drawing drawing{flags, 0, {}};
        drawing.add(*ready().graphs.get(graph));
        const std::string text = "digraph dot {\n" + drawing.text + "}\n";
        require(write_file(path, text.data(), text.size()), operating_system);
    });
}

}  // extern "C"
