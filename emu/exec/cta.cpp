#include "emu/exec/cta.hpp"

#include <algorithm>
#include <cstring>

namespace lockwarp::exec {

namespace {

using isa::Op;
using isa::Special;
using warp::no_index;
using warp::Path;
using warp::PathState;
using warp::Reconvergence;
using warp::TrapKind;
using warp::Warp;

// Instructions a warp retires before the next warp of the CTA, or the next path of the same warp,
// has its turn: every path goes on, whatever another waits for.
constexpr uint64_t turn = 20000;
// Turns of a CTA's warps before another CTA may have the core: CTAs may wait for each other too.
constexpr unsigned most_rounds = 16;

// Shared memory that the driver keeps for itself and for CUDA's cooperative groups; it is there
// only in programs that ask where.
constexpr uint32_t reserved_bytes = 1024;

// Where it begins, behind the variables; from Program::shared_begin.
uint64_t reserved_begin(const isa::Program& program, const warp::Launch& launch) {
    return (program.shared_static + uint64_t{launch.dynamic_shared} + 15) / 16 * 16;
}

uint64_t special_value(Special which, const warp::Launch& launch, const warp::Cta& cta,
                       const isa::Program& program, uint32_t warp, uint32_t lane) {
    const uint64_t thread = uint64_t{warp} * 32 + lane;
    const warp::Dim3& block = launch.block;
    const warp::Dim3& grid = launch.grid;
    const uint32_t bit = 1u << lane;
    switch (which) {
        case Special::tid_x:
            return thread % block.x;
        case Special::tid_y:
            return thread / block.x % block.y;
        case Special::tid_z:
            return thread / block.x / block.y;
        case Special::ntid_x:
            return block.x;
        case Special::ntid_y:
            return block.y;
        case Special::ntid_z:
            return block.z;
        case Special::ctaid_x:
            return cta.id[0];
        case Special::ctaid_y:
            return cta.id[1];
        case Special::ctaid_z:
            return cta.id[2];
        case Special::nctaid_x:
            return grid.x;
        case Special::nctaid_y:
            return grid.y;
        case Special::nctaid_z:
            return grid.z;
        case Special::laneid:
            return lane;
        case Special::warpid:
            return warp;
        case Special::nwarpid:
            return cta.warps.size();
        case Special::nsmid:
            return 1;
        case Special::lanemask_eq:
            return bit;
        case Special::lanemask_le:
            return bit | (bit - 1);
        case Special::lanemask_lt:
            return bit - 1;
        case Special::lanemask_ge:
            return ~(bit - 1);
        case Special::lanemask_gt:
            return ~(bit | (bit - 1));
        case Special::total_smem_size:
        case Special::aggr_smem_size:
            return program.shared_static + uint64_t{launch.dynamic_shared};
        case Special::dynamic_smem_size:
            return launch.dynamic_shared;
        case Special::workspace_low:
            return launch.cooperative ? uint32_t{isa::grid_workspace & 0xffffffff} : 0;
        case Special::workspace_high:
            return launch.cooperative ? isa::grid_workspace >> 32 : 0;
        case Special::one:
            return 1;
        case Special::reserved:
            return reserved_bytes;
        case Special::reserved_begin:
            return program.shared_begin + reserved_begin(program, launch);
        default:
            return 0;
    }
}

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

}  // namespace

void set_trap(Context& c, const Operation& o, TrapKind kind, std::string detail) {
    if (c.trap) return;
    warp::Trap t;
    t.kind = kind;
    t.detail = std::move(detail);
    t.operation = static_cast<uint32_t>(&o - c.program->operations.data());
    t.place = o.place;
    t.cta = c.cta->id;
    t.cta_index = c.cta->index;
    t.warp = c.warp->index;
    t.step = c.warp->step;
    c.trap = std::move(t);
}

void set_trap(Context& c, const Operation& o, TrapKind kind, std::string detail, unsigned lane,
              uint64_t address, ptx::Space space) {
    if (c.trap) return;
    set_trap(c, o, kind, std::move(detail));
    c.trap->has_lane = true;
    c.trap->lane = lane;
    c.trap->has_address = true;
    c.trap->address = address;
    c.trap->space = space;
}

CtaRunner::CtaRunner(const Code& code, const warp::Launch& launch, const warp::GlobalMemory& global,
                     Heap* heap, warp::Observer* observer)
    : code_(code), launch_(launch), observer_(observer) {
    const isa::Program& program = *code.program;
    const auto warps = static_cast<size_t>((launch.block.count() + 31) / 32);
    file_bytes_ = (program.register_bytes + 63) / 64 * 64;
    storage_ = std::make_unique<uint8_t[]>(warps * file_bytes_ + 64);
    const auto address = reinterpret_cast<uintptr_t>(storage_.get());
    files_ = storage_.get() + ((64 - address % 64) % 64);
    image_.assign(file_bytes_, 0);
    for (const isa::Constant& k : program.constants) {
        uint8_t* at = image_.data() + k.ref;
        if (k.width == 1) {
            const uint32_t value = k.value != 0 ? all_lanes : 0;
            std::memcpy(at, &value, sizeof value);
            continue;
        }
        for (unsigned lane = 0; lane < 32; ++lane)
            std::memcpy(at + lane * (k.width / 8), &k.value, k.width / 8);
    }
    cta_.warps.resize(warps);
    const bool asks = std::ranges::any_of(program.specials, [](const isa::SpecialUse& use) {
        return use.special == isa::Special::reserved_begin;
    });
    cta_.shared.resize(asks ? reserved_begin(program, launch) + reserved_bytes
                            : program.shared_static + size_t{launch.dynamic_shared});
    context_.program = &program;
    context_.heap = heap;
    context_.launch = &launch;
    context_.global = &global;
    context_.cta = &cta_;
    context_.observed = observer != nullptr;
}

void CtaRunner::begin(uint64_t index) {
    const isa::Program& program = *code_.program;
    const warp::Dim3& grid = launch_.grid;
    context_.trap.reset();
    context_.products = 0;
    spun_ = false;
    cta_.index = index;
    cta_.id = {static_cast<uint32_t>(index % grid.x),
               static_cast<uint32_t>(index / grid.x % grid.y),
               static_cast<uint32_t>(index / grid.x / grid.y)};
    cta_.barriers.fill({});
    std::ranges::fill(cta_.shared, uint8_t{0});
    const uint64_t threads = launch_.block.count();
    for (uint32_t i = 0; i < cta_.warps.size(); ++i) {
        Warp& w = cta_.warps[i];
        w.index = i;
        w.step = 0;
        const uint64_t rest = threads - uint64_t{i} * 32;
        w.live = rest >= 32 ? all_lanes : (1u << rest) - 1;
        w.meetings.clear();
        w.paths.assign(1, Path{0, w.live});
        w.registers = files_ + size_t{i} * file_bytes_;
        w.frames.clear();
        w.free_frames.clear();
        w.saved_bytes = 0;
        w.top.fill(program.local_bytes);
        w.local_stride = program.local_bytes;
        w.local_fill = launch_.local_fill;
        w.local.assign(size_t{32} * program.local_bytes, w.local_fill);
        w.tracks_local = launch_.oracle != nullptr;
        w.local_written.assign(w.tracks_local ? w.local.size() : 0, 0);
        std::memcpy(w.registers, image_.data(), file_bytes_);
        for (const isa::SpecialUse& s : program.specials)
            for (uint32_t lane = 0; lane < 32; ++lane) {
                const uint64_t value = special_value(s.special, launch_, cta_, program, i, lane);
                const unsigned bytes = isa::bits(s.type) / 8;
                std::memcpy(w.registers + s.ref + lane * bytes, &value, bytes);
            }
    }
}

CtaRunner::Stands CtaRunner::go_on(bool whole_turn) {
    bool running = true;
    for (unsigned round = 0; running && !context_.trap; ++round) {
        if (launch_.stop != nullptr && launch_.stop->load(std::memory_order_relaxed)) {
            context_.warp = &cta_.warps[0];
            set_trap(context_, code_.program->operations[0], TrapKind::stopped, "");
            break;
        }
        if (round != 0 || (spun_ && !whole_turn)) spun_ = has_ready_path() && only_spins();
        if ((spun_ && !(whole_turn && round == 0)) || round == most_rounds) return Stands::waits;
        if (context_.trap) break;
        running = false;
        bool advanced = false;
        for (Warp& w : cta_.warps) {
            if (w.live == 0) continue;
            advanced |= run_warp(w);
            if (context_.trap) break;
            running |= w.live != 0;
        }
        if (running && !advanced && !context_.trap) context_.trap = deadlock();
        if (running && !context_.trap) release_lanes_that_are_spun_for();
    }
    statistics_.products += context_.products;
    statistics_.ctas += 1;
    statistics_.warps += cta_.warps.size();
    if (observer_ != nullptr) observer_->cta_ended(cta_.index);
    return Stands::ended;
}

// Gives each path of the warp that can go on a turn. false: none could.
bool CtaRunner::run_warp(Warp& w) {
    context_.warp = &w;
    context_.registers = w.registers;
    bool advanced = false;
    const uint64_t end = w.step + turn;
    while (w.live != 0 && w.step < end) {
        const auto ready = std::find_if(w.paths.rbegin(), w.paths.rend(),
                                        [](const Path& p) { return p.state == PathState::ready; });
        if (ready == w.paths.rend()) break;
        const auto path = static_cast<size_t>(w.paths.rend() - ready - 1);
        const uint64_t steps = w.paths.size() > 1 ? std::min(end, w.step + turn / 8) : end;
        const uint64_t before = w.step;
        if (!run_path(w, path, steps)) return true;
        advanced |= context_.yields == 0 || w.step != before;
        if (context_.yields != 0) {
            context_.yields = 0;
            const auto at = w.paths.begin() + static_cast<std::ptrdiff_t>(path);
            std::rotate(w.paths.begin(), at, at + 1);
            break;
        }
        // The turn is over, not the path: the others come first now.
        if (w.step >= steps && w.paths.size() > 1)
            std::rotate(w.paths.begin(), w.paths.end() - 1, w.paths.end());
    }
    return advanced;
}

// Lanes of one warp may wait for each other in loops (independent thread scheduling, CUDA C++
// programming guide, "Compute Capability 7.x"), also for lanes that have left the loop and stand
// where both shall meet. Where nothing in the CTA can change any more, those go on by themselves.
void CtaRunner::release_lanes_that_are_spun_for() {
    const auto stands = [](const Reconvergence& m) { return m.arrived != 0; };
    const auto waiting = std::ranges::find_if(
        cta_.warps, [&](const Warp& w) { return std::ranges::any_of(w.meetings, stands); });
    if (waiting == cta_.warps.end() || !only_spins()) return;
    Reconvergence& m = *std::ranges::find_if(waiting->meetings, stands);
    resume(*waiting, m, m.arrived);
    m.expected &= ~m.arrived;
    m.arrived = 0;
}

bool CtaRunner::has_ready_path() const {
    return std::ranges::any_of(cta_.warps, [](const Warp& w) {
        return std::ranges::find(w.paths, PathState::ready, &Path::state) != w.paths.end();
    });
}

// Whether no path of the CTA that can go on does anything but wait for a change of memory.
bool CtaRunner::only_spins() {
    for (Warp& w : cta_.warps)
        for (size_t i = 0; i < w.paths.size(); ++i)
            if (w.paths[i].state == PathState::ready && !spins(w, i)) return false;
    return true;
}

// Whether the path comes back, within some steps that it runs here, to the same operation with the
// same registers and without having stored anything. Where it looks at memory and at the clock, as
// a wait with a growing pause does, the registers may differ; a loop with the clock alone is a
// pause.
bool CtaRunner::spins(Warp& w, size_t path) {
    constexpr uint64_t longest_loop = 500;
    context_.warp = &w;
    context_.registers = w.registers;
    const Path before = w.paths[path];
    const size_t paths = w.paths.size();
    const uint64_t stores = context_.stores;
    const std::vector<uint8_t> registers(w.registers, w.registers + file_bytes_);
    bool loaded = false;
    bool timed = false;
    for (uint64_t i = 0; i < longest_loop; ++i) {
        const Operation& o = *code_.steps[w.paths[path].pc].op;
        loaded |= o.op == Op::ld;
        timed |= o.reads_clock;
        if (!run_path(w, path, w.step + 1)) return false;
        if (w.paths.size() != paths || context_.stores != stores) return false;
        const Path& now = w.paths[path];
        if (now.state != PathState::ready || now.lanes != before.lanes) return false;
        if (now.pc == before.pc &&
            ((loaded && timed) ||
             std::ranges::equal(registers, std::span(w.registers, file_bytes_))))
            return true;
    }
    return false;
}

// Runs one path until it ends, parts, waits, or has retired up to `limit`. false: a trap.
bool CtaRunner::run_path(Warp& w, size_t path, uint64_t limit) {
    const Step* const steps = code_.steps.data();
    Context& c = context_;
    const uint64_t first = w.step;
    limit = std::min(limit, launch_.max_steps);
    uint64_t lane_operations = 0;
    bool going = true;
    while (going) {
        Path& p = w.paths[path];
        if (p.within != no_index && w.meetings[p.within].at == p.pc) {
            arrive(w, path);
            break;
        }
        if (w.step >= limit) {
            if (w.step >= launch_.max_steps)
                set_trap(c, *steps[p.pc].op, TrapKind::step_limit,
                         "the warp has retired " + std::to_string(w.step) + " instructions"),
                    name_calls(w, p.frame);
            break;
        }
        const uint32_t pc = p.pc;
        const uint32_t frame = p.frame;
        const Step& s = steps[pc];
        const Operation& o = *s.op;
        uint32_t active = p.lanes;
        uint32_t mask = active;
        bool waits = false;
        if (o.guarded) {
            const uint32_t guard = predicate(c, o.guard);
            mask &= o.guard_negated ? ~guard : guard;
        }
        c.access_count = 0;
        c.yields = 0;
        switch (s.kind) {
            case StepKind::plain:
                if (mask != 0) {
                    c.lanes = active;
                    s.run(c, s, mask);
                    if (c.yields != 0 && must_wait(event(w, w.step, pc, active, mask))) {
                        waits = true;
                        break;
                    }
                }
                ++p.pc;
                break;
            case StepKind::aligned:
                if (mask != 0 && mask != all_lanes) {
                    const bool exited = active == w.live && mask == active;
                    set_trap(c, o, TrapKind::diverged,
                             std::to_string(count(mask)) + " of 32 lanes are here" +
                                 (exited ? "; the others do not exist or have exited" : ""));
                } else if (mask != 0) {
                    s.run(c, s, mask);
                }
                ++p.pc;
                break;
            case StepKind::collective: {
                if (mask == 0) {
                    ++p.pc;
                    break;
                }
                const size_t paths = w.paths.size();
                waits = !collective(w, path, s, mask);
                if (waits || c.trap) break;
                // It retires for all lanes that it gathered; their paths may have become one.
                going = w.paths.size() == paths;
                active |= c.lanes;
                mask = c.lanes;
                break;
            }
            case StepKind::reduction:
                if (mask == 0)
                    ++p.pc;
                else
                    waits = !reduction(w, path, o, mask);
                break;
            case StepKind::control:
                going = control(w, path, s, mask);
                break;
        }
        if (c.trap) name_calls(w, frame);
        // A path that waits at a collective has not retired it.
        if (c.trap || waits) break;
        ++w.step;
        lane_operations += count(mask);
        if (observer_ != nullptr) notify(w, pc, active, mask);
        if (c.yields != 0) break;
    }
    statistics_.instructions += w.step - first;
    statistics_.lane_operations += lane_operations;
    return !c.trap;
}

warp::Retired CtaRunner::event(const Warp& w, uint64_t step, uint32_t pc, uint32_t active,
                               uint32_t executed) const {
    return {code_.program,
            pc,
            cta_.id,
            cta_.index,
            w.index,
            step,
            active,
            executed,
            w.registers,
            context_.accesses.data(),
            context_.access_count,
            context_.undefined,
            context_.undefined_results};
}

void CtaRunner::notify(const Warp& w, uint32_t pc, uint32_t active, uint32_t executed) {
    const warp::Retired retired = event(w, w.step - 1, pc, active, executed);
    if (launch_.oracle != nullptr && executed != 0 &&
        (context_.undefined != 0 || launch_.oracle->knows(pc)))
        launch_.oracle->supply(retired, w.registers);
    context_.undefined = 0;
    context_.undefined_results = 1;
    observer_->retired(retired);
}

// Whether some of the lanes that a wait would send back are known to have gone on.
bool CtaRunner::must_wait(const warp::Retired& e) const {
    return observer_ != nullptr && launch_.oracle != nullptr &&
           launch_.oracle->knows(e.operation) &&
           (launch_.oracle->went_on(e) & context_.yields) != 0;
}

// Cooperative groups' barriers of the grid trap where there is none.
bool CtaRunner::misses_workspace() const {
    return !launch_.cooperative &&
           std::ranges::find(code_.program->specials, Special::workspace_low,
                             &isa::SpecialUse::special) != code_.program->specials.end();
}

// true: the path goes on where it is.
bool CtaRunner::control(Warp& w, size_t path, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    Path& p = w.paths[path];
    switch (o.op) {
        case Op::bra:
            if (mask == p.lanes) {
                p.pc = o.target;
                return true;
            }
            if (mask == 0) {
                ++p.pc;
                return true;
            }
            branch(w, path, o, std::array{Way{p.pc + 1, p.lanes & ~mask}, Way{o.target, mask}});
            return false;
        case Op::brx:
            if (mask != 0) return branch_by_index(w, path, o, mask);
            ++p.pc;
            return true;
        case Op::call:
            if (mask != 0) return call(w, path, o, mask);
            ++p.pc;
            return true;
        case Op::ret:
        case Op::exit:
            if (mask == 0) {
                ++p.pc;
                return true;
            }
            ++p.pc;
            if (o.op == Op::ret && p.frame != no_index)
                return_lanes(w, path, mask);
            else
                exit_lanes(w, path, mask);
            return false;
        case Op::bar:
            if (mask == 0) {
                ++p.pc;
                return true;
            }
            return barrier(w, path, o, mask);
        default:
            if (mask != 0)
                set_trap(context_, o, o.op == Op::trap ? TrapKind::trap : TrapKind::breakpoint,
                         misses_workspace() ? "the kernel asks for the workspace of a cooperative "
                                              "launch (%envreg1, %envreg2), which this is not"
                                            : "",
                         static_cast<unsigned>(__builtin_ctz(mask)), 0, ptx::Space::none),
                    context_.trap->has_address = false;
            ++p.pc;
            return true;
    }
}

}  // namespace lockwarp::exec
