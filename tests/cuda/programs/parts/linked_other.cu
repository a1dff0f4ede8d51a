// SPDX-License-Identifier: Apache-2.0
// The other file of linked.cu.
__device__ int everywhere = 100;
__constant__ float factor[4] = {1, 2, 3, 4};
static __device__ int own = 7;

__device__ float squared_and(float x) { return x * x + static_cast<float>(own); }
__global__ void there(float* x) { x[threadIdx.x] += factor[3]; }
void launch_other(float* x) { there<<<1, 32>>>(x); }
