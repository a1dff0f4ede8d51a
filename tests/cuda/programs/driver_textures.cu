// SPDX-License-Identifier: Apache-2.0
// The driver API: arrays, copies to and from them, texture and surface objects, and kernels in PTX
// that use them.
// nvcc: -lcuda
#include "driver_check.hpp"

// look(t, out): out[4 * n] what tex gives at (n, 0), of four kinds; double_all(s): each of 8
// numbers of a surface's row; coordinates also as a vector, and without braces.
const char* const textures_ptx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry look(.param .u64 t, .param .u64 out)
{
 .reg .b64 %t, %p, %o; .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .v2 .f32 %at;
 ld.param.u64 %t, [t];
 ld.param.u64 %p, [out];
 mov.u32 %r0, %tid.x;
 mul.wide.u32 %o, %r0, 16;
 add.u64 %p, %p, %o;
 cvt.rn.f32.u32 %f0, %r0;
 mov.f32 %f1, 0f00000000;
 mov.f32 %at.x, %f0;
 mov.f32 %at.y, %f1;
 mov.u32 %r1, 0;
 tex.2d.v4.s32.f32 {%r2, %r3, %r4, %r5}, [%t, {%f0, %f1}];
 st.global.u32 [%p], %r2;
 tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%t, {%r0, %r1}];
 st.global.u32 [%p+4], %r3;
 tex.2d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%t, %at];
 st.global.u32 [%p+8], %r2;
 tex.level.2d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%t, {%f0, %f1}], %f1;
 st.global.u32 [%p+12], %r3;
 ret;
}
.visible .entry double_all(.param .u64 s)
{
 .reg .b64 %s; .reg .b32 %r<6>;
 ld.param.u64 %s, [s];
 mov.u32 %r0, %tid.x;
 shl.b32 %r1, %r0, 3;
 mov.u32 %r2, 0;
 suld.b.2d.v2.b32.trap {%r3, %r4}, [%s, {%r1, %r2}];
 add.u32 %r3, %r3, %r3;
 add.u32 %r4, %r4, %r4;
 sust.b.2d.v2.b32.zero [%s, {%r1, %r2}], {%r3, %r4};
 ret;
}
)";

constexpr unsigned width = 4, height = 2, row = width * 2 * sizeof(int);

void copies(CUarray a, CUstream stream) {
    int h[2 * width], back[2 * width];
    for (int i = 0; i < int(2 * width); ++i) h[i] = 10 + i;
    CUarray line = nullptr;
    const CUDA_ARRAY_DESCRIPTOR d{2 * width, 0, CU_AD_FORMAT_SIGNED_INT32, 1};
    DO(cuArrayCreate(&line, &d));
    CUDA_ARRAY_DESCRIPTOR said{};
    DO(cuArrayGetDescriptor(&said, line));
    CHECK(said.Width == 2 * width && said.Height == 0 && said.NumChannels == 1);
    DO(cuMemcpyHtoA(line, 0, h, row));
    DO(cuMemcpyAtoH(back, line, 4, row - 4));
    CHECK(back[0] == 11 && back[6] == 17);
    DO(cuMemcpyHtoAAsync(line, 4, h, 4, stream));
    DO(cuMemcpyAtoHAsync(back, line, 0, row, stream));
    DO(cuStreamSynchronize(stream));
    CHECK(back[0] == 10 && back[1] == 10 && back[2] == 12);
    CUdeviceptr p = 0;
    DO(cuMemAlloc(&p, row));
    DO(cuMemcpyAtoD(p, line, 0, row));
    DO(cuMemcpyDtoA(line, 16, p, 4));
    DO(cuMemcpyAtoH(back, line, 16, 4));
    CHECK(back[0] == 10);
    DO(cuMemFree(p));
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = h;
    c.srcPitch = row;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.WidthInBytes = row;
    c.Height = 1;
    DO(cuMemcpy2D(&c));
    DO(cuMemcpyAtoA(line, 0, a, 0, row));
    DO(cuMemcpyAtoH(back, line, 0, row));
    CHECK(std::memcmp(back, h, row) == 0);
    EXPECT_RESULT(cuMemcpyHtoA(line, 4, h, row), CUDA_ERROR_INVALID_VALUE);
    DO(cuArrayDestroy(line));
}

int main() {
    DO(cuInit(0));
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUstream stream = nullptr;
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuModuleLoadData(&module, textures_ptx));
    DO(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CUarray a = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{
        width, height, 0, CU_AD_FORMAT_SIGNED_INT32, 2, CUDA_ARRAY3D_SURFACE_LDST};
    DO(cuArray3DCreate(&a, &shape));
    CUDA_ARRAY3D_DESCRIPTOR said{};
    DO(cuArray3DGetDescriptor(&said, a));
    CHECK(said.Width == width && said.Height == height && said.NumChannels == 2 &&
          said.Flags == CUDA_ARRAY3D_SURFACE_LDST);
    copies(a, stream);

    CUDA_RESOURCE_DESC r{};
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = a;
    CUDA_TEXTURE_DESC t{};
    for (auto& mode : t.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    t.flags = CU_TRSF_READ_AS_INTEGER;
    CUtexObject texture = 0;
    // A view that shows the array as it is, as Dr.Jit makes them.
    CUDA_RESOURCE_VIEW_DESC view{};
    view.format = CU_RES_VIEW_FORMAT_SINT_2X32;
    view.width = width;
    view.height = height;
    DO(cuTexObjectCreate(&texture, &r, &t, &view));
    DO(cuTexObjectDestroy(texture));
    DO(cuTexObjectCreate(&texture, &r, &t, nullptr));
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC lookup{};
    DO(cuTexObjectGetResourceDesc(&resource, texture));
    DO(cuTexObjectGetTextureDesc(&lookup, texture));
    CHECK(resource.res.array.hArray == a && lookup.flags == CU_TRSF_READ_AS_INTEGER);
    // Elements that stay integers are filtered (a runtime refuses them).
    CUtexObject filtered = 0;
    CUDA_TEXTURE_DESC filter = t;
    filter.filterMode = CU_TR_FILTER_MODE_LINEAR;
    DO(cuTexObjectCreate(&filtered, &r, &filter, nullptr));
    DO(cuTexObjectDestroy(filtered));
    CUsurfObject surface = 0;
    DO(cuSurfObjectCreate(&surface, &r));
    DO(cuSurfObjectGetResourceDesc(&resource, surface));
    CHECK(resource.resType == CU_RESOURCE_TYPE_ARRAY && resource.res.array.hArray == a);

    CUfunction look = nullptr, twice = nullptr;
    DO(cuModuleGetFunction(&look, module, "look"));
    DO(cuModuleGetFunction(&twice, module, "double_all"));
    CUdeviceptr out = 0;
    DO(cuMemAlloc(&out, width * 16));
    void* of_twice[] = {&surface};
    DO(cuLaunchKernel(twice, 1, 1, 1, width, 1, 1, 0, stream, of_twice, nullptr));
    void* of_look[] = {&texture, &out};
    DO(cuLaunchKernel(look, 1, 1, 1, width, 1, 1, 0, stream, of_look, nullptr));
    int h[width][4];
    DO(cuMemcpyDtoHAsync(h, out, sizeof h, stream));
    DO(cuStreamSynchronize(stream));
    for (int i = 0; i < int(width); ++i) {
        const int x = 2 * (10 + 2 * i), y = 2 * (11 + 2 * i);
        CHECK(h[i][0] == x && h[i][1] == y && h[i][2] == x && h[i][3] == y);
    }
    DO(cuMemFree(out));
    DO(cuSurfObjectDestroy(surface));
    DO(cuTexObjectDestroy(texture));
    DO(cuArrayDestroy(a));
    DO(cuStreamDestroy(stream));
    DO(cuModuleUnload(module));
    DO(cuDevicePrimaryCtxRelease(device));
    return done("driver_textures");
}
