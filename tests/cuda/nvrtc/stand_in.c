/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of NVRTC: its "machine code" of a program is the empty one, as of an architecture
 * "compute_80", and its PTX the options that it was given. */
#include <stdio.h>
#include <string.h>

static char given[256];

int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    (void)program;
    given[0] = 0;
    for (int i = 0; i < count; ++i)
        snprintf(given + strlen(given), sizeof given - strlen(given), "%s,", options[i]);
    return 0;
}
int nvrtcGetCUBINSize(void* program, size_t* size) {
    (void)program;
    *size = 0;
    return 0;
}
int nvrtcGetCUBIN(void* program, char* text) {
    (void)program;
    (void)text;
    return 1;
}
int nvrtcGetPTXSize(void* program, size_t* size) {
    (void)program;
    *size = strlen(given) + 1;
    return 0;
}
int nvrtcGetPTX(void* program, char* text) {
    (void)program;
    strcpy(text, given);
    return 0;
}
