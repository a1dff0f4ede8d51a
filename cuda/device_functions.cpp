// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_functions.hpp"

#include <string_view>
#include <vector>

#include "cuda/merge.hpp"

namespace lockwarp::cuda {

namespace {

struct DeviceFunction {
    std::string_view name;
    std::string_view text;
};

constexpr DeviceFunction functions[] = {
    {"cudaGraphSetConditional", R"(.version 6.0
.target sm_50
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
 .reg .b64 %handle;
 .reg .b32 %value;
 ld.param.b64 %handle, [handle];
 ld.param.b32 %value, [value];
 st.global.b32 [%handle], %value;
 ret;
}
)"},
    // The handle of cudaCGScopeGrid (1) is the address of the launch's workspace, 0 where the
    // launch is not cooperative; there are no others.
    {"cudaCGGetIntrinsicHandle", R"(.version 6.0
.target sm_70
.address_size 64
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
 .reg .b32 %low, %high, %scope;
 .reg .b64 %handle;
 .reg .pred %grid;
 ld.param.b32 %scope, [scope];
 setp.eq.u32 %grid, %scope, 1;
 mov.u32 %high, %envreg1;
 mov.u32 %low, %envreg2;
 mov.b64 %handle, {%low, %high};
 selp.b64 %handle, %handle, 0, %grid;
 st.param.b64 [handle], %handle;
 ret;
}
)"},
    // The upper bit of the word behind the workspace's size turns when the last CTA has come: the
    // first CTA adds 0x80000000 less the number of the others, each of which adds 1.
    {"cudaCGSynchronize", R"(.version 6.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
 .reg .b64 %handle;
 .reg .b32 %x, %y, %z, %add, %before, %now;
 .reg .pred %other, %first, %waits;
 ld.param.b64 %handle, [handle];
 setp.eq.u64 %other, %handle, 0;
 @%other bra no_grid;
 bar.sync 0;
 mov.u32 %x, %tid.x;
 mov.u32 %y, %tid.y;
 mov.u32 %z, %tid.z;
 or.b32 %x, %x, %y;
 or.b32 %x, %x, %z;
 setp.ne.u32 %other, %x, 0;
 @%other bra together;
 mov.u32 %x, %nctaid.x;
 mov.u32 %y, %nctaid.y;
 mov.u32 %z, %nctaid.z;
 mul.lo.u32 %add, %x, %y;
 mul.lo.u32 %add, %add, %z;
 sub.u32 %add, 0x80000001, %add;
 mov.u32 %x, %ctaid.x;
 mov.u32 %y, %ctaid.y;
 mov.u32 %z, %ctaid.z;
 or.b32 %x, %x, %y;
 or.b32 %x, %x, %z;
 setp.eq.u32 %first, %x, 0;
 selp.b32 %add, %add, 1, %first;
 fence.acq_rel.gpu;
 atom.acq_rel.gpu.global.add.u32 %before, [%handle+4], %add;
wait:
 ld.acquire.gpu.global.u32 %now, [%handle+4];
 xor.b32 %now, %now, %before;
 and.b32 %now, %now, 0x80000000;
 setp.eq.u32 %waits, %now, 0;
 @%waits bra wait;
 fence.acq_rel.gpu;
together:
 bar.sync 0;
 st.param.b32 [result], 0;
 ret;
no_grid:
 st.param.b32 [result], 999;
 ret;
}
)"},
};

}  // namespace

std::string with_device_functions(const std::string& text) {
    std::vector<std::string> texts;
    for (const DeviceFunction& f : functions)
        if (text.find(f.name) != std::string::npos) texts.emplace_back(f.text);
    if (texts.empty()) return {};
    texts.insert(texts.begin(), text);
    // What is wrong with the text comes to light where it is loaded as it is.
    return merge(texts).text;
}

bool is_device_runtime(const char* path) {
    const std::string_view whole = path != nullptr ? path : "";
    return whole.substr(whole.rfind('/') + 1).starts_with("libcudadevrt.");
}

}  // namespace lockwarp::cuda
