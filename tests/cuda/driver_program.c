/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the driver API, in C: it finds libcuda.so.1 as any program does, launches a kernel,
 * and prints what it wrote. With the argument "empty" it measures launches of an empty kernel; with
 * "heap" kernels use memory that other launches got by malloc, rightly and wrongly; with
 * "faulty" it ends with a fault of its own in a function that the driver calls, with "interrupted"
 * in a signal's handler while a kernel runs. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/* Under the sanitizers: what `lockwarp exec` preloads comes before their runtime, and a fault is
 * the program's, not theirs. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) {
    return "verify_asan_link_order=0:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:"
           "handle_sigfpe=0";
}

typedef int (*Init)(unsigned);
typedef int (*CtxCreate)(void**, unsigned, int);
typedef int (*ModuleLoadData)(void**, const void*);
typedef int (*GetFunction)(void**, void*, const char*);
typedef int (*MemAlloc)(uint64_t*, size_t);
typedef int (*CopyIn)(uint64_t, const void*, size_t);
typedef int (*CopyOut)(void*, uint64_t, size_t);
typedef int (*Synchronize)(void);
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
typedef int (*LaunchHostFunc)(void*, void (*)(void*), void*);
typedef int (*GetProcAddress)(const char*, void**, int, uint64_t, int*);

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry twice(.param .u64 x)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n mov.u32 %r0, %tid.x;\n mul.wide.u32 %p1, %r0, 4;\n"
    " add.u64 %p2, %p0, %p1;\n ld.global.u32 %r1, [%p2];\n add.u32 %r1, %r1, %r1;\n"
    " st.global.u32 [%p2], %r1;\n ret;\n}\n"
    ".visible .entry empty()\n{\n ret;\n}\n"
    ".visible .entry count()\n{\n .reg .b32 %r<1>; .reg .pred %q;\n mov.u32 %r0, 0;\n"
    "next:\n add.u32 %r0, %r0, 1;\n setp.ne.u32 %q, %r0, 0;\n @%q bra next;\n ret;\n}\n";

static const char heap_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
    ".visible .entry get(.param .u64 x, .param .u64 n)\n{\n .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n"
    " { .param .b64 a; .param .b64 b; st.param.b64 [a], 8; call.uni (b), malloc, (a);\n"
    " ld.param.b64 %p1, [b]; }\n"
    " st.global.u32 [%p1], 42;\n st.global.u64 [%p0], %p1;\n ret;\n}\n"
    ".visible .entry look(.param .u64 x, .param .u64 n)\n{\n .reg .b32 %r; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n ld.param.u64 %p2, [n];\n ld.global.u64 %p1, [%p0];\n"
    " add.u64 %p1, %p1, %p2;\n ld.global.u32 %r, [%p1];\n st.global.u32 [%p0+8], %r;\n ret;\n}\n"
    ".visible .entry give(.param .u64 x, .param .u64 n)\n{\n .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [x];\n ld.global.u64 %p1, [%p0];\n"
    " { .param .b64 a; st.param.b64 [a], %p1; call.uni free, (a); }\n ret;\n}\n";

static GetProcAddress get_proc_address;

/* NULL where there is none. */
static void* function(const char* name) {
    void* out = NULL;
    int status = 0;
    if (get_proc_address(name, &out, 11000, 0, &status) != 0 || out == NULL)
        fprintf(stderr, "no %s\n", name);
    return out;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(const char* what, int result) {
    fprintf(stderr, "%s: %d\n", what, result);
    return 1;
}

static void fault(void* nowhere) { *(volatile int*)nowhere = 1; }

static void fault_at(int signal_number) {
    (void)signal_number;
    fault(NULL);
}

static int interrupted(Launch launch, void* kernel) {
    const struct itimerval soon = {{0, 0}, {0, 50000}};
    signal(SIGALRM, fault_at);
    setitimer(ITIMER_REAL, &soon, NULL);
    return launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static int measure(Launch launch, void* kernel, Synchronize synchronize) {
    enum { launches = 20000 };
    double begin;
    int i;
    if (launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0) return 1;
    begin = seconds();
    for (i = 0; i < launches; ++i)
        if (launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0) return 1;
    if (synchronize() != 0) return 1;
    printf("%.2f microseconds a launch\n", (seconds() - begin) / launches * 1e6);
    return 0;
}

/* A right use, one behind the block's end, one behind its free; and a block that stays. */
static int use_heap(Launch launch, ModuleLoadData load, GetFunction get, uint64_t x, CopyOut out) {
    static const struct {
        const char* kernel;
        uint64_t offset;
    } steps[] = {{"get", 0}, {"look", 0}, {"look", 8}, {"give", 0}, {"look", 4}, {"get", 0}};
    void *module = NULL, *kernel = NULL;
    uint32_t seen = 0;
    size_t i;
    int r = load(&module, heap_ptx);
    for (i = 0; r == 0 && i < sizeof steps / sizeof *steps; ++i) {
        uint64_t offset = steps[i].offset;
        void* parameters[2];
        parameters[0] = &x;
        parameters[1] = &offset;
        if ((r = get(&kernel, module, steps[i].kernel)) != 0) break;
        if ((r = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) != 0) break;
        if (i == 1 && (r = out(&seen, x + 8, sizeof seen)) == 0) printf("seen %u\n", seen);
    }
    return r == 0 ? 0 : fail("heap", r);
}

int main(int argc, char** argv) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL, *module = NULL, *kernel = NULL;
    uint64_t x = 0;
    uint32_t numbers[4] = {1, 2, 3, 21};
    void* parameters[1];
    Launch launch;
    int r;
    if (library == NULL) return fail(dlerror(), 0);
    *(void**)&get_proc_address = dlsym(library, "cuGetProcAddress_v2");
    if (get_proc_address == NULL) return fail("cuGetProcAddress_v2", 0);
    *(void**)&launch = function("cuLaunchKernel");
    if ((r = ((Init)function("cuInit"))(0)) != 0) return fail("cuInit", r);
    if ((r = ((CtxCreate)function("cuCtxCreate"))(&context, 0, 0)) != 0)
        return fail("cuCtxCreate", r);
    if ((r = ((ModuleLoadData)function("cuModuleLoadData"))(&module, ptx)) != 0)
        return fail("cuModuleLoadData", r);
    if (argc > 1 && strcmp(argv[1], "empty") == 0) {
        r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "empty");
        if (r != 0) return fail("cuModuleGetFunction", r);
        return measure(launch, kernel, (Synchronize)function("cuCtxSynchronize"));
    }
    if (argc > 1 && strcmp(argv[1], "interrupted") == 0) {
        r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "count");
        return r != 0 ? fail("cuModuleGetFunction", r) : interrupted(launch, kernel);
    }
    if ((r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "twice")) != 0)
        return fail("cuModuleGetFunction", r);
    if ((r = ((MemAlloc)function("cuMemAlloc"))(&x, sizeof numbers)) != 0)
        return fail("cuMemAlloc", r);
    if (argc > 1 && strcmp(argv[1], "heap") == 0)
        return use_heap(launch, (ModuleLoadData)function("cuModuleLoadData"),
                        (GetFunction)function("cuModuleGetFunction"), x,
                        (CopyOut)function("cuMemcpyDtoH"));
    if ((r = ((CopyIn)function("cuMemcpyHtoD"))(x, numbers, sizeof numbers)) != 0)
        return fail("cuMemcpyHtoD", r);
    parameters[0] = &x;
    if ((r = launch(kernel, 1, 1, 1, 4, 1, 1, 0, NULL, parameters, NULL)) != 0)
        return fail("cuLaunchKernel", r);
    if ((r = ((CopyOut)function("cuMemcpyDtoH"))(numbers, x, sizeof numbers)) != 0)
        return fail("cuMemcpyDtoH", r);
    printf("x[3] = %u\n", numbers[3]);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "faulty") == 0)
        return ((LaunchHostFunc)function("cuLaunchHostFunc"))(NULL, fault, NULL);
    return 0;
}
