// SPDX-License-Identifier: Apache-2.0
// The opcodes, a row each: every fact about an instruction that its opcode alone decides and that
// more than one room asks for. What a room alone wants of each opcode (its behaviour, its cost,
// the program that tests it) stands in a table of that room, in the same order and as complete.
// Sources: the sections of the PTX manual that bear the instructions' names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "emu/isa/arch.hpp"

namespace lockwarp::isa {

// An instruction, or those of a family that differ by modifiers only.
enum class Op : uint8_t {
    mov,
    ld,
    st,
    cvta,
    isspacep,
    mapa,
    getctarank,
    policy_fraction,
    policy_range,
    policy_convert,
    hint,
    cvt,
    cvt_pack,
    prefetch,
    atom,
    red,
    add,
    sub,
    mul,
    mad,
    fma,
    add_mixed,  // of f16 or bf16 and f32, in f32
    sub_mixed,
    fma_mixed,
    div,
    rem,
    abs,
    neg,
    min,
    max,
    min3,  // of three operands
    max3,
    rcp,
    sqrt,
    sad,
    copysign,
    ex2,
    lg2,
    rsqrt,
    sin,
    cos,
    tanh,
    rcp_approx,
    sqrt_approx,
    div_approx,
    div_full,
    popc,
    clz,
    bfind,
    brev,
    bfe,
    bfi,
    and_,
    or_,
    xor_,
    not_,
    cnot,
    lop3,
    shl,
    shr,
    shf,
    prmt,
    dp4a,
    dp2a,
    addc,
    subc,
    madc,
    mul24,
    mad24,
    bmsk,
    szext,
    fns,
    testp,
    setp,
    set,
    selp,
    slct,
    vadd,
    vsub,
    vabsdiff,
    vmin,
    vmax,
    vset,
    vshl,
    vshr,
    vmad,
    vadd2,
    vsub2,
    vavrg2,
    vabsdiff2,
    vmin2,
    vmax2,
    vset2,
    vadd4,
    vsub4,
    vavrg4,
    vabsdiff4,
    vmin4,
    vmax4,
    vset4,
    bra,
    brx,
    call,
    alloca_,
    stacksave,
    stackrestore,
    ret,
    exit,
    trap,
    brkpt,
    nanosleep,
    fence,
    bar,
    bar_red,
    bar_warp,
    activemask,
    shfl,
    vote,
    match,
    redux,
    redux_float,
    elect,
    cp_async,
    cp_async_commit,
    cp_async_wait,  // of groups: but for the youngest `immediate` ones
    cp_async_wait_all,
    bulk_load,         // from global to shared memory
    bulk_send,         // from shared memory to a CTA's of the cluster
    bulk_store,        // from shared to global memory
    bulk_reduce,       // as bulk_store, with what is there
    bulk_send_reduce,  // as bulk_send, with what is there
    bulk_prefetch,
    bulk_commit,
    bulk_wait,    // of groups: but for the youngest `immediate` ones
    tensor_load,  // from the tensor of a map to shared memory
    tensor_store,
    tensor_reduce,
    tensor_prefetch,
    tensormap_replace,  // one field of a tensor map
    tensormap_copy,     // a whole one
    launch_cancel,      // asks for a cluster that has not begun
    launch_canceled,    // whether that was given
    launch_first,       // and its first CTA
    async_store,        // to a CTA's shared memory of the cluster
    async_reduce,
    multimem_load,
    multimem_store,
    multimem_reduce,
    tex,   // of a texture object
    tld4,  // one component of the four elements that a filter would weigh
    suld,  // of a surface object
    sust,
    texture_query,
    surface_query,
    set_max_registers,
    cluster_arrive,
    cluster_wait,
    mbarrier_init,
    mbarrier_inval,
    mbarrier_expect,
    mbarrier_complete,
    mbarrier_arrive,
    mbarrier_drop,
    mbarrier_wait,
    mbarrier_pending,
    mbarrier_copies,
    ldmatrix,
    stmatrix,
    movmatrix,
    mma,
    wmma_load,
    wmma_store,
    wmma_mma,
    wgmma_mma,
    wgmma_fence,
    wgmma_commit,
    wgmma_wait,
    count_
};

inline constexpr size_t op_count = static_cast<size_t>(Op::count_);

// How a warp comes to execute it.
enum class StepKind : uint8_t {
    plain,       // in the lanes whose guard is true
    aligned,     // as plain, but all lanes of the warp must be there (.aligned)
    collective,  // as plain, once all lanes of the membermask are there
    reduction,   // a barrier, with a value or of the cluster: retires once the barrier has opened
    control,     // branches, exits, barriers: the scheduler's own
    ordered,     // of no opcode: a plain access to memory whose lanes wait for their turn
};

// Where a thread goes on behind it.
enum class Flow : uint8_t {
    next,
    branch,  // to a label
    index,   // to one of several labels
    call,
    ret,
    exit,
    trap,
    brkpt,
    wait,  // at a barrier of the CTA or the cluster
};

// What it makes sure of about other threads where it lets its own go on.
enum class Sync : uint8_t {
    none,
    warp,     // the lanes of the membermask are there, and their memory operations done
    cta,      // the threads of a barrier are
    cluster,  // the threads of the cluster are
    phase,    // those that an mbarrier counts, if it says so
    order,    // nobody waits; memory operations are ordered, from which a program makes waits
};

enum class Memory : uint8_t {
    none,
    load,
    store,
    update,   // reads and writes one place at once
    barrier,  // makes, changes or asks an mbarrier
    copy,     // reads one place and writes another, later
};

enum class Matrix : uint8_t {
    none,
    move,       // between memory and fragments
    registers,  // from registers to registers
    product,
    warpgroup,  // a product with operands in shared memory, of four warps together
};

struct OpRow {
    Op op;
    std::string_view name;  // as it is written, with the modifiers that choose it
    StepKind step = StepKind::plain;
    Flow flow = Flow::next;
    Sync sync = Sync::none;
    Memory memory = Memory::none;
    bool shared_only = false;  // its place in memory is in .shared, said or not
    bool of_objects = false;  // it works by the object of a texture or surface, which is a driver's
    bool sampled = false;     // of a texture: its results are values made of elements
    Matrix matrix = Matrix::none;
    bool wmma = false;
    bool reads_carry = false;      // CC.CF. Modifier .cc writes it
    uint8_t elements = 0;          // of a video instruction: values side by side
    Suffix suffix = Suffix::none;  // that the .target has to end with
    // Of a module whose .target lacks it the assembler says that it is not supported there, after
    // it has looked at the .version; of others, which .target it requires.
    bool by_target = false;
    // The only family of targets that has it, by the number of its first; 0: all have it.
    uint16_t family = 0;
    // The least .version where its result may be '_'.
    uint16_t discard_version = 0;
    // Why a chain of values, one register after another, does not have it. Empty: it may.
    std::string_view not_a_value = {};
    // Why its result may be another in another run of the same program on the same machine.
    std::string_view varies = {};
};

inline constexpr uint16_t never_discarded = UINT16_MAX;

namespace reason {
inline constexpr std::string_view memory = "it reads or writes memory";
inline constexpr std::string_view address = "it is about an address";
inline constexpr std::string_view policy = "its result is opaque";
inline constexpr std::string_view steers = "it steers";
inline constexpr std::string_view waits = "it waits for other threads, or for time";
inline constexpr std::string_view effect = "it has no result";
inline constexpr std::string_view fragments = "its operands are fragments";
inline constexpr std::string_view together = "which lanes run together is the machine's choice";
inline constexpr std::string_view opaque_state =
    "a state is the machine's own (PTX manual, mbarrier: opaque), and threads come in any order";
}  // namespace reason

// clang-format off
inline constexpr std::array<OpRow, op_count> op_rows{{
    {.op = Op::mov, .name = "mov"},
    {.op = Op::ld, .name = "ld", .memory = Memory::load, .not_a_value = reason::memory},
    {.op = Op::st, .name = "st", .memory = Memory::store, .not_a_value = reason::memory},
    {.op = Op::cvta, .name = "cvta", .not_a_value = reason::address},
    {.op = Op::isspacep, .name = "isspacep", .discard_version = never_discarded, .not_a_value = reason::address},
    {.op = Op::mapa, .name = "mapa"},
    {.op = Op::getctarank, .name = "getctarank"},
    {.op = Op::policy_fraction, .name = "createpolicy.fractional", .discard_version = never_discarded, .not_a_value = reason::policy},
    {.op = Op::policy_range, .name = "createpolicy.range", .discard_version = never_discarded, .not_a_value = reason::policy},
    {.op = Op::policy_convert, .name = "createpolicy.cvt", .discard_version = never_discarded, .not_a_value = reason::policy},
    {.op = Op::hint, .name = "pmevent", .not_a_value = reason::effect},
    {.op = Op::cvt, .name = "cvt"},
    {.op = Op::cvt_pack, .name = "cvt.pack"},
    {.op = Op::prefetch, .name = "prefetch", .not_a_value = reason::address},
    {.op = Op::atom, .name = "atom", .sync = Sync::order, .memory = Memory::update, .not_a_value = reason::memory,
     .varies = "what an atomic returns depends on the order of the threads (PTX manual, atom)"},
    {.op = Op::red, .name = "red", .memory = Memory::update, .not_a_value = reason::memory},

    {.op = Op::add, .name = "add"},
    {.op = Op::sub, .name = "sub"},
    {.op = Op::mul, .name = "mul"},
    {.op = Op::mad, .name = "mad"},
    {.op = Op::fma, .name = "fma"},
    {.op = Op::add_mixed, .name = "add"},
    {.op = Op::sub_mixed, .name = "sub"},
    {.op = Op::fma_mixed, .name = "fma"},
    {.op = Op::div, .name = "div"},
    {.op = Op::rem, .name = "rem"},
    {.op = Op::abs, .name = "abs"},
    {.op = Op::neg, .name = "neg"},
    {.op = Op::min, .name = "min"},
    {.op = Op::max, .name = "max"},
    {.op = Op::min3, .name = "min"},
    {.op = Op::max3, .name = "max"},
    {.op = Op::rcp, .name = "rcp"},
    {.op = Op::sqrt, .name = "sqrt"},
    {.op = Op::sad, .name = "sad"},
    {.op = Op::copysign, .name = "copysign"},
    {.op = Op::ex2, .name = "ex2.approx"},
    {.op = Op::lg2, .name = "lg2.approx"},
    {.op = Op::rsqrt, .name = "rsqrt.approx"},
    {.op = Op::sin, .name = "sin.approx"},
    {.op = Op::cos, .name = "cos.approx"},
    {.op = Op::tanh, .name = "tanh.approx"},
    {.op = Op::rcp_approx, .name = "rcp.approx"},
    {.op = Op::sqrt_approx, .name = "sqrt.approx"},
    {.op = Op::div_approx, .name = "div.approx"},
    {.op = Op::div_full, .name = "div.full"},
    {.op = Op::popc, .name = "popc"},
    {.op = Op::clz, .name = "clz"},
    {.op = Op::bfind, .name = "bfind"},
    {.op = Op::brev, .name = "brev"},
    {.op = Op::bfe, .name = "bfe"},
    {.op = Op::bfi, .name = "bfi"},
    {.op = Op::and_, .name = "and"},
    {.op = Op::or_, .name = "or"},
    {.op = Op::xor_, .name = "xor"},
    {.op = Op::not_, .name = "not"},
    {.op = Op::cnot, .name = "cnot"},
    {.op = Op::lop3, .name = "lop3"},
    {.op = Op::shl, .name = "shl"},
    {.op = Op::shr, .name = "shr"},
    {.op = Op::shf, .name = "shf"},
    {.op = Op::prmt, .name = "prmt"},
    {.op = Op::dp4a, .name = "dp4a"},
    {.op = Op::dp2a, .name = "dp2a"},
    {.op = Op::addc, .name = "addc", .reads_carry = true},
    {.op = Op::subc, .name = "subc", .reads_carry = true},
    {.op = Op::madc, .name = "madc", .reads_carry = true},
    {.op = Op::mul24, .name = "mul24"},
    {.op = Op::mad24, .name = "mad24"},
    {.op = Op::bmsk, .name = "bmsk"},
    {.op = Op::szext, .name = "szext"},
    {.op = Op::fns, .name = "fns"},
    {.op = Op::testp, .name = "testp"},
    {.op = Op::setp, .name = "setp"},
    {.op = Op::set, .name = "set"},
    {.op = Op::selp, .name = "selp"},
    {.op = Op::slct, .name = "slct"},
    {.op = Op::vadd, .name = "vadd", .elements = 1},
    {.op = Op::vsub, .name = "vsub", .elements = 1},
    {.op = Op::vabsdiff, .name = "vabsdiff", .elements = 1},
    {.op = Op::vmin, .name = "vmin", .elements = 1},
    {.op = Op::vmax, .name = "vmax", .elements = 1},
    {.op = Op::vset, .name = "vset", .elements = 1},
    {.op = Op::vshl, .name = "vshl", .elements = 1},
    {.op = Op::vshr, .name = "vshr", .elements = 1},
    {.op = Op::vmad, .name = "vmad", .elements = 1},
    {.op = Op::vadd2, .name = "vadd2", .elements = 2},
    {.op = Op::vsub2, .name = "vsub2", .elements = 2},
    {.op = Op::vavrg2, .name = "vavrg2", .elements = 2},
    {.op = Op::vabsdiff2, .name = "vabsdiff2", .elements = 2},
    {.op = Op::vmin2, .name = "vmin2", .elements = 2},
    {.op = Op::vmax2, .name = "vmax2", .elements = 2},
    {.op = Op::vset2, .name = "vset2", .elements = 2},
    {.op = Op::vadd4, .name = "vadd4", .elements = 4},
    {.op = Op::vsub4, .name = "vsub4", .elements = 4},
    {.op = Op::vavrg4, .name = "vavrg4", .elements = 4},
    {.op = Op::vabsdiff4, .name = "vabsdiff4", .elements = 4},
    {.op = Op::vmin4, .name = "vmin4", .elements = 4},
    {.op = Op::vmax4, .name = "vmax4", .elements = 4},
    {.op = Op::vset4, .name = "vset4", .elements = 4},

    {.op = Op::bra, .name = "bra", .step = StepKind::control, .flow = Flow::branch, .not_a_value = reason::steers},
    {.op = Op::brx, .name = "brx.idx", .step = StepKind::control, .flow = Flow::index, .not_a_value = reason::steers},
    {.op = Op::call, .name = "call", .step = StepKind::control, .flow = Flow::call, .not_a_value = reason::steers},
    {.op = Op::alloca_, .name = "alloca", .not_a_value = reason::address},
    {.op = Op::stacksave, .name = "stacksave", .not_a_value = reason::address},
    {.op = Op::stackrestore, .name = "stackrestore", .not_a_value = reason::address},
    {.op = Op::ret, .name = "ret", .step = StepKind::control, .flow = Flow::ret, .not_a_value = reason::steers},
    {.op = Op::exit, .name = "exit", .step = StepKind::control, .flow = Flow::exit, .not_a_value = reason::steers},
    {.op = Op::trap, .name = "trap", .step = StepKind::control, .flow = Flow::trap, .not_a_value = reason::steers},
    {.op = Op::brkpt, .name = "brkpt", .step = StepKind::control, .flow = Flow::brkpt, .not_a_value = reason::steers},
    {.op = Op::nanosleep, .name = "nanosleep", .not_a_value = reason::waits},
    {.op = Op::fence, .name = "fence", .sync = Sync::order, .not_a_value = reason::waits},
    {.op = Op::bar, .name = "bar.sync", .step = StepKind::control, .flow = Flow::wait, .sync = Sync::cta, .not_a_value = reason::waits},
    {.op = Op::bar_red, .name = "bar.red", .step = StepKind::reduction, .flow = Flow::wait, .sync = Sync::cta, .discard_version = never_discarded, .not_a_value = reason::waits},
    {.op = Op::bar_warp, .name = "bar.warp.sync", .step = StepKind::collective, .sync = Sync::warp, .not_a_value = reason::waits},
    {.op = Op::activemask, .name = "activemask", .not_a_value = reason::together,
     .varies = "which lanes run together is the machine's choice (PTX manual, activemask)"},
    {.op = Op::shfl, .name = "shfl.sync", .step = StepKind::collective},
    {.op = Op::vote, .name = "vote.sync", .step = StepKind::collective},
    {.op = Op::match, .name = "match", .step = StepKind::collective},
    {.op = Op::redux, .name = "redux.sync", .step = StepKind::collective},
    {.op = Op::redux_float, .name = "redux.sync", .step = StepKind::collective, .suffix = Suffix::f, .by_target = true, .family = 100},
    {.op = Op::elect, .name = "elect.sync", .step = StepKind::collective},

    {.op = Op::cp_async, .name = "cp.async", .memory = Memory::copy, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::cp_async_commit, .name = "cp.async.commit_group", .not_a_value = reason::effect},
    {.op = Op::cp_async_wait, .name = "cp.async.wait_group", .not_a_value = reason::waits},
    {.op = Op::cp_async_wait_all, .name = "cp.async.wait_all", .not_a_value = reason::waits},
    {.op = Op::bulk_load, .name = "cp.async.bulk.shared::cluster.global", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::bulk_send, .name = "cp.async.bulk.shared::cluster.shared::cta", .memory = Memory::copy, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::bulk_store, .name = "cp.async.bulk.global.shared::cta", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::bulk_reduce, .name = "cp.reduce.async.bulk.global.shared::cta", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::bulk_send_reduce, .name = "cp.reduce.async.bulk.shared::cluster.shared::cta", .memory = Memory::copy, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::bulk_prefetch, .name = "cp.async.bulk.prefetch.L2", .not_a_value = reason::address},
    {.op = Op::bulk_commit, .name = "cp.async.bulk.commit_group", .not_a_value = reason::effect},
    {.op = Op::bulk_wait, .name = "cp.async.bulk.wait_group", .not_a_value = reason::waits},
    {.op = Op::tensor_load, .name = "cp.async.bulk.tensor.Nd.shared::cluster.global", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::tensor_store, .name = "cp.async.bulk.tensor.Nd.global.shared::cta", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::tensor_reduce, .name = "cp.reduce.async.bulk.tensor.Nd.global.shared::cta", .memory = Memory::copy, .not_a_value = reason::memory},
    {.op = Op::tensor_prefetch, .name = "cp.async.bulk.prefetch.tensor.Nd.L2", .not_a_value = reason::address},
    {.op = Op::tensormap_replace, .name = "tensormap.replace", .memory = Memory::update, .suffix = Suffix::a, .by_target = true, .not_a_value = reason::memory},
    {.op = Op::tensormap_copy, .name = "tensormap.cp_fenceproxy", .step = StepKind::aligned, .memory = Memory::copy, .by_target = true, .not_a_value = reason::memory},
    {.op = Op::launch_cancel, .name = "clusterlaunchcontrol.try_cancel", .memory = Memory::store, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::launch_canceled, .name = "clusterlaunchcontrol.query_cancel.is_canceled", .not_a_value = reason::policy},
    {.op = Op::launch_first, .name = "clusterlaunchcontrol.query_cancel.get_first_ctaid", .not_a_value = reason::policy},
    {.op = Op::async_store, .name = "st.async", .memory = Memory::store, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::async_reduce, .name = "red.async", .memory = Memory::update, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::multimem_load, .name = "multimem.ld_reduce", .memory = Memory::load, .not_a_value = reason::memory},
    {.op = Op::multimem_store, .name = "multimem.st", .memory = Memory::store, .not_a_value = reason::memory},
    {.op = Op::multimem_reduce, .name = "multimem.red", .memory = Memory::update, .not_a_value = reason::memory},
    {.op = Op::tex, .name = "tex", .memory = Memory::load, .of_objects = true, .sampled = true, .not_a_value = reason::memory},
    {.op = Op::tld4, .name = "tld4", .memory = Memory::load, .of_objects = true, .sampled = true, .not_a_value = reason::memory},
    {.op = Op::suld, .name = "suld", .memory = Memory::load, .of_objects = true, .not_a_value = reason::memory},
    {.op = Op::sust, .name = "sust", .memory = Memory::store, .of_objects = true, .not_a_value = reason::memory},
    {.op = Op::texture_query, .name = "txq", .of_objects = true, .not_a_value = reason::memory},
    {.op = Op::surface_query, .name = "suq", .of_objects = true, .not_a_value = reason::memory},
    {.op = Op::set_max_registers, .name = "setmaxnreg", .step = StepKind::aligned, .suffix = Suffix::a, .by_target = true, .not_a_value = reason::waits},
    {.op = Op::cluster_arrive, .name = "barrier.cluster.arrive", .step = StepKind::control, .flow = Flow::wait, .sync = Sync::cluster, .not_a_value = reason::waits},
    {.op = Op::cluster_wait, .name = "barrier.cluster.wait", .step = StepKind::reduction, .flow = Flow::wait, .sync = Sync::cluster, .not_a_value = reason::waits},
    {.op = Op::mbarrier_init, .name = "mbarrier.init", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::mbarrier_inval, .name = "mbarrier.inval", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::mbarrier_expect, .name = "mbarrier.expect_tx", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::mbarrier_complete, .name = "mbarrier.complete_tx", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory},
    {.op = Op::mbarrier_arrive, .name = "mbarrier.arrive", .memory = Memory::barrier, .shared_only = true, .discard_version = 71, .not_a_value = reason::memory,
     .varies = reason::opaque_state},
    {.op = Op::mbarrier_drop, .name = "mbarrier.arrive_drop", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory,
     .varies = reason::opaque_state},
    {.op = Op::mbarrier_wait, .name = "mbarrier.test_wait", .sync = Sync::phase, .memory = Memory::barrier, .shared_only = true, .discard_version = never_discarded, .not_a_value = reason::memory,
     .varies = "whether a phase is over depends on when it is asked (PTX manual, mbarrier.test_wait)"},
    {.op = Op::mbarrier_pending, .name = "mbarrier.pending_count", .discard_version = never_discarded, .not_a_value = reason::policy},
    {.op = Op::mbarrier_copies, .name = "cp.async.mbarrier.arrive", .memory = Memory::barrier, .shared_only = true, .not_a_value = reason::memory},

    {.op = Op::ldmatrix, .name = "ldmatrix", .step = StepKind::aligned, .memory = Memory::load, .shared_only = true, .matrix = Matrix::move, .not_a_value = reason::memory},
    {.op = Op::stmatrix, .name = "stmatrix", .step = StepKind::aligned, .memory = Memory::store, .shared_only = true, .matrix = Matrix::move, .not_a_value = reason::memory},
    {.op = Op::movmatrix, .name = "movmatrix", .step = StepKind::aligned, .matrix = Matrix::registers},
    {.op = Op::mma, .name = "mma", .step = StepKind::aligned, .matrix = Matrix::product, .not_a_value = reason::fragments},
    {.op = Op::wmma_load, .name = "wmma.load", .step = StepKind::aligned, .memory = Memory::load, .matrix = Matrix::move, .wmma = true, .not_a_value = reason::memory},
    {.op = Op::wmma_store, .name = "wmma.store", .step = StepKind::aligned, .memory = Memory::store, .matrix = Matrix::move, .wmma = true, .not_a_value = reason::memory},
    {.op = Op::wmma_mma, .name = "wmma.mma", .step = StepKind::aligned, .matrix = Matrix::product, .wmma = true, .not_a_value = reason::fragments},
    {.op = Op::wgmma_mma, .name = "wgmma.mma_async", .step = StepKind::aligned, .memory = Memory::load, .shared_only = true, .matrix = Matrix::warpgroup, .suffix = Suffix::a, .not_a_value = reason::memory},
    {.op = Op::wgmma_fence, .name = "wgmma.fence", .step = StepKind::aligned, .suffix = Suffix::a, .not_a_value = reason::waits},
    {.op = Op::wgmma_commit, .name = "wgmma.commit_group", .step = StepKind::aligned, .suffix = Suffix::a, .not_a_value = reason::effect},
    {.op = Op::wgmma_wait, .name = "wgmma.wait_group", .step = StepKind::aligned, .suffix = Suffix::a, .not_a_value = reason::waits},
}};
// clang-format on

// Whether a table has a row for each opcode, in the order of Op: rows of a struct with a member
// `op`. A room asserts it of its own table, so that an opcode added without a row does not compile.
template <class Rows>
constexpr bool complete(const Rows& rows) {
    if (std::size(rows) != op_count) return false;
    for (size_t i = 0; i < op_count; ++i)
        if (rows[i].op != static_cast<Op>(i)) return false;
    return true;
}

static_assert(complete(op_rows));
static_assert(std::ranges::none_of(op_rows, [](const OpRow& r) { return r.name.empty(); }));
static_assert(std::ranges::all_of(op_rows, [](const OpRow& r) {
    const bool chained = r.not_a_value.empty();
    const bool bound = r.step == StepKind::control || r.step == StepKind::reduction;
    return (!chained || (r.memory == Memory::none && r.flow == Flow::next)) &&
           (r.flow != Flow::next) == bound &&
           (r.matrix == Matrix::none || r.step == StepKind::aligned) &&
           (!r.wmma || r.matrix != Matrix::none) && (r.memory != Memory::none || !r.shared_only);
}));

constexpr const OpRow& row(Op op) { return op_rows[static_cast<size_t>(op)]; }

// An instruction on one register after another: no address, no steering, no waiting.
constexpr bool on_values(Op op) { return row(op).not_a_value.empty(); }

// All lanes of the warp, or of a membermask, execute it together.
constexpr bool needs_the_warp(Op op) {
    return row(op).step == StepKind::aligned || row(op).step == StepKind::collective;
}

constexpr bool is_branch(Op op) {
    return row(op).flow == Flow::branch || row(op).flow == Flow::index;
}

// No lane that executes it goes on behind it, but one whose function returns.
constexpr bool ends_lanes(Op op) {
    const Flow f = row(op).flow;
    return f == Flow::ret || f == Flow::exit || f == Flow::trap;
}

}  // namespace lockwarp::isa
