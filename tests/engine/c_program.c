/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program that loads the library when it runs, as Python does, and a kernel of gpu/kernels: what
 * the kernel gives, what lockwarp_mma gives and what arithmetic on integers gives must be the same.
 *   c_program LIBRARY mma_m16n8k16.sm_80.ptx
 */
#include <dlfcn.h>
#include <lockwarp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { m = 16, n = 8, k = 16 };

/* The f16 of an integer below 2048, which it holds exactly. */
static uint16_t f16_of(unsigned value) {
    unsigned exponent = 0;
    if (value == 0) return 0;
    while (value >> (exponent + 1) != 0) ++exponent;
    return (uint16_t)((exponent + 15) << 10 | ((value << 10 >> exponent) & 0x3ff));
}

static void* library;

static void* symbol(const char* name) {
    void* const found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(2);
    }
    return found;
}

/* A function of the library: its type is that of its declaration. */
#define LOAD(name) \
    __typeof__(name)* const name##_ = (__typeof__(name)*)(uintptr_t)symbol(#name)

static char* read_file(const char* path, size_t* size) {
    FILE* const file = fopen(path, "rb");
    char* const text = malloc(1 << 20);
    if (file == NULL || text == NULL) exit(2);
    *size = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

static void need(int good, const char* what) {
    if (good) return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

int main(int argc, char** argv) {
    uint16_t a[m][k], b[k][n], by_column[n][k], d[m][n];
    float product[m][n];
    uint64_t parameters[3];
    lockwarp_launch_options options = {0};
    lockwarp_mma_operands operands = {0};
    lockwarp_context* context = NULL;
    lockwarp_module* module = NULL;
    const lockwarp_kernel* kernel = NULL;
    size_t size = 0;
    char* text = NULL;
    unsigned i, j, l;
    if (argc != 3) return 2;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    LOAD(lockwarp_abi);
    LOAD(lockwarp_context_create);
    LOAD(lockwarp_context_destroy);
    LOAD(lockwarp_register);
    LOAD(lockwarp_module_load);
    LOAD(lockwarp_module_destroy);
    LOAD(lockwarp_module_kernel);
    LOAD(lockwarp_launch);
    LOAD(lockwarp_mma);
    need(lockwarp_abi_() == LOCKWARP_ABI, "lockwarp_abi");

    for (i = 0; i < m; ++i)
        for (l = 0; l < k; ++l) a[i][l] = f16_of((3 * i + 5 * l) % 8);
    for (l = 0; l < k; ++l)
        for (j = 0; j < n; ++j) b[l][j] = by_column[j][l] = f16_of((7 * l + 2 * j + 1) % 8);
    text = read_file(argv[2], &size);
    need(lockwarp_context_create_(NULL, &context, NULL) == LOCKWARP_OK, "context");
    need(lockwarp_module_load_(context, text, size, NULL, &module, NULL) == LOCKWARP_OK, "module");
    need(lockwarp_module_kernel_(module, NULL, &kernel, NULL) == LOCKWARP_OK, "kernel");
    {
        const lockwarp_range ranges[3] = {
            {a, 0, sizeof a, "a"}, {by_column, 0, sizeof by_column, "b"}, {d, 0, sizeof d, "d"}};
        for (i = 0; i < 3; ++i) {
            parameters[i] = (uint64_t)(uintptr_t)ranges[i].bytes;
            need(lockwarp_register_(context, &ranges[i], NULL) == LOCKWARP_OK, "range");
        }
    }
    options.struct_size = sizeof options;
    options.block[0] = 32;
    options.parameters = parameters;
    options.parameter_bytes = sizeof parameters;
    need(lockwarp_launch_(kernel, &options, NULL, NULL) == LOCKWARP_OK, "launch");

    operands.struct_size = sizeof operands;
    operands.batch = 1;
    operands.a = a;
    operands.b = b;
    operands.d = product;
    need(lockwarp_mma_("m16n8k16.f32.f16.f16.f32", "sm_80", &operands, NULL) == LOCKWARP_OK, "mma");

    for (i = 0; i < m; ++i)
        for (j = 0; j < n; ++j) {
            unsigned sum = 0;
            for (l = 0; l < k; ++l) sum += (3 * i + 5 * l) % 8 * ((7 * l + 2 * j + 1) % 8);
            need(sum != 0 && d[i][j] == f16_of(sum), "an element of the kernel's D");
            need(product[i][j] == (float)sum, "an element of lockwarp_mma's D");
        }
    lockwarp_module_destroy_(module);
    lockwarp_context_destroy_(context);
    free(text);
    dlclose(library);
    return 0;
}
