// Softmax over the rows of a matrix, one warp to a row: out = exp(in - max) / sum.
//
//   in, out: rows x columns f32, row-major. Arguments: in, out, rows, columns.
//   Grid: any number of CTAs, in x. CTA: whole warps. Each warp walks over the rows.
//
//   softmax        expf and a division
//   softmax_fast   ex2.approx, by __expf, and the approximate division
constexpr unsigned all_lanes = 0xffffffff;

static __device__ float warp_max(float value) {
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, step));
    return value;
}

static __device__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(all_lanes, value, step);
    return value;
}

struct Accurate {
    static __device__ float exp(float x) { return expf(x); }
    static __device__ float quotient(float x, float y) { return x / y; }
};

struct Fast {
    static __device__ float exp(float x) { return __expf(x); }
    static __device__ float quotient(float x, float y) { return __fdividef(x, y); }
};

template <class Function>
__device__ void softmax_rows(const float* in, float* out, int rows, int columns) {
    const int lane = threadIdx.x % 32;
    const int warps = blockDim.x / 32;
    for (int row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float* from = in + static_cast<long long>(row) * columns;
        float* to = out + static_cast<long long>(row) * columns;
        float largest = -INFINITY;
        for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, from[i]);
        largest = warp_max(largest);
        float sum = 0;
        for (int i = lane; i < columns; i += 32) sum += Function::exp(from[i] - largest);
        sum = warp_sum(sum);
        for (int i = lane; i < columns; i += 32)
            to[i] = Function::quotient(Function::exp(from[i] - largest), sum);
    }
}

extern "C" __global__ void softmax(const float* in, float* out, int rows, int columns) {
    softmax_rows<Accurate>(in, out, rows, columns);
}

extern "C" __global__ void softmax_fast(const float* in, float* out, int rows, int columns) {
    softmax_rows<Fast>(in, out, rows, columns);
}
// SPDX-License-Identifier: Apache-2.0
