/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a library that is linked with NVRTC, for itself alone, as plugins are opened, and prints
 * what its machine code is. */
#include <dlfcn.h>
#include <stdio.h>

/* Under the sanitizers: what `lockwarp exec` preloads comes before their runtime. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return "verify_asan_link_order=0"; }

int main(int argc, char** argv) {
    void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) return 2;
    int (*const machine_code)(char*, size_t) =
        (int (*)(char*, size_t))dlsym(library, "plugin_machine_code");
    char text[256] = "";
    const int result = machine_code != NULL ? machine_code(text, sizeof text) : -1;
    printf("%d %s\n", result, text);
    return result != 0;
}
