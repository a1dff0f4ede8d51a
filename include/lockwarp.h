/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lockwarp in C: PTX kernels on the CPU, bit for bit as an NVIDIA GPU would run them.
 *
 *   lockwarp_context *context;    architecture, and memory that kernels may touch
 *   lockwarp_module *module;      PTX, loaded once; its variables keep their values
 *   const lockwarp_kernel *kernel;
 *   lockwarp_result *result;      of one launch: trap, printed text, statistics
 *
 * Memory. The address that a kernel has for a byte is the byte's own address in this process, so
 * that pointers may lie anywhere: in parameters, in structures, in other buffers. A kernel may
 * touch what was registered with its context (lockwarp_register), allocated there
 * (lockwarp_allocate), given with the launch (lockwarp_launch_options), and the .global variables
 * of all modules of the context. Any other access is a trap.
 *
 * Errors. A function that can fail returns a status and, where the caller passes a place for it,
 * gives an error with its text: lockwarp_error **error may be NULL; what is put there is the
 * caller's, to be given to lockwarp_error_destroy. No function throws, prints, exits, or keeps
 * anything outside the handles it is given.
 *
 * Structures begin with struct_size, which the caller sets to sizeof of the structure: with another
 * version of the library members that one side does not know are left out. Of what the caller
 * gives, members that are 0 have the default. Structures without it will not change.
 *
 * Threads. Any function may be called from several threads at a time, also with the same handles,
 * but for the destruction of a handle that another call uses. Launches of one module may run at the
 * same time; they share its variables, as on a GPU.
 *
 * Ownership. A handle is the caller's until it is destroyed; NULL may be destroyed. A module's
 * kernels and all texts belong to the handle they were asked of and live as long. Modules keep
 * what they need of their context: the order in which handles are destroyed does not matter.
 */
#ifndef LOCKWARP_H
#define LOCKWARP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LOCKWARP_API __attribute__((visibility("default")))
#else
#define LOCKWARP_API
#endif

/* Of this header. A library with the same number has all that stands here. */
#define LOCKWARP_ABI 2

/* The library's own number: LOCKWARP_ABI of its header. */
LOCKWARP_API uint32_t lockwarp_abi(void);
/* "0.1.0" */
LOCKWARP_API const char* lockwarp_version(void);

/* ---- Status and errors ---- */

typedef enum lockwarp_status {
    LOCKWARP_OK = 0,
    LOCKWARP_INVALID_ARGUMENT = 1, /* NULL, a size or number out of its range, an unknown name */
    LOCKWARP_OUT_OF_MEMORY = 2,
    LOCKWARP_BAD_PTX = 3,     /* the module cannot run; lockwarp_error_diagnostic says where */
    LOCKWARP_NOT_FOUND = 4,   /* no kernel, variable, architecture or instruction of that name */
    LOCKWARP_UNSUPPORTED = 5, /* it exists, and Lockwarp does not do it on this architecture */
    LOCKWARP_REFUSED = 6,     /* a launch that cannot begin; nothing ran */
    LOCKWARP_TRAPPED = 7,     /* the kernel's own fault: lockwarp_result_trap */
    LOCKWARP_STOPPED = 8,     /* the caller ended the launch; a trap says where it stood */
    LOCKWARP_INTERNAL = 9     /* a fault of Lockwarp */
} lockwarp_status;

typedef struct lockwarp_context lockwarp_context;
typedef struct lockwarp_module lockwarp_module;
typedef struct lockwarp_kernel lockwarp_kernel;
typedef struct lockwarp_result lockwarp_result;
typedef struct lockwarp_error lockwarp_error;
typedef struct lockwarp_stop lockwarp_stop;

/* "LOCKWARP_BAD_PTX"; "?" for a number that is none. */
LOCKWARP_API const char* lockwarp_status_name(lockwarp_status status);

/* One thing that is wrong with a PTX text, at its place. */
typedef struct lockwarp_diagnostic {
    size_t struct_size;
    uint32_t line;         /* from 1; 0: no place */
    uint32_t column;       /* from 1, in bytes */
    uint32_t length;       /* in bytes */
    uint32_t not_executed; /* 1: PTX has it, and Lockwarp does not run it yet; 0: it is wrong */
    const char* message;   /* a sentence */
    const char* hint;      /* another one; may be empty */
} lockwarp_diagnostic;

LOCKWARP_API lockwarp_status lockwarp_error_status(const lockwarp_error* error);
/* All of it, UTF-8, a line for each diagnostic ("kernel.ptx:12:5: ..."), without a last line break.
 */
LOCKWARP_API const char* lockwarp_error_message(const lockwarp_error* error);
/* The number of diagnostics: 0 but for LOCKWARP_BAD_PTX; at most 100 are kept. */
LOCKWARP_API size_t lockwarp_error_diagnostics(const lockwarp_error* error);
/* LOCKWARP_NOT_FOUND where there is no diagnostic `index`. */
LOCKWARP_API lockwarp_status lockwarp_error_diagnostic(const lockwarp_error* error, size_t index,
                                                       lockwarp_diagnostic* out);
LOCKWARP_API void lockwarp_error_destroy(lockwarp_error* error);

/* ---- Architectures ---- */

typedef struct lockwarp_arch {
    size_t struct_size;
    const char* name;        /* "sm_90" */
    const char* product;     /* "H200": what the rows of its arithmetic rest on */
    uint32_t number;         /* 90 */
    uint32_t shared_default; /* bytes of shared memory of a CTA, without asking for more */
    uint32_t shared_max;     /* and at most; a launch may have as many */
    uint32_t reserved;       /* 0 */
} lockwarp_arch;

LOCKWARP_API size_t lockwarp_arch_count(void);
/* In the order of their numbers. LOCKWARP_NOT_FOUND from lockwarp_arch_count() on. */
LOCKWARP_API lockwarp_status lockwarp_arch_at(size_t index, lockwarp_arch* out);

/* ---- Contexts and memory ---- */

typedef struct lockwarp_context_options {
    size_t struct_size;
    /* Of modules that name none: "sm_80". NULL: what each module's .target names. */
    const char* arch;
} lockwarp_context_options;

/* options may be NULL. */
LOCKWARP_API lockwarp_status lockwarp_context_create(const lockwarp_context_options* options,
                                                     lockwarp_context** out,
                                                     lockwarp_error** error);
LOCKWARP_API void lockwarp_context_destroy(lockwarp_context* context);

/*
 * Memory of the caller's that kernels may read and write: `size` bytes at `bytes`. `address` is
 * what kernels have for its first byte; 0: its own address. Ranges may touch and overlap, and a
 * kernel may access bytes of two that touch at once; ranges that overlap must give each byte one
 * address. Addresses from 0x7b0000000000 to 0x7b003fffffff (malloc's heap), 256 from 0x7c0000000000
 * and from 0x7e0000000000 to 0x7e0300ffffff (the windows of other state spaces) cannot be used.
 * `name` is for traps and may be NULL. The memory must stay until no launch uses it.
 */
typedef struct lockwarp_range {
    void* bytes;
    uint64_t address;
    uint64_t size; /* in bytes; 0: nothing is registered */
    const char* name;
} lockwarp_range;

LOCKWARP_API lockwarp_status lockwarp_register(lockwarp_context* context,
                                               const lockwarp_range* range, lockwarp_error** error);
/*
 * Takes back one registration of the same bytes and size; running launches keep it.
 * LOCKWARP_NOT_FOUND where there is none.
 */
LOCKWARP_API lockwarp_status lockwarp_unregister(lockwarp_context* context, const void* bytes,
                                                 uint64_t size);

/*
 * `size` bytes (0 becomes 1), all zero, at a multiple of 256, registered with the context until
 * lockwarp_free or the end of the context and its modules.
 */
LOCKWARP_API lockwarp_status lockwarp_allocate(lockwarp_context* context, uint64_t size,
                                               const char* name, void** out,
                                               lockwarp_error** error);
/* LOCKWARP_NOT_FOUND for what lockwarp_allocate did not give. NULL is nothing. */
LOCKWARP_API lockwarp_status lockwarp_free(lockwarp_context* context, void* bytes);

/* ---- Modules ---- */

typedef struct lockwarp_module_options {
    size_t struct_size;
    /* "sm_80"; NULL: the context's, and where that has none, what the .target names. */
    const char* arch;
    const char* name; /* of the text, for messages: "kernel.ptx"; NULL: "PTX" */
} lockwarp_module_options;

/*
 * Parses `size` bytes of PTX and places its variables with their initial values. What is wrong in
 * a kernel's body comes to light in lockwarp_module_kernel. options may be NULL. Errors:
 * LOCKWARP_BAD_PTX, LOCKWARP_NOT_FOUND (the architecture).
 */
LOCKWARP_API lockwarp_status lockwarp_module_load(lockwarp_context* context, const char* text,
                                                  size_t size,
                                                  const lockwarp_module_options* options,
                                                  lockwarp_module** out, lockwarp_error** error);
/* Its variables' memory goes with it. */
LOCKWARP_API void lockwarp_module_destroy(lockwarp_module* module);
/* "sm_80" */
LOCKWARP_API const char* lockwarp_module_arch(const lockwarp_module* module);

/* The kernels in the order of the module. NULL from the count on. */
LOCKWARP_API size_t lockwarp_module_kernels(const lockwarp_module* module);
LOCKWARP_API const char* lockwarp_module_kernel_name(const lockwarp_module* module, size_t index);

/*
 * The kernel of that name: its own, or the plain function name of a mangled one ("scale" for
 * "_Z5scalePf") where only one has it; NULL: the module's only kernel. It is the same handle each
 * time. Errors: LOCKWARP_NOT_FOUND with the names that there are, LOCKWARP_BAD_PTX.
 */
LOCKWARP_API lockwarp_status lockwarp_module_kernel(lockwarp_module* module, const char* name,
                                                    const lockwarp_kernel** out,
                                                    lockwarp_error** error);

typedef struct lockwarp_variable {
    size_t struct_size;
    const char* name;
    const char* space; /* "global" or "const" */
    /* As kernels have it: of a .global variable that of its bytes; of .const a generic address. */
    uint64_t address;
    uint64_t size; /* in bytes */
    /* Its bytes: the caller may read and write them between launches. */
    void* bytes;
} lockwarp_variable;

/* The .global and .const variables in the order of the module. */
LOCKWARP_API size_t lockwarp_module_variables(const lockwarp_module* module);
LOCKWARP_API lockwarp_status lockwarp_module_variable_at(const lockwarp_module* module,
                                                         size_t index, lockwarp_variable* out);
LOCKWARP_API lockwarp_status lockwarp_module_variable(const lockwarp_module* module,
                                                      const char* name, lockwarp_variable* out,
                                                      lockwarp_error** error);

/* ---- Kernels ---- */

typedef struct lockwarp_kernel_info {
    size_t struct_size;
    const char* name; /* as the module has it */
    const char* arch; /* "sm_80" */
    uint32_t parameters;
    uint32_t parameter_bytes; /* of all, with the gaps between them */
    uint32_t shared_static;   /* bytes of shared memory a CTA has beside dynamic ones */
    uint32_t local_bytes;     /* of local memory of a thread, without that of functions it calls */
    uint32_t required_block[3]; /* .reqntid; 0: none */
    uint32_t max_threads;       /* of a CTA: .maxntid and .reqntid, else 1024 */
    uint32_t least_ctas;        /* .minnctapersm; 0: none */
    uint32_t max_registers;     /* .maxnreg; 0: none */
} lockwarp_kernel_info;

typedef struct lockwarp_parameter {
    size_t struct_size;
    const char* name;
    const char* type;           /* "u64", "f32", "b8": of an element */
    uint32_t offset;            /* in the parameter space */
    uint32_t size;              /* in bytes */
    uint32_t alignment;         /* in bytes */
    int32_t is_array;           /* a structure, as PTX has it */
    int32_t is_pointer;         /* declared with .ptr; many compilers do not say so */
    uint32_t pointer_alignment; /* of what it points to, in bytes; 0: not declared */
    const char* pointer_space;  /* "global", "shared", ...; empty: not declared */
} lockwarp_parameter;

LOCKWARP_API lockwarp_status lockwarp_kernel_get_info(const lockwarp_kernel* kernel,
                                                      lockwarp_kernel_info* out);
/* LOCKWARP_NOT_FOUND from lockwarp_kernel_info::parameters on. */
LOCKWARP_API lockwarp_status lockwarp_kernel_parameter(const lockwarp_kernel* kernel, size_t index,
                                                       lockwarp_parameter* out);
/*
 * The function that the emulator has at that address, as the module names it; NULL: none that the
 * kernel may call.
 */
LOCKWARP_API const char* lockwarp_kernel_function_at(const lockwarp_kernel* kernel,
                                                     uint64_t address);

/*
 * The kernel as it is executed: its instructions, then those of the functions it may call, each
 * function with an end of its own. Events name them by their number.
 */
typedef struct lockwarp_instruction {
    size_t struct_size;
    const char* opcode;     /* "ld" */
    const char* text;       /* "ld.global.u32 %r1, [%rd2];"; of the end of a function empty */
    const char* function;   /* that it stands in, as the module has it */
    uint32_t line;          /* in the PTX, from 1 */
    uint32_t column;        /* from 1, in bytes */
    const char* file;       /* of the source (.loc), innermost where it was inlined; may be empty */
    uint32_t source_line;   /* from 1; 0: not known */
    uint32_t source_column; /* from 1; 0: not known */
} lockwarp_instruction;

LOCKWARP_API size_t lockwarp_kernel_instructions(const lockwarp_kernel* kernel);
/* LOCKWARP_NOT_FOUND from the count on. */
LOCKWARP_API lockwarp_status lockwarp_kernel_instruction(const lockwarp_kernel* kernel,
                                                         size_t index, lockwarp_instruction* out);

/* ---- Observers ---- */

/* An instruction that a warp has retired. A place in a run is (CTA, warp, step). */
typedef struct lockwarp_retired {
    size_t struct_size;
    const lockwarp_kernel* kernel;
    uint64_t cta_index;   /* x fastest */
    uint32_t cta[3];      /* %ctaid */
    uint32_t warp;        /* of the CTA */
    uint64_t step;        /* instructions that the warp retired before this one */
    uint32_t instruction; /* lockwarp_kernel_instruction */
    uint32_t line;        /* in the PTX, from 1 */
    uint32_t active;      /* lanes that reached it, by bits */
    uint32_t executed;    /* lanes whose guard was true: part of active */
    uint32_t undefined;   /* part of executed: results that the manual leaves undefined */
    uint32_t reserved;    /* 0 */
} lockwarp_retired;

/* A register that it wrote, after it. */
typedef struct lockwarp_written {
    size_t struct_size;
    const char* name; /* "%r1" */
    const char* type; /* "u32", "f16", "pred" */
    uint32_t bits;    /* 1: a predicate, `values` is one uint32_t, lane by bit; 8 to 32: 32
                         uint32_t, lane by lane; 64: 32 uint64_t */
    uint32_t half;    /* of a .b128 register, which is two of 64 bits: 1 low, 2 high; else 0 */
    const void* values;
} lockwarp_written;

/*
 * Memory that it touched. cp.async and atom have two: the source, or a load, and then the
 * destination; wmma.load and wmma.store up to 16.
 */
typedef struct lockwarp_accessed {
    size_t struct_size;
    const char* space;       /* "global", "shared", "local", "param", "const" */
    int32_t store;           /* 0: a load */
    uint32_t lanes;          /* that touched something, by bits */
    const uint64_t* address; /* of 32 lanes, in the space; of those in `lanes` */
    const uint8_t* bytes;    /* of 32 lanes: how many from there on; likewise */
} lockwarp_accessed;

/*
 * Who hears what a launch does; each function may be NULL. For an instruction `accessed` is called
 * for each access, then `written` for each register, then `retired`. The calls of one CTA come one
 * after another, in the order of its run; those of several overlap unless
 * lockwarp_launch_options::threads is 1. Structures and pointers are good during the call alone.
 * Nothing here changes the run. A function must not throw, nor leave by longjmp.
 */
typedef struct lockwarp_observer {
    size_t struct_size;
    void* user;
    void (*retired)(void* user, const lockwarp_retired* at);
    void (*written)(void* user, const lockwarp_retired* at, const lockwarp_written* what);
    void (*accessed)(void* user, const lockwarp_retired* at, const lockwarp_accessed* what);
    void (*cta_began)(void* user, uint64_t cta_index);
    void (*cta_ended)(void* user, uint64_t cta_index);
} lockwarp_observer;

/* ---- Launches ---- */

/*
 * A wish to end launches, shared by any number of them. lockwarp_stop_request may be called in a
 * signal handler. With LOCKWARP_OUT_OF_MEMORY *out is NULL.
 */
LOCKWARP_API lockwarp_status lockwarp_stop_create(lockwarp_stop** out);
LOCKWARP_API void lockwarp_stop_request(lockwarp_stop* stop);
LOCKWARP_API void lockwarp_stop_reset(lockwarp_stop* stop);
LOCKWARP_API void lockwarp_stop_destroy(lockwarp_stop* stop);

/* lockwarp_launch_options::flags */
enum {
    /* All CTAs are under way at a time and may wait for one another (grid_group::sync). */
    LOCKWARP_COOPERATIVE = 1,
    /* Each product by its definition, without the paths made for speed: the same bits. */
    LOCKWARP_PLAIN_ARITHMETIC = 2,
    /* Functions of constants as their instructions compute them, not as NVIDIA's assembler does. */
    LOCKWARP_NO_FOLDING = 4,
    /* A cluster may have more CTAs than is portable: up to 16, not 8. */
    LOCKWARP_NON_PORTABLE_CLUSTER = 8,
    /*
     * Copies, wgmma and other asynchronous instructions do their work where somebody waits for
     * them, not where they are issued. An observer hears of copies without what they touch.
     */
    LOCKWARP_ASYNC_LATE = 16,
    /*
     * A load whose result nothing needs is left out where its address is none, as NVIDIA's
     * assembler leaves it out everywhere. Without: a trap.
     */
    LOCKWARP_LEAVE_OUT_LOADS = 32
};

/* Another address of a function than the emulator's, which calls know too: a GPU's. */
typedef struct lockwarp_function_address {
    uint64_t address;
    uint64_t emulators; /* as the initial value of a variable has it */
} lockwarp_function_address;

typedef struct lockwarp_launch_options {
    size_t struct_size;
    uint32_t grid[3];        /* CTAs in x, y, z; 0 is 1 */
    uint32_t block[3];       /* threads of a CTA in x, y, z; 0 is 1 */
    uint32_t dynamic_shared; /* bytes */
    uint32_t flags;
    /* The parameter space: lockwarp_kernel_info::parameter_bytes, each parameter at its offset. */
    const void* parameters;
    size_t parameter_bytes;
    /* Memory beside that of the context. */
    const lockwarp_range* ranges;
    size_t range_count;
    uint64_t max_steps;  /* instructions that a warp may retire; 0: any number */
    uint32_t threads;    /* of the CPU; 0: all cores; 1: CTAs one after another, in their order */
    uint32_t turn;       /* instructions of a warp before another has its turn; 0: many */
    lockwarp_stop* stop; /* may be NULL */
    /*
     * Called on the thread that launches, about every poll_milliseconds (0: 20) while the kernel
     * runs, which then does so on other threads; another value than 0 ends the launch,
     * and it is not called again. May be NULL.
     */
    int (*poll)(void* user);
    void* poll_user;
    uint32_t poll_milliseconds;
    uint32_t unwritten_byte; /* what each byte of shared and local memory is at first: 0 to 255 */
    uint64_t heap_bytes; /* that malloc in the kernel shares out, in this launch alone; 0: 8 MB */
    uint64_t first_cta;  /* a part of the grid: CTAs [first_cta, first_cta + ctas), x fastest */
    uint64_t ctas;       /* 0: all that follow */
    const lockwarp_observer* observer; /* may be NULL, which costs nothing */
    /* CTAs of a cluster in x, y, z, of which 0 is 1; all 0: as the kernel has it, else none. */
    uint32_t cluster[3];
    uint32_t reserved; /* 0 */
    const lockwarp_function_address* functions;
    size_t function_count;
} lockwarp_launch_options;

/*
 * Runs the kernel and waits for its end. *result, where `result` is not NULL, is given with
 * LOCKWARP_OK, LOCKWARP_TRAPPED and LOCKWARP_STOPPED, and NULL with any other status. Other errors:
 * LOCKWARP_INVALID_ARGUMENT (ranges, parameter_bytes), LOCKWARP_REFUSED (a grid, block or amount of
 * shared memory that the architecture or the kernel does not allow).
 */
LOCKWARP_API lockwarp_status lockwarp_launch(const lockwarp_kernel* kernel,
                                             const lockwarp_launch_options* options,
                                             lockwarp_result** result, lockwarp_error** error);
LOCKWARP_API void lockwarp_result_destroy(lockwarp_result* result);

/* ---- Results ---- */

typedef enum lockwarp_trap_kind {
    LOCKWARP_TRAP_OUT_OF_BOUNDS = 0, /* no range or variable holds the bytes at the address */
    LOCKWARP_TRAP_MISALIGNED = 1,    /* the address is not a multiple of the access's size */
    LOCKWARP_TRAP_WRONG_SPACE = 2,   /* an address outside the instruction's state space */
    LOCKWARP_TRAP_READ_ONLY = 3,     /* a store to const or param */
    LOCKWARP_TRAP_DIVERGED = 4,      /* an .aligned instruction met by a part of its warp */
    LOCKWARP_TRAP_BAD_MASK = 5,      /* a membermask without the lane, or a bad barrier operand */
    LOCKWARP_TRAP_DEADLOCK = 6,      /* no warp of the CTA can go on */
    LOCKWARP_TRAP_STACK = 7,         /* calls too deep, or too much local memory */
    LOCKWARP_TRAP_STEP_LIMIT = 8,    /* lockwarp_launch_options::max_steps */
    LOCKWARP_TRAP_TRAP = 9,          /* the trap instruction; an assertion that failed */
    LOCKWARP_TRAP_BREAKPOINT = 10,   /* the brkpt instruction */
    LOCKWARP_TRAP_STOPPED = 11,      /* by the caller */
    LOCKWARP_TRAP_ILLEGAL = 12       /* an instruction that the machine refuses so */
} lockwarp_trap_kind;

typedef struct lockwarp_trap {
    size_t struct_size;
    lockwarp_trap_kind kind;
    uint32_t line;           /* of the instruction in the PTX, from 1 */
    uint32_t column;         /* from 1, in bytes */
    uint32_t sources;        /* places in the source: lockwarp_result_source */
    const char* name;        /* of the kind: "misaligned address" */
    const char* detail;      /* a sentence: what is wrong with what */
    const char* text;        /* all of it, with its place, in a few lines */
    const char* instruction; /* as the PTX has it: "ld.global.u32 %r1, [%rd2];" */
    uint64_t cta_index;      /* x fastest */
    uint32_t cta[3];         /* %ctaid */
    uint32_t warp;           /* of the CTA */
    uint32_t thread[3];      /* %tid, where lane is not -1 */
    int32_t lane;            /* 0 to 31; -1: no one lane's */
    uint64_t step;           /* instructions that the warp retired before */
    int32_t has_address;
    uint32_t reserved; /* 0 */
    uint64_t address;
    const char* space;    /* of the address: "global", "shared", ...; may be empty */
    const char* range;    /* that holds or is nearest to a global address; may be empty */
    int64_t range_offset; /* of the address, from the begin of that range */
    uint64_t range_size;  /* in bytes */
} lockwarp_trap;

/* A place in the source that PTX was made of (.loc). */
typedef struct lockwarp_source {
    size_t struct_size;
    const char* file;
    const char* function; /* that was inlined, mangled; empty: the kernel or function itself */
    uint32_t line;        /* from 1; 0: made by the compiler */
    uint32_t column;      /* from 1; 0: not known */
} lockwarp_source;

typedef struct lockwarp_statistics {
    size_t struct_size;
    uint64_t instructions;       /* retired, by warps */
    uint64_t lane_operations;    /* retired, by lanes */
    uint64_t products;           /* multiply-adds of matrix instructions */
    uint64_t ctas;               /* that have ended */
    uint64_t warps;              /* theirs */
    uint64_t printed_bytes_lost; /* beyond the first MB of printed text */
} lockwarp_statistics;

/* What a thread printed (vprintf), or said before an assertion failed. */
typedef struct lockwarp_printed {
    size_t struct_size;
    const char* text; /* `size` bytes and a 0 */
    size_t size;
    uint64_t cta_index; /* x fastest */
    uint32_t cta[3];
    uint32_t thread[3];
    uint32_t warp; /* of the CTA */
    uint32_t lane;
} lockwarp_printed;

/* An instruction that had another value than its own, because NVIDIA's assembler computed it. */
typedef struct lockwarp_folded {
    size_t struct_size;
    uint32_t line;        /* in the PTX, from 1 */
    uint32_t column;      /* from 1, in bytes */
    uint64_t value;       /* bits of the result's type */
    uint64_t instruction; /* bits that the instruction gives */
    int32_t divisor;      /* not 0: the values are those of the divisor's reciprocal */
    uint32_t reserved;    /* 0 */
} lockwarp_folded;

/* LOCKWARP_NOT_FOUND where the kernel did not trap. */
LOCKWARP_API lockwarp_status lockwarp_result_trap(const lockwarp_result* result,
                                                  lockwarp_trap* out);
/* The trap's places in the source: its own, then those of the calls that were inlined, outwards. */
LOCKWARP_API lockwarp_status lockwarp_result_source(const lockwarp_result* result, size_t index,
                                                    lockwarp_source* out);
LOCKWARP_API lockwarp_status lockwarp_result_statistics(const lockwarp_result* result,
                                                        lockwarp_statistics* out);
/* By CTA, those of a CTA in the order of its run; of CTAs after one that trapped there are none. */
LOCKWARP_API size_t lockwarp_result_printed_count(const lockwarp_result* result);
LOCKWARP_API lockwarp_status lockwarp_result_printed(const lockwarp_result* result, size_t index,
                                                     lockwarp_printed* out);
/* In the order of the program, whether they ran or not. */
LOCKWARP_API size_t lockwarp_result_folded_count(const lockwarp_result* result);
LOCKWARP_API lockwarp_status lockwarp_result_folded(const lockwarp_result* result, size_t index,
                                                    lockwarp_folded* out);

/* ---- Matrix instructions without a kernel ---- */

/*
 * A variant of mma (dense, sparse, block-scaled) or wmma.mma. Matrices are arrays as the PTX manual
 * writes them, row by row, whatever .row and .col the variant has: A (m, k), of a sparse one
 * (m, stored_k), B (k, n), C and D (m, n). Elements of 8 bits and more are little-endian (tf32: the
 * 32 bits of an f32); of 6 bits a byte each, in its low bits; of 4 and 1 bit packed, low bits
 * first, or with LOCKWARP_MMA_BYTES a byte each.
 */
typedef struct lockwarp_mma_info {
    size_t struct_size;
    const char* key;    /* "mma.m16n8k16.f32.f16.f16.f32" */
    const char* a_type; /* "f16" */
    const char* b_type;
    const char* c_type;
    const char* d_type;
    uint32_t m, n, k;
    uint32_t stored_k;      /* of A: k / 2 of a sparse one */
    uint32_t groups;        /* of metadata in a row of A; 0: not sparse */
    uint32_t scales;        /* factors of a row of A and of a column of B; 0: none */
    const char* scale_type; /* "ue8m0", "ue4m3"; empty: none */
    int32_t satfinite;      /* LOCKWARP_MMA_SATFINITE is allowed */
    uint32_t target;        /* the least architecture: 80 is sm_80 */
    const char*
        evidence;       /* of its bits on the architecture asked for: "measured", ...; else empty */
    const char* source; /* the GPU or publication that it rests on; else empty */
} lockwarp_mma_info;

LOCKWARP_API size_t lockwarp_mma_count(void);
/* LOCKWARP_NOT_FOUND from lockwarp_mma_count() on. evidence and source are empty. */
LOCKWARP_API lockwarp_status lockwarp_mma_at(size_t index, lockwarp_mma_info* out);
/*
 * The variant of that key, which may lack its first words ("m16n8k16.f32.f16.f16.f32"). arch: one
 * that shall have it; may be NULL. Errors: LOCKWARP_NOT_FOUND with the nearest keys,
 * LOCKWARP_UNSUPPORTED where the architecture does not have it.
 */
LOCKWARP_API lockwarp_status lockwarp_mma_find(const char* key, const char* arch,
                                               lockwarp_mma_info* out, lockwarp_error** error);

/* lockwarp_mma_operands::flags */
enum {
    LOCKWARP_MMA_SATFINITE = 1, /* .satfinite, where the variant may have it */
    LOCKWARP_MMA_BYTES = 2      /* elements of 4 and 1 bit have a byte each, in its low bits */
};

/* A stride: all products have the same operand. */
#define LOCKWARP_SAME INT64_MIN

/*
 * `batch` products. A stride is the bytes from an operand of one product to that of the next; 0:
 * one behind the other, without gaps. D may be C, with the same stride; else it overlaps nothing.
 */
typedef struct lockwarp_mma_operands {
    size_t struct_size;
    uint64_t batch;
    const void* a;
    const void* b;
    const void* c; /* NULL: zeros */
    void* d;
    int64_t a_stride, b_stride, c_stride, d_stride;
    /*
     * Of a sparse A, m * groups bytes: of each the low two bits are the place of the group's first
     * unit, the next two that of its second (PTX manual, "Sparse matrix storage").
     */
    const uint8_t* metadata;
    int64_t metadata_stride;
    /* Of a block-scaled one: m * scales bytes, row by row, and n * scales, column by column. */
    const uint8_t* a_scales;
    const uint8_t* b_scales;
    int64_t a_scales_stride, b_scales_stride;
    uint32_t flags;
    uint32_t threads;    /* of the CPU; 0: all cores */
    lockwarp_stop* stop; /* may be NULL; D is then written in part */
} lockwarp_mma_operands;

/*
 * D = A * B + C, each product with the bits that the instruction gives on the architecture. Errors:
 * those of lockwarp_mma_find, LOCKWARP_INVALID_ARGUMENT (an operand that is missing, flags that the
 * variant does not have, D written twice), LOCKWARP_STOPPED.
 */
LOCKWARP_API lockwarp_status lockwarp_mma(const char* key, const char* arch,
                                          const lockwarp_mma_operands* operands,
                                          lockwarp_error** error);

#ifdef __cplusplus
}
#endif

#endif
