// Sums by atomic additions: the lanes of a warp or its threads, then the CTA in shared memory, then
// CTAs in global memory. `out` holds what the sums begin with.
//
//   Arguments: in, out, count. Grid and CTA: any, in x; whole warps.
//
//   reduce_f32  out[0] += the sum of f32
//   reduce_s32  out is a Summary of s32
struct Summary {
    unsigned long long sum;
    int smallest, largest;
    unsigned parity;  // exclusive or
    unsigned count;
};

extern "C" __global__ void reduce_f32(const float* in, float* out, int count) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, total);
}

extern "C" __global__ void reduce_s32(const int* in, Summary* out, int count) {
    __shared__ Summary part;
    if (threadIdx.x == 0) part = {0, 0x7fffffff, -0x7fffffff - 1, 0, 0};
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int value = in[i];
        atomicAdd(&part.sum, static_cast<unsigned long long>(static_cast<long long>(value)));
        atomicMin(&part.smallest, value);
        atomicMax(&part.largest, value);
        atomicXor(&part.parity, static_cast<unsigned>(value));
        atomicInc(&part.count, 0xffffffff);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicAdd(&out->sum, part.sum);
    atomicMax(&out->largest, part.largest);
    atomicXor(&out->parity, part.parity);
    atomicMin(&out->smallest, part.smallest);
    atomicAdd(&out->count, part.count);
}
// SPDX-License-Identifier: Apache-2.0
