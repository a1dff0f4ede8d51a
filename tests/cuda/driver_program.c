/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the driver API, in C: it finds libcuda.so.1 as any program does, launches a kernel,
 * and prints what it wrote. With the argument "empty" it measures launches of an empty kernel; with
 * "fused" it launches a kernel that a compiler may change, with "talking" one that prints too, with
 * "maps" kernels copy by tensor maps, in a parameter and in memory; with "functions" kernels that
 * call by a table and by what one of them left in memory; with "heap" kernels use memory that
 * other launches got by malloc, rightly and wrongly; with "linked" nvJitLink makes what it loads,
 * with "warm" an empty kernel is launched before; with "added" threads add f32 numbers, in
 * whichever order; with "behind" it is given the end of what it changes, with "fixed" its address
 * stands in its text; with "joined" cuLink makes it, of two texts, and it is copied before it is
 * loaded; with "reused" a handle is another kernel's in a second launch, which is asked for behind
 * the back of what watches the driver, with "unloaded" one of the same name in another module, and
 * the first was unloaded; with "passed" a kernel leaves the address of a function that the host
 * gives another to call, and that of a variable, in a module where others use textures and
 * allocate; with "faulty" it ends with a fault of its own in a function that the driver calls, with
 * "interrupted" in a signal's handler while a kernel runs; with "waits" a kernel waits for what it
 * copies after the launch of another; with "launches" a kernel launches another, a copy and a fill,
 * with "asks" it asks what the driver knows of the device and a kernel, with "texts" and "refused"
 * what it does not; with "deep" the address of what it changes lies far within other memory; with
 * "mapped" or "behind mapped" what it changes lies in two mappings, one behind the other; with
 * "graph" it launches a graph. Where it is compiled with LOCKWARP_COMPILED_APART its kernel's PTX
 * lies in two objects, as nvcc -rdc=true puts it there, and what it loads is what was linked of
 * them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
/* GCC 12's leak sanitizer takes what lies before the thread-local memory of a library that was
 * opened later for its size, and may stop there: it leaves that memory out, and what glibc keeps in
 * it alone is no leak. */
const char* __lsan_default_options(void);
const char* __lsan_default_options(void) { return "use_tls=0:print_suppressions=0"; }
const char* __lsan_default_suppressions(void);
const char* __lsan_default_suppressions(void) {
    return "leak:add_to_global_resize\nleak:__cxa_thread_atexit_impl\n";
}

typedef int (*Init)(unsigned);
typedef int (*CtxCreate)(void**, unsigned, int);
typedef int (*ModuleLoadData)(void**, const void*);
typedef int (*ModuleUnload)(void*);
typedef int (*GetFunction)(void**, void*, const char*);
typedef int (*MemAlloc)(uint64_t*, size_t);
typedef int (*CopyIn)(uint64_t, const void*, size_t);
typedef int (*CopyOut)(void*, uint64_t, size_t);
typedef int (*Synchronize)(void);
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
typedef int (*LaunchHostFunc)(void*, void (*)(void*), void*);
typedef int (*GetProcAddress)(const char*, void**, int, uint64_t, int*);

static const char launching_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 k,\n"
    " .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 t, .param .b64 f,\n"
    " .param .b64 n, .param .b32 k, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 t, .param .b32 v,\n"
    " .param .b64 n, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2DeviceGetLimit(.param .b64 v, .param .b32 l);\n"
    ".extern .func (.param .b32 r) __cudaCDP2DeviceGetAttribute(.param .b64 v, .param .b32 a,\n"
    " .param .b32 d);\n"
    ".extern .func (.param .b32 r) __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor(\n"
    " .param .b64 v, .param .b64 k, .param .b32 t, .param .b64 d);\n"
    ".extern .func (.param .b32 r) __cudaCDP2FuncGetAttributes(.param .b64 v, .param .b64 k);\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetErrorString(.param .b32 e);\n"
    ".visible .global .align 8 .b8 kept[40];\n"
    ".visible .entry twice(.param .u64 x)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n mov.u32 %r0, %tid.x;\n mul.wide.u32 %p1, %r0, 4;\n"
    " add.u64 %p2, %p0, %p1;\n ld.global.u32 %r1, [%p2];\n add.u32 %r1, %r1, %r1;\n"
    " st.global.u32 [%p2], %r1;\n ret;\n}\n"
    ".visible .entry launches(.param .u64 x)\n{\n"
    " .reg .b32 %r; .reg .b64 %x, %y, %k, %b; .reg .pred %q;\n"
    " mov.u32 %r, %tid.x;\n setp.ne.u32 %q, %r, 0;\n @%q ret;\n"
    " ld.param.u64 %x, [x];\n add.u64 %y, %x, 12;\n mov.u64 %k, twice;\n"
    " { .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s;\n"
    " .param .b64 r;\n st.param.b64 [k], %k;\n st.param.b32 [s], 0;\n"
    " st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    " st.param.b32 [b], 4; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
    " call (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s);\n ld.param.b64 %b, [r]; }\n"
    " st.u64 [%b], %x;\n"
    " { .param .b64 p; .param .b64 s; .param .b32 r;\n st.param.b64 [p], %b;\n"
    " st.param.b64 [s], 0;\n call (r), __cudaCDP2LaunchDeviceV2, (p, s); }\n"
    " { .param .b64 t; .param .b64 f; .param .b64 n; .param .b32 k; .param .b64 s; .param .b32 r;\n"
    " st.param.b64 [t], %x; st.param.b64 [f], %y; st.param.b64 [n], 4;\n"
    " st.param.b32 [k], 4; st.param.b64 [s], 0;\n"
    " call (r), __cudaCDP2MemcpyAsync, (t, f, n, k, s); }\n"
    " add.u64 %y, %x, 4;\n"
    " { .param .b64 t; .param .b32 v; .param .b64 n; .param .b64 s; .param .b32 r;\n"
    " st.param.b64 [t], %y; st.param.b32 [v], 0; st.param.b64 [n], 4; st.param.b64 [s], 0;\n"
    " call (r), __cudaCDP2MemsetAsync, (t, v, n, s); }\n ret;\n}\n"
    ".visible .entry asks(.param .u64 x)\n{\n .reg .b64 %x, %y, %z, %k, %a;\n"
    " ld.param.u64 %x, [x];\n add.u64 %y, %x, 8;\n add.u64 %z, %x, 12;\n mov.u64 %k, twice;\n"
    " mov.u64 %a, kept;\n cvta.global.u64 %a, %a;\n"
    " { .param .b64 v; .param .b32 l; .param .b32 r;\n st.param.b64 [v], %x;\n"
    " st.param.b32 [l], 2;\n call (r), __cudaCDP2DeviceGetLimit, (v, l); }\n"
    " { .param .b64 v; .param .b32 a; .param .b32 d; .param .b32 r;\n st.param.b64 [v], %y;\n"
    " st.param.b32 [a], 39;\n st.param.b32 [d], 0;\n"
    " call (r), __cudaCDP2DeviceGetAttribute, (v, a, d); }\n"
    " { .param .b64 v; .param .b64 k; .param .b32 t; .param .b64 d; .param .b32 r;\n"
    " st.param.b64 [v], %z;\n st.param.b64 [k], %k;\n st.param.b32 [t], 96;\n"
    " st.param.b64 [d], 1000;\n"
    " call (r), __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor, (v, k, t, d); }\n"
    " { .param .b64 v; .param .b64 k; .param .b32 r;\n st.param.b64 [v], %a;\n"
    " st.param.b64 [k], %k;\n call (r), __cudaCDP2FuncGetAttributes, (v, k); }\n ret;\n}\n"
    ".visible .entry texts(.param .u64 x)\n{\n .param .b32 e; .param .b64 r;\n"
    " st.param.b32 [e], 9;\n call (r), __cudaCDP2GetErrorString, (e);\n ret;\n}\n"
    ".visible .entry refused(.param .u64 x)\n{\n .reg .b64 %x;\n ld.param.u64 %x, [x];\n"
    " { .param .b64 v; .param .b32 l; .param .b32 r;\n st.param.b64 [v], %x;\n"
    " st.param.b32 [l], 99;\n call (r), __cudaCDP2DeviceGetLimit, (v, l); }\n ret;\n}\n";

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry twice(.param .u64 x)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n mov.u32 %r0, %tid.x;\n mul.wide.u32 %p1, %r0, 4;\n"
    " add.u64 %p2, %p0, %p1;\n ld.global.u32 %r1, [%p2];\n add.u32 %r1, %r1, %r1;\n"
    " st.global.u32 [%p2], %r1;\n ret;\n}\n"
    ".visible .entry behind(.param .u64 x)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n mov.u32 %r0, %tid.x;\n mul.wide.u32 %p1, %r0, 4;\n"
    " sub.u64 %p2, %p0, %p1;\n ld.global.u32 %r1, [%p2-4];\n add.u32 %r1, %r1, %r1;\n"
    " st.global.u32 [%p2-4], %r1;\n ret;\n}\n"
    ".visible .entry added(.param .u64 x)\n{\n"
    " .reg .f32 %f; .reg .b64 %p;\n"
    " ld.param.u64 %p, [x];\n ld.global.f32 %f, [%p+4];\n red.global.add.f32 [%p], %f;\n"
    " ret;\n}\n"
    ".visible .entry fused(.param .u64 x)\n{\n"
    " .reg .f32 %f<2>; .reg .b64 %p;\n"
    " ld.param.u64 %p, [x];\n ld.global.f32 %f0, [%p];\n mul.f32 %f1, %f0, %f0;\n"
    " add.f32 %f1, %f1, %f0;\n st.global.f32 [%p], %f1;\n ret;\n}\n"
    ".visible .entry empty()\n{\n ret;\n}\n"
    ".visible .entry waits(.param .u64 x)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %p; .reg .pred %q;\n"
    " ld.param.u64 %p, [x];\n"
    "look:\n ld.volatile.global.u32 %r0, [%p];\n setp.eq.u32 %q, %r0, 0;\n @%q bra look;\n"
    " ld.volatile.global.u32 %r1, [%p+12];\n add.u32 %r1, %r1, %r0;\n"
    " st.volatile.global.u32 [%p+12], %r1;\n ret;\n}\n"
    ".visible .entry count()\n{\n .reg .b32 %r<1>; .reg .pred %q;\n mov.u32 %r0, 0;\n"
    "next:\n add.u32 %r0, %r0, 1;\n setp.ne.u32 %q, %r0, 0;\n @%q bra next;\n ret;\n}\n";

static const char talking_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
    ".global .align 1 .b8 said[6] = {115, 97, 105, 100, 10, 0};\n"
    ".visible .entry talking(.param .u64 x)\n{\n"
    " .reg .f32 %f<2>; .reg .b32 %t; .reg .pred %q; .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [x];\n ld.global.f32 %f0, [%p0];\n mul.f32 %f1, %f0, %f0;\n"
    " add.f32 %f1, %f1, %f0;\n st.global.f32 [%p0], %f1;\n"
    " mov.u32 %t, %tid.x;\n setp.ne.u32 %q, %t, 0;\n @%q ret;\n"
    " cvta.global.u64 %p1, said;\n"
    " { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %p1; st.param.b64 [b], 0;\n"
    " call.uni (c), vprintf, (a, b); }\n ret;\n}\n";

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

static const char functions_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".func (.param .b32 r) three()\n{\n st.param.b32 [r], 3;\n ret;\n}\n"
    ".func (.param .b32 r) four()\n{\n st.param.b32 [r], 4;\n ret;\n}\n"
    ".global .align 8 .u64 table[2] = {three, four};\n"
    ".visible .entry pick(.param .u64 x)\n{\n .reg .b32 %r; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n ld.global.u64 %p1, [table+8];\n"
    " st.global.u64 [%p0+8], %p1;\n"
    " { .param .b32 a; pr: .callprototype (.param .b32 _) _ (); call (a), %p1, (), pr;\n"
    " ld.param.b32 %r, [a]; }\n st.global.u32 [%p0], %r;\n ret;\n}\n"
    ".visible .entry again(.param .u64 x)\n{\n .reg .b32 %r<2>; .reg .b64 %p<3>;\n"
    " ld.param.u64 %p0, [x];\n ld.global.u64 %p1, [%p0+8];\n"
    " { .param .b32 a; pr: .callprototype (.param .b32 _) _ (); call (a), %p1, (), pr;\n"
    " ld.param.b32 %r0, [a]; }\n ld.global.u32 %r1, [%p0];\n add.u32 %r0, %r0, %r1;\n"
    " st.global.u32 [%p0], %r0;\n ret;\n}\n";

static const char maps_ptx[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".func copy(.reg .b64 %m, .reg .b64 %x)\n{\n"
    " .reg .b32 %r<5>; .reg .pred %q;\n .shared .align 128 .b8 s[256]; .shared .align 8 .b64 b;\n"
    " mbarrier.init.shared.b64 [b], 1;\n fence.proxy.async.shared::cta;\n"
    " mbarrier.arrive.expect_tx.shared.b64 _, [b], 256;\n mov.u32 %r0, 0; mov.u32 %r1, 2;\n"
    " cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[s], [%m, {%r0, %r1}], [b];\n"
    "wait:\n mbarrier.try_wait.parity.shared.b64 %q, [b], 0;\n @!%q bra wait;\n"
    " ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [s+64];\n"
    " st.global.v4.u32 [%x], {%r0, %r1, %r2, %r3};\n ret;\n}\n"
    ".visible .entry box(.param .align 64 .b8 m[128], .param .u64 x)\n{\n .reg .b64 %p<2>;\n"
    " mov.b64 %p0, m; cvta.param.u64 %p0, %p0; ld.param.u64 %p1, [x];\n"
    " call copy, (%p0, %p1);\n ret;\n}\n"
    ".visible .entry change(.param .u64 m, .param .u64 x)\n{\n .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [m]; ld.param.u64 %p1, [x];\n"
    " tensormap.replace.tile.global_address.global.b1024.b64 [%p0], %p1;\n ret;\n}\n"
    ".visible .entry box_at(.param .u64 m, .param .u64 x)\n{\n .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [m]; ld.param.u64 %p1, [x];\n"
    " fence.proxy.tensormap::generic.acquire.gpu [%p0], 128;\n"
    " call copy, (%p0, %p1);\n ret;\n}\n";

static GetProcAddress get_proc_address;

/* NULL where there is none. */
static void* function_of(const char* name, int version) {
    void* out = NULL;
    int status = 0;
    if (get_proc_address(name, &out, version, 0, &status) != 0 || out == NULL)
        fprintf(stderr, "no %s\n", name);
    return out;
}
static void* function(const char* name) { return function_of(name, 11000); }

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

/* A box of 4 rows of a matrix by a map in a parameter; then, by one in memory, of its second half.
 */
static int use_maps(Launch launch, ModuleLoadData load, GetFunction get, MemAlloc allocate,
                    CopyIn in, CopyOut out) {
    typedef int (*Encode)(void*, int, uint32_t, uint64_t, const uint64_t*, const uint64_t*,
                          const uint32_t*, const uint32_t*, int, int, int, int);
    const uint64_t dim[] = {16, 8}, stride[] = {64};
    const uint32_t box[] = {16, 4}, step[] = {1, 1};
    static _Alignas(64) uint8_t map[128];
    uint32_t numbers[256], seen[4];
    uint64_t matrix = 0, maps = 0, x = 0, half;
    void *module = NULL, *kernel = NULL;
    void *of_box[2], *of_change[2], *of_box_at[2];
    int r;
    for (r = 0; r < 256; ++r) numbers[r] = (uint32_t)r;
    if ((r = allocate(&matrix, sizeof numbers)) != 0 || (r = allocate(&maps, sizeof map)) != 0 ||
        (r = allocate(&x, sizeof seen)) != 0 || (r = in(matrix, numbers, sizeof numbers)) != 0 ||
        (r = ((Encode)function_of("cuTensorMapEncodeTiled", 12000))(map, 2, 2, matrix, dim, stride,
                                                                    box, step, 0, 0, 0, 0)) != 0 ||
        (r = in(maps, map, sizeof map)) != 0 || (r = load(&module, maps_ptx)) != 0)
        return fail("maps", r);
    half = matrix + 512;
    of_box[0] = map;
    of_box[1] = of_box_at[1] = &x;
    of_change[0] = of_box_at[0] = &maps;
    of_change[1] = &half;
    if ((r = get(&kernel, module, "box")) != 0 ||
        (r = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, of_box, NULL)) != 0 ||
        (r = out(seen, x, sizeof seen)) != 0)
        return fail("box", r);
    printf("box %u\n", seen[3]);
    if ((r = get(&kernel, module, "change")) != 0 ||
        (r = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, of_change, NULL)) != 0)
        return fail("change", r);
    if ((r = get(&kernel, module, "box_at")) != 0 ||
        (r = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, of_box_at, NULL)) != 0 ||
        (r = out(seen, x, sizeof seen)) != 0)
        return fail("box_at", r);
    printf("box %u\n", seen[3]);
    return 0;
}

static int use_functions(Launch launch, ModuleLoadData load, GetFunction get, uint64_t x,
                         CopyOut out) {
    static const char* const names[] = {"pick", "again"};
    void *module = NULL, *kernel = NULL;
    void* parameters[1];
    uint32_t sum = 0;
    int i, r = load(&module, functions_ptx);
    parameters[0] = &x;
    for (i = 0; i < 2 && r == 0; ++i) {
        if ((r = get(&kernel, module, names[i])) != 0) break;
        if ((r = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) != 0) break;
        if ((r = out(&sum, x, sizeof sum)) == 0) printf("sum %u\n", sum);
    }
    return r == 0 ? 0 : fail("functions", r);
}

static const char passed_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.global .align 8 .b8 there[16];\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".func allocates()\n{\n .param .b64 n, r;\n st.param.b64 [n], 8;\n"
    " call (r), malloc, (n);\n ret;\n}\n"
    ".visible .entry textured(.param .u64 t)\n{\n .reg .f32 %f<4>; .reg .b64 %t; .reg .b32 %r;\n"
    " ld.param.u64 %t, [t];\n mov.u32 %r, 0;\n"
    " tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%r}];\n call allocates;\n ret;\n}\n"
    ".func (.param .b32 out) thrice(.param .b32 in)\n"
    "{\n .reg .b32 %r;\n ld.param.b32 %r, [in];\n mul.lo.u32 %r, %r, 3;\n"
    " st.param.b32 [out], %r;\n ret;\n}\n"
    ".visible .entry leave(.param .u64 x)\n{\n .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [x];\n mov.u64 %p1, thrice;\n st.global.u64 [%p0], %p1;\n"
    " mov.u64 %p1, there+16;\n st.global.u64 [%p0+8], %p1;\n ret;\n}\n"
    ".visible .entry pass(.param .u64 x, .param .u64 f)\n{\n .reg .b32 %r; .reg .b64 %p<2>;\n"
    " .param .b32 in, out;\n ld.param.u64 %p0, [x];\n ld.param.u64 %p1, [f];\n"
    " st.param.b32 [in], 14;\n P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    " call (out), %p1, (in), P;\n ld.param.b32 %r, [out];\n cvt.u64.u32 %p1, %r;\n st.global.u64 "
    "[%p0], %p1;\n"
    " ret;\n}\n";

static int pass_function(Launch launch, ModuleLoadData load, GetFunction get, uint64_t x,
                         CopyOut out) {
    void *module = NULL, *leave = NULL, *pass = NULL;
    uint64_t f = 0;
    uint32_t seen = 0;
    void* parameters[2];
    int r;
    parameters[0] = &x;
    parameters[1] = &f;
    if ((r = load(&module, passed_ptx)) != 0 || (r = get(&leave, module, "leave")) != 0 ||
        (r = get(&pass, module, "pass")) != 0 ||
        (r = launch(leave, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) != 0 ||
        (r = out(&f, x, sizeof f)) != 0)
        return fail("leave", r);
    /* The stand-in for a GPU has functions so many bytes behind the emulator's. */
    if (getenv("FAKE_GPU_CODE") != NULL) f += strtoull(getenv("FAKE_GPU_CODE"), NULL, 0);
    if ((r = launch(pass, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) != 0 ||
        (r = out(&seen, x, sizeof seen)) != 0)
        return fail("passed", r);
    printf("seen %u\n", seen);
    return 0;
}

/* 3 MiB behind the beginning of memory that is divided by the program; the next address there leads
 * to 8 MiB that the kernel leaves alone. */
static const char deep_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry deep(.param .u64 x)\n{\n .reg .b32 %r; .reg .b64 %p<2>;\n"
    " ld.param.u64 %p0, [x];\n ld.global.u64 %p1, [%p0+3145736];\n"
    " ld.global.u32 %r, [%p1+12];\n add.u32 %r, %r, %r;\n st.global.u32 [%p1+12], %r;\n ret;\n}\n";

static int reach_deep(Launch launch, ModuleLoadData load, GetFunction get, MemAlloc allocate,
                      CopyIn in, CopyOut out) {
    void *module = NULL, *deep = NULL;
    uint64_t divided = 0, there[2] = {0, 0};
    uint32_t numbers[4] = {1, 2, 3, 21};
    void* parameters[1];
    int r;
    parameters[0] = &divided;
    if ((r = load(&module, deep_ptx)) != 0 || (r = get(&deep, module, "deep")) != 0 ||
        (r = allocate(&divided, 4 << 20)) != 0 || (r = allocate(&there[0], sizeof numbers)) != 0 ||
        (r = allocate(&there[1], 8 << 20)) != 0 ||
        (r = in(divided + (3 << 20) + 8, there, sizeof there)) != 0 ||
        (r = in(there[0], numbers, sizeof numbers)) != 0 ||
        (r = launch(deep, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) != 0 ||
        (r = out(numbers, there[0], sizeof numbers)) != 0)
        return fail("deep", r);
    printf("x[3] = %u\n", numbers[3]);
    return 0;
}

/* By the name that nvJitLink.h of toolkit 12.4 gives it, among all that the program has. */
static void* linker(const char* name) {
    char whole[64];
    snprintf(whole, sizeof whole, "__nvJitLink%s_12_4", name);
    return dlsym(RTLD_DEFAULT, whole);
}

static int link_text(char* image, size_t bytes) {
    const char* options[] = {"-arch=sm_80"};
    void* link = NULL;
    size_t size = 0;
    if (linker("Create") == NULL) return 1;
    if (((int (*)(void**, uint32_t, const char**))linker("Create"))(&link, 1, options) != 0 ||
        ((int (*)(void*, int, const void*, size_t, const char*))linker("AddData"))(
            link, 2, ptx, sizeof ptx, "text") != 0 ||
        ((int (*)(void*))linker("Complete"))(link) != 0 ||
        ((int (*)(void*, size_t*))linker("GetLinkedCubinSize"))(link, &size) != 0 || size > bytes ||
        ((int (*)(void*, void*))linker("GetLinkedCubin"))(link, image) != 0)
        return 1;
    return ((int (*)(void**))linker("Destroy"))(&link);
}

/* The text and another that counts, as one, copied to where it is loaded from. */
static int join_texts(char* image, size_t bytes) {
    static const char other[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 other = "
        "7;\n";
    void *link = NULL, *code = NULL;
    size_t size = 0;
    int (*const add)(void*, int, const void*, size_t, const char*, unsigned, const int*, void**) =
        (int (*)(void*, int, const void*, size_t, const char*, unsigned, const int*,
                 void**))function("cuLinkAddData");
    if (((int (*)(unsigned, const int*, void**, void**))function("cuLinkCreate"))(0, NULL, NULL,
                                                                                  &link) != 0 ||
        add(link, 1, ptx, sizeof ptx, "one", 0, NULL, NULL) != 0 ||
        add(link, 1, other, sizeof other, "two", 0, NULL, NULL) != 0 ||
        ((int (*)(void*, void**, size_t*))function("cuLinkComplete"))(link, &code, &size) != 0 ||
        size > bytes)
        return 1;
    memcpy(image, code, size);
    return ((int (*)(void*))function("cuLinkDestroy"))(link);
}

#ifdef LOCKWARP_COMPILED_APART
#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define MORE "(.param .b32 out) more(.param .b32 in)"
#define BODY_OF_MORE                                                     \
    "{\n .reg .b32 %r;\n ld.param.b32 %r, [in];\n add.u32 %r, %r, %r;\n" \
    " st.param.b32 [out], %r;\n ret;\n}\n"
#define APART                                                                      \
    ".visible .entry apart(.param .u64 x)\n{\n"                                    \
    " .reg .b32 %r<2>; .reg .b64 %p<3>;\n .param .b32 in, out;\n"                  \
    " ld.param.u64 %p0, [x];\n mov.u32 %r0, %tid.x;\n mul.wide.u32 %p1, %r0, 4;\n" \
    " add.u64 %p2, %p0, %p1;\n ld.global.u32 %r1, [%p2];\n"                        \
    " st.param.b32 [in], %r1;\n call (out), more, (in);\n"                         \
    " ld.param.b32 %r1, [out];\n st.global.u32 [%p2], %r1;\n ret;\n}\n"

/* A fat binary with one text (cuda/image.cpp), and what -rdc=true leaves of two objects. */
struct FatBinary {
    uint32_t magic;
    uint16_t version, header;
    uint64_t size;
    uint16_t kind, entry_version;
    uint32_t entry_header;
    uint64_t padded;
    uint32_t compressed, options_at, minor, sm, bits, reserved;
    uint64_t flags, unused, raw_size;
    char text[1024];
};
#define FAT_BINARY(text) \
    { 0xba55ed50, 1, 16, 64 + 1024, 1, 0x101, 64, 1024, 0, 0, 0, 80, 64, 0, 0, 0, 0, text }
static const struct FatBinary caller = FAT_BINARY(HEAD ".extern .func " MORE ";\n" APART);
static const struct FatBinary called = FAT_BINARY(HEAD ".visible .func " MORE "\n" BODY_OF_MORE);
static const void* const compiled_apart[] = {&caller, &called, NULL};
static const struct {
    uint32_t magic, version;
    const void* data;
    const void* const* linked;
} wrapper
    __attribute__((section(".nvFatBinSegment"), used)) = {0x466243b1, 2, &called, compiled_apart};
/* Machine code, as the stand-in for a GPU has it. */
static const char linked_code[64 + 2048] __attribute__((aligned(64))) =
    "\177ELF                                                            " HEAD
    ".visible .func " MORE "\n" BODY_OF_MORE APART;
#endif

/* A kernel of four threads that multiplies what lies at `x`, which stands in it as a number. */
/* 8 bytes before the end of one of two mappings, the second of which lies behind the first. */
static int map_two(uint64_t* x) {
    typedef int (*Reserve)(uint64_t*, size_t, size_t, uint64_t, uint64_t);
    typedef int (*Create)(uint64_t*, size_t, const void*, uint64_t);
    typedef int (*Map)(uint64_t, size_t, size_t, uint64_t, uint64_t);
    typedef int (*SetAccess)(uint64_t, size_t, const void*, size_t);
    static const struct {
        int type, handles, place, device;
        void* meta;
        uint64_t flags;
    } properties = {1, 0, 1, 0, NULL, 0};
    static const int access[] = {1, 0, 3};
    const size_t unit = (size_t)2 << 20;
    uint64_t base = 0, memory = 0;
    int r = ((Reserve)function("cuMemAddressReserve"))(&base, 2 * unit, 0, 0, 0);
    for (int i = 0; i < 2 && r == 0; ++i)
        if ((r = ((Create)function("cuMemCreate"))(&memory, unit, &properties, 0)) == 0)
            r = ((Map)function("cuMemMap"))(base + (uint64_t)i * unit, unit, 0, memory, 0);
    if (r == 0) r = ((SetAccess)function("cuMemSetAccess"))(base, 2 * unit, access, 1);
    *x = base + unit - 8;
    return r;
}

static void fixed_text(char* text, size_t bytes, const char* name, uint64_t x, int factor) {
    snprintf(text, bytes,
             ".version 7.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry %s()\n{\n .reg .b32 %%r<2>; .reg .b64 %%p<2>;\n"
             " mov.u32 %%r0, %%tid.x;\n mul.wide.u32 %%p0, %%r0, 4;\n"
             " add.u64 %%p1, %%p0, %llu;\n ld.global.u32 %%r1, [%%p1];\n"
             " mul.lo.u32 %%r1, %%r1, %d;\n st.global.u32 [%%p1], %%r1;\n ret;\n}\n",
             name, (unsigned long long)x, factor);
}

/* Three launches: one that waits, one beside it, one after both. */
static int wait_for_copy(Launch launch, void* waits, void* twice, uint64_t x) {
    typedef int (*StreamCreate)(void**, unsigned);
    typedef int (*CopyInAsync)(uint64_t, const void*, size_t, void*);
    static const uint32_t zero[4] = {0, 0, 0, 21}, one = 1;
    const uint64_t behind = x + sizeof zero;
    void *stream = NULL, *other = NULL;
    void *first[] = {&x}, *second[1];
    uint32_t numbers[8] = {0};
    *(const void**)&second[0] = &behind;
    ((StreamCreate)function("cuStreamCreate"))(&stream, 1);
    ((StreamCreate)function("cuStreamCreate"))(&other, 1);
    ((CopyIn)function("cuMemcpyHtoD"))(x, zero, sizeof zero);
    ((CopyIn)function("cuMemcpyHtoD"))(behind, zero, sizeof zero);
    if (launch(waits, 1, 1, 1, 1, 1, 1, 0, stream, first, NULL) != 0 ||
        launch(twice, 1, 1, 1, 4, 1, 1, 0, other, second, NULL) != 0 ||
        ((CopyInAsync)function("cuMemcpyHtoDAsync"))(x, &one, sizeof one, other) != 0 ||
        ((Synchronize)function("cuCtxSynchronize"))() != 0 ||
        launch(twice, 1, 1, 1, 4, 1, 1, 0, other, second, NULL) != 0 ||
        ((CopyOut)function("cuMemcpyDtoH"))(numbers, x, sizeof numbers) != 0)
        return fail("waits", 0);
    printf("x[3] = %u, x[7] = %u\n", numbers[3], numbers[7]);
    return 0;
}

static void count_call(void* calls) { ++*(int*)calls; }

/* A graph: fills x with 5, doubles it twice, copies it and counts. Launched as it was captured,
 * with one of its kernels off, and with the other made of two threads. */
static int in_graph(Launch launch, void* kernel, uint64_t x) {
    typedef int (*StreamCreate)(void**, unsigned);
    typedef int (*StreamOf)(void*);
    typedef int (*BeginCapture)(void*, int);
    typedef int (*EndCapture)(void*, void**);
    typedef int (*Fill)(uint64_t, unsigned, size_t, void*);
    typedef int (*CopyOutAsync)(void*, uint64_t, size_t, void*);
    typedef int (*Instantiate)(void**, void*, uint64_t);
    typedef int (*GetNodes)(void*, void**, size_t*);
    typedef int (*GetType)(void*, int*);
    typedef int (*SetEnabled)(void*, void*, unsigned);
    typedef int (*GraphLaunch)(void*, void*);
    struct KernelNode {
        void* function;
        unsigned grid[3], block[3], shared;
        void **parameters, **extra, *kernel, *context;
    } of_two;
    typedef int (*NodeParameters)(void*, struct KernelNode*);
    typedef int (*SetParameters)(void*, void*, struct KernelNode*);
    void *stream = NULL, *graph = NULL, *exec = NULL, *nodes[8], *kernels[2], *parameters[] = {&x};
    uint32_t numbers[4] = {0};
    size_t count = 8, found = 0, i;
    int calls = 0, step, type, r;
    if ((r = ((StreamCreate)function("cuStreamCreate"))(&stream, 1)) != 0 ||
        (r = ((BeginCapture)function("cuStreamBeginCapture"))(stream, 0)) != 0 ||
        (r = ((Fill)function("cuMemsetD32Async"))(x, 5, 4, stream)) != 0 ||
        (r = launch(kernel, 1, 1, 1, 4, 1, 1, 0, stream, parameters, NULL)) != 0 ||
        (r = launch(kernel, 1, 1, 1, 4, 1, 1, 0, stream, parameters, NULL)) != 0 ||
        (r = ((CopyOutAsync)function("cuMemcpyDtoHAsync"))(numbers, x, sizeof numbers, stream)) !=
            0 ||
        (r = ((LaunchHostFunc)function("cuLaunchHostFunc"))(stream, count_call, &calls)) != 0 ||
        (r = ((EndCapture)function("cuStreamEndCapture"))(stream, &graph)) != 0 ||
        (r = ((Instantiate)function_of("cuGraphInstantiateWithFlags", 12000))(&exec, graph, 0)) !=
            0 ||
        (r = ((GetNodes)function("cuGraphGetNodes"))(graph, nodes, &count)) != 0)
        return fail("graph", r);
    for (i = 0; i < count; ++i)
        if (((GetType)function("cuGraphNodeGetType"))(nodes[i], &type) == 0 && type == 0 &&
            found < 2)
            kernels[found++] = nodes[i];
    if (count != 5 || found != 2) return fail("nodes", (int)count);
    for (step = 0; step < 3; ++step) {
        if (step == 1)
            r = ((SetEnabled)function_of("cuGraphNodeSetEnabled", 12000))(exec, kernels[0], 0);
        if (step == 2) {
            r = ((NodeParameters)function_of("cuGraphKernelNodeGetParams", 12000))(kernels[1],
                                                                                   &of_two);
            of_two.block[0] = 2;
            if (r == 0)
                r = ((SetParameters)function_of("cuGraphExecKernelNodeSetParams", 12000))(
                    exec, kernels[1], &of_two);
        }
        if (r != 0 || (r = ((GraphLaunch)function("cuGraphLaunch"))(exec, stream)) != 0 ||
            (r = ((StreamOf)function("cuStreamSynchronize"))(stream)) != 0)
            return fail("cuGraphLaunch", r);
        printf("%u %u, %d calls\n", numbers[0], numbers[3], calls);
    }
    fflush(stdout);
    return ((StreamOf)function("cuGraphExecDestroy"))(exec);
}

int main(int argc, char** argv) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL, *module = NULL, *kernel = NULL;
    uint64_t x = 0, end;
    uint32_t numbers[4] = {1, 2, 3, 21};
    void* parameters[1];
    const char* name = "twice";
    char linked[8192];
    const void* image = ptx;
    Launch launch;
    int r;
    if (library == NULL) return fail(dlerror(), 0);
    *(void**)&get_proc_address = dlsym(library, "cuGetProcAddress_v2");
    if (get_proc_address == NULL) return fail("cuGetProcAddress_v2", 0);
    *(void**)&launch = function("cuLaunchKernel");
    if ((r = ((Init)function("cuInit"))(0)) != 0) return fail("cuInit", r);
    if (argc > 1 && strcmp(argv[1], "linked") == 0) {
        if (link_text(linked, sizeof linked) != 0) return fail("nvJitLink", 0);
        image = linked;
    }
    if ((r = ((CtxCreate)function("cuCtxCreate"))(&context, 0, 0)) != 0)
        return fail("cuCtxCreate", r);
    if (argc > 1 && strcmp(argv[1], "talking") == 0) image = talking_ptx;
    if (argc > 1 && (strcmp(argv[1], "launches") == 0 || strcmp(argv[1], "asks") == 0 ||
                     strcmp(argv[1], "texts") == 0 || strcmp(argv[1], "refused") == 0))
        image = launching_ptx, name = argv[1];
#ifdef LOCKWARP_COMPILED_APART
    image = linked_code;
    name = "apart";
#endif
    if (argc > 1 && strcmp(argv[1], "joined") == 0) {
        if (join_texts(linked, sizeof linked) != 0) return fail("cuLink", 0);
        image = linked;
    }
    if ((r = ((ModuleLoadData)function("cuModuleLoadData"))(&module, image)) != 0)
        return fail("cuModuleLoadData", r);
    if (argc > 1 && strcmp(argv[1], "empty") == 0) {
        r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "empty");
        if (r != 0) return fail("cuModuleGetFunction", r);
        return measure(launch, kernel, (Synchronize)function("cuCtxSynchronize"));
    }
    if (argc > 1 && strcmp(argv[1], "maps") == 0)
        return use_maps(launch, (ModuleLoadData)function("cuModuleLoadData"),
                        (GetFunction)function("cuModuleGetFunction"),
                        (MemAlloc)function("cuMemAlloc"), (CopyIn)function("cuMemcpyHtoD"),
                        (CopyOut)function("cuMemcpyDtoH"));
    if (argc > 1 && strcmp(argv[1], "deep") == 0)
        return reach_deep(launch, (ModuleLoadData)function("cuModuleLoadData"),
                          (GetFunction)function("cuModuleGetFunction"),
                          (MemAlloc)function("cuMemAlloc"), (CopyIn)function("cuMemcpyHtoD"),
                          (CopyOut)function("cuMemcpyDtoH"));
    if (argc > 1 && strcmp(argv[1], "interrupted") == 0) {
        r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "count");
        return r != 0 ? fail("cuModuleGetFunction", r) : interrupted(launch, kernel);
    }
    if (argc > 1 && (strcmp(argv[1], "fused") == 0 || strcmp(argv[1], "behind") == 0 ||
                     strcmp(argv[1], "added") == 0 || strcmp(argv[1], "talking") == 0))
        name = argv[1];
    if ((r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, name)) != 0)
        return fail("cuModuleGetFunction", r);
    if (strcmp(argv[argc - 1], "mapped") == 0)
        r = map_two(&x);
    else
        r = ((MemAlloc)function("cuMemAlloc"))(&x, sizeof numbers);
    if (r != 0) return fail("cuMemAlloc", r);
    if (argc > 1 && strcmp(argv[1], "waits") == 0) {
        void* waits = NULL;
        if ((r = ((GetFunction)function("cuModuleGetFunction"))(&waits, module, "waits")) != 0 ||
            (r = ((MemAlloc)function("cuMemAlloc"))(&x, 2 * sizeof numbers)) != 0)
            return fail("waits", r);
        return wait_for_copy(launch, waits, kernel, x);
    }
    if (argc > 1 && strcmp(argv[1], "graph") == 0) return in_graph(launch, kernel, x);
    if (argc > 1 && strcmp(argv[1], "heap") == 0)
        return use_heap(launch, (ModuleLoadData)function("cuModuleLoadData"),
                        (GetFunction)function("cuModuleGetFunction"), x,
                        (CopyOut)function("cuMemcpyDtoH"));
    if (argc > 1 && strcmp(argv[1], "functions") == 0)
        return use_functions(launch, (ModuleLoadData)function("cuModuleLoadData"),
                             (GetFunction)function("cuModuleGetFunction"), x,
                             (CopyOut)function("cuMemcpyDtoH"));
    if (argc > 1 && strcmp(argv[1], "passed") == 0)
        return pass_function(launch, (ModuleLoadData)function("cuModuleLoadData"),
                             (GetFunction)function("cuModuleGetFunction"), x,
                             (CopyOut)function("cuMemcpyDtoH"));
    if ((r = ((CopyIn)function("cuMemcpyHtoD"))(x, numbers, sizeof numbers)) != 0)
        return fail("cuMemcpyHtoD", r);
    if (argc > 1 && strcmp(argv[1], "warm") == 0) {
        void* empty = NULL;
        r = ((GetFunction)function("cuModuleGetFunction"))(&empty, module, "empty");
        if (r != 0 || launch(empty, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != 0)
            return fail("empty", r);
    }
    if (argc > 1 && strcmp(argv[1], "fixed") == 0) {
        fixed_text(linked, sizeof linked, "fixed", x, 2);
        if ((r = ((ModuleLoadData)function("cuModuleLoadData"))(&module, linked)) != 0 ||
            (r = ((GetFunction)function("cuModuleGetFunction"))(&kernel, module, "fixed")) != 0)
            return fail("fixed", r);
    }
    end = x + sizeof numbers;
    parameters[0] = strcmp(name, "behind") == 0 ? &end : &x;
    if ((r = launch(kernel, 1, 1, 1, 4, 1, 1, 0, NULL, parameters, NULL)) != 0)
        return fail("cuLaunchKernel", r);
    if ((r = ((CopyOut)function("cuMemcpyDtoH"))(numbers, x, sizeof numbers)) != 0)
        return fail("cuMemcpyDtoH", r);
    if (argc > 1 && (strcmp(argv[1], "reused") == 0 || strcmp(argv[1], "unloaded") == 0)) {
        GetFunction unseen;
        void* const driver = dlopen(getenv("LOCKWARP_BESIDE_DRIVER"), RTLD_NOW);
        if (driver == NULL) return fail(dlerror(), 0);
        *(void**)&unseen = dlsym(driver, "cuModuleGetFunction");
        parameters[0] = &end;
        name = "behind";
        if (strcmp(argv[1], "unloaded") == 0) {
            name = "twice";
            fixed_text(linked, sizeof linked, name, x, 3);
            if ((r = ((ModuleUnload)function("cuModuleUnload"))(module)) != 0 ||
                (r = ((ModuleLoadData)function("cuModuleLoadData"))(&module, linked)) != 0)
                return fail("unloaded", r);
        }
        if ((r = unseen(&kernel, module, name)) != 0 ||
            (r = launch(kernel, 1, 1, 1, 4, 1, 1, 0, NULL, parameters, NULL)) != 0 ||
            (r = ((CopyOut)function("cuMemcpyDtoH"))(numbers, x, sizeof numbers)) != 0)
            return fail(name, r);
    }
    if (argc > 1 && strcmp(argv[1], "launches") == 0)
        printf("x[0] = %u, x[1] = %u, x[2] = %u\n", numbers[0], numbers[1], numbers[2]);
    printf("x[3] = %u\n", numbers[3]);
    if (argc > 1 && strcmp(argv[1], "fused") == 0) printf("x[0] = %u\n", numbers[0]);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "faulty") == 0)
        return ((LaunchHostFunc)function("cuLaunchHostFunc"))(NULL, fault, NULL);
    return 0;
}
