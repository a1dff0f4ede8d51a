// Layer normalization over the rows of a matrix, one warp to a row:
// out = (in - mean) / sqrt(variance + epsilon) * scale + shift.
//
//   in, out: rows x columns f32, row-major; scale, shift: columns f32.
//   Arguments: in, scale, shift, out, rows, columns, epsilon. Grid: ceil(rows / 4). CTA: 128
//   threads.
static __device__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

extern "C" __global__ void __launch_bounds__(128)
    layer_norm(const float* __restrict__ in, const float* __restrict__ scale,
               const float* __restrict__ shift, float* __restrict__ out, int rows, int columns,
               float epsilon) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    in += static_cast<long long>(row) * columns;
    out += static_cast<long long>(row) * columns;

    float sum = 0;
    for (int i = threadIdx.x % 32; i < columns; i += 32) sum += in[i];
    const float mean = warp_sum(sum) / static_cast<float>(columns);

    float squares = 0;
    for (int i = threadIdx.x % 32; i < columns; i += 32) {
        const float deviation = in[i] - mean;
        squares += deviation * deviation;
    }
    const float factor = rsqrtf(warp_sum(squares) / static_cast<float>(columns) + epsilon);

    for (int i = threadIdx.x % 32; i < columns; i += 32)
        out[i] = (in[i] - mean) * factor * scale[i] + shift[i];
}
// SPDX-License-Identifier: Apache-2.0
