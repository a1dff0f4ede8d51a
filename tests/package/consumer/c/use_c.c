/* SPDX-License-Identifier: Apache-2.0 */
/* lockwarp::c: runs a kernel that stores 42, and prints what came back. */
#include <lockwarp.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry answer(.param .u64 out) {\n"
        "  .reg .b64 %p;\n  ld.param.u64 %p, [out];\n  st.global.u32 [%p], 42;\n  ret;\n}\n";
    lockwarp_context* context = NULL;
    lockwarp_module* module = NULL;
    const lockwarp_kernel* kernel = NULL;
    lockwarp_launch_options options = {0};
    uint32_t answer = 0;
    const uint64_t parameter = (uint64_t)(uintptr_t)&answer;
    const lockwarp_range range = {&answer, 0, sizeof answer, "answer"};
    options.struct_size = sizeof options;
    options.parameters = &parameter;
    options.parameter_bytes = sizeof parameter;
    options.ranges = &range;
    options.range_count = 1;
    if (lockwarp_context_create(NULL, &context, NULL) != LOCKWARP_OK) return 2;
    if (lockwarp_module_load(context, text, strlen(text), NULL, &module, NULL) != LOCKWARP_OK)
        return 2;
    if (lockwarp_module_kernel(module, NULL, &kernel, NULL) != LOCKWARP_OK) return 2;
    if (lockwarp_launch(kernel, &options, NULL, NULL) != LOCKWARP_OK) return 1;
    printf("lockwarp %s: %u\n", lockwarp_version(), answer);
    lockwarp_module_destroy(module);
    lockwarp_context_destroy(context);
    return 0;
}
