// SPDX-License-Identifier: Apache-2.0
// Launches with clusters: by an attribute, of the kernel itself, in a graph's node, captured.
// nvcc: -arch=sm_90
// exec: --arch sm_90
#include <cooperative_groups.h>

#include "check.hpp"

namespace cg = cooperative_groups;

// Each CTA takes the number of the next one of its cluster from that one's shared memory.
__device__ void neighbours(int* out) {
    __shared__ int own;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) own = 100 + static_cast<int>(blockIdx.x);
    cluster.sync();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&own, next);
    cluster.sync();
}

__global__ void by_attribute(int* out) { neighbours(out); }
__global__ void __cluster_dims__(2, 1, 1) pairs(int* out) { neighbours(out); }

constexpr int ctas = 8;

void expect(int* x, int size) {
    int h[ctas];
    OK(cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ctas; ++i) CHECK(h[i] == 100 + i / size * size + (i + 1) % size);
    OK(cudaMemset(x, 0, sizeof h));
}

cudaLaunchConfig_t config_of(cudaLaunchAttribute& attribute, unsigned size, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(ctas);
    config.blockDim = dim3(32);
    config.stream = stream;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

void in_graphs(int* x, cudaStream_t s) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = config_of(attribute, 4, s);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchKernelEx(&config, by_attribute, x));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    expect(x, 4);
    size_t count = 1;
    cudaGraphNode_t node, other;
    OK(cudaGraphGetNodes(graph, &node, &count));
    cudaKernelNodeAttrValue value{};
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    CHECK(value.clusterDim.x == 4 && value.clusterDim.y == 1);
    value.clusterDim.x = 8;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    cudaKernelNodeParams parameters;
    OK(cudaGraphKernelNodeGetParams(node, &parameters));
    OK(cudaGraphKernelNodeSetParams(node, &parameters));  // the attribute stays
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    expect(x, 8);
    OK(cudaGraphKernelNodeGetParams(node, &parameters));
    OK(cudaGraphAddKernelNode(&other, graph, nullptr, 0, &parameters));
    OK(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeClusterDimension, &value));
    CHECK(value.clusterDim.x == 0);
    OK(cudaGraphKernelNodeCopyAttributes(other, node));
    OK(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeClusterDimension, &value));
    CHECK(value.clusterDim.x == 8);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main() {
    int* x = nullptr;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&x, ctas * sizeof(int)));
    cudaLaunchAttribute attribute;
    for (const int size : {1, 2, 4, 8}) {
        const cudaLaunchConfig_t config = config_of(attribute, size, s);
        OK(cudaLaunchKernelEx(&config, by_attribute, x));
        expect(x, size);
        int clusters = 0;
        OK(cudaOccupancyMaxActiveClusters(&clusters, by_attribute, &config));
        CHECK(clusters > 0);
    }
    pairs<<<ctas, 32>>>(x);
    expect(x, 2);
    const cudaLaunchConfig_t wide = config_of(attribute, 16, s);
    CHECK(cudaLaunchKernelEx(&wide, by_attribute, x) == cudaErrorInvalidClusterSize);
    cudaGetLastError();
    int size = 0;
    EXPECT_ERROR(cudaOccupancyMaxPotentialClusterSize(&size, by_attribute, &wide),
                 cudaErrorInvalidClusterSize);
    cudaGetLastError();
    const cudaLaunchConfig_t narrow = config_of(attribute, 2, s);
    OK(cudaOccupancyMaxPotentialClusterSize(&size, by_attribute, &narrow));
    CHECK(size == 8);
    OK(cudaFuncSetAttribute(by_attribute, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(cudaOccupancyMaxPotentialClusterSize(&size, by_attribute, &narrow));
    CHECK(size == 16);
    in_graphs(x, s);
    OK(cudaFree(x));
    OK(cudaStreamDestroy(s));
    return done("clusters");
}
