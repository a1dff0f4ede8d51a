/* SPDX-License-Identifier: Apache-2.0 */
#include <lockwarp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* x[i] = 2 * x[i], a thread each. */
static const char source[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry twice(.param .u64 x)\n"
    "{\n"
    "    .reg .b32 %i;\n"
    "    .reg .f32 %f;\n"
    "    .reg .b64 %p<3>;\n"
    "    ld.param.u64 %p0, [x];\n"
    "    mov.u32 %i, %tid.x;\n"
    "    mul.wide.u32 %p1, %i, 4;\n"
    "    add.u64 %p2, %p0, %p1;\n"
    "    ld.global.f32 %f, [%p2];\n"
    "    add.f32 %f, %f, %f;\n"
    "    st.global.f32 [%p2], %f;\n"
    "    ret;\n"
    "}\n";

/* Prints what is wrong. Of an error that is not given (NULL) the text is empty. */
static lockwarp_status report(lockwarp_status status, lockwarp_error **error) {
    if (status != LOCKWARP_OK)
        printf("%s: %s\n", lockwarp_status_name(status), lockwarp_error_message(*error));
    lockwarp_error_destroy(*error);
    *error = NULL;
    return status;
}

/* One CTA of `threads` threads on 32 floats. */
static lockwarp_status run(const lockwarp_kernel *kernel, float *x, uint32_t threads) {
    const uint64_t parameters[1] = {(uint64_t)(uintptr_t)x}; /* its own address */
    const lockwarp_range range = {x, 0, 32 * sizeof *x, "x"};
    lockwarp_launch_options options = {0};
    lockwarp_error *error = NULL;
    lockwarp_status status;
    options.struct_size = sizeof options;
    options.block[0] = threads;
    options.parameters = parameters;
    options.parameter_bytes = sizeof parameters;
    options.ranges = &range;
    options.range_count = 1;
    status = lockwarp_launch(kernel, &options, NULL, &error);
    return report(status, &error);
}

int main(void) {
    lockwarp_context *context = NULL;
    lockwarp_module *module = NULL;
    const lockwarp_kernel *kernel = NULL;
    lockwarp_error *error = NULL;
    lockwarp_status status;
    float x[32];
    int i;
    for (i = 0; i < 32; ++i) x[i] = (float)i;

    status = lockwarp_context_create(NULL, &context, &error);
    if (status == LOCKWARP_OK)
        status = lockwarp_module_load(context, source, strlen(source), NULL, &module, &error);
    if (status == LOCKWARP_OK) status = lockwarp_module_kernel(module, "twice", &kernel, &error);
    if (report(status, &error) != LOCKWARP_OK) return 1;

    if (run(kernel, x, 32) != LOCKWARP_OK) return 1;
    printf("x[31] = %g\n", (double)x[31]);
    /* Thread 32 is one too many: its access is a trap. */
    if (run(kernel, x, 33) != LOCKWARP_TRAPPED) return 1;

    lockwarp_module_destroy(module);
    lockwarp_context_destroy(context);
    return 0;
}
