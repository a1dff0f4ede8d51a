// The transpose of a matrix through tiles of 32x32 in shared memory.
//
//   in: rows x columns f32, out: columns x rows f32, both row-major. Arguments: in, out, rows,
//   columns. Grid: ceil(columns / 32), ceil(rows / 32). CTA: 32 x 8 threads.
//
//   transpose            rows of 33 elements: the columns of a tile lie in different banks
//   transpose_conflicts  rows of 32: a column of a tile lies in one bank
template <int pitch>
__device__ void transpose_tile(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[32][pitch];
    int column = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (column < columns && row + i < rows)
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * columns + column];
    }
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (column < rows && row + i < columns)
            out[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
    }
}

extern "C" __global__ void __launch_bounds__(256)
    transpose(const float* in, float* out, int rows, int columns) {
    transpose_tile<33>(in, out, rows, columns);
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_conflicts(const float* in, float* out, int rows, int columns) {
    transpose_tile<32>(in, out, rows, columns);
}
// SPDX-License-Identifier: Apache-2.0
