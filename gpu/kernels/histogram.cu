// How often each of 256 byte values occurs: atomics in shared memory, then in global memory.
//
//   in: `count` bytes at a multiple of 4, out: 256 u32. Arguments: in, out, count.
//   Grid and CTA: any, in x.
extern "C" __global__ void histogram(const unsigned char* in, unsigned* out, int count) {
    __shared__ unsigned bins[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();

    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    const int threads = gridDim.x * blockDim.x;
    const auto* words = reinterpret_cast<const unsigned*>(in);
    for (int i = first; i < count / 4; i += threads) {
        const unsigned word = words[i];
        for (int byte = 0; byte < 4; ++byte) atomicAdd(&bins[word >> 8 * byte & 0xff], 1);
    }
    const int rest = count / 4 * 4 + first;
    if (rest < count) atomicAdd(&bins[in[rest]], 1);
    __syncthreads();

    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        if (bins[i] != 0) atomicAdd(&out[i], bins[i]);
    }
}
// SPDX-License-Identifier: Apache-2.0
