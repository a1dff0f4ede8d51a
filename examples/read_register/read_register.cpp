// SPDX-License-Identifier: Apache-2.0
// Runs a kernel and reads a register: what each lane holds in %d0 after a tensor-core product.
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <lockwarp/emu.hpp>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using namespace lockwarp;

// One warp: D = A*B, where each row of A holds its own number and B holds ones.
constexpr std::string_view source = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry row_sums()
{
	.reg .b16 %h;
	.reg .b32 %row, %a<2>, %b;
	.reg .f32 %d<4>;

	// Lane 4g+p holds elements of the rows g and g+8 of A and D.
	mov.u32 %row, %laneid;
	shr.u32 %row, %row, 2;
	cvt.rn.f16.u32 %h, %row;
	mov.b32 %a0, {%h, %h};
	add.u32 %row, %row, 8;
	cvt.rn.f16.u32 %h, %row;
	mov.b32 %a1, {%h, %h};
	mov.b32 %b, 0x3c003c00;
	mov.f32 %d0, 0f00000000;
	mov.f32 %d1, 0f00000000;
	mov.f32 %d2, 0f00000000;
	mov.f32 %d3, 0f00000000;
	mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
		{%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b}, {%d0, %d1, %d2, %d3};
	ret;
}
)";

// Keeps the 32 lanes of one 32-bit register as they are after each mma.
class AfterProduct : public warp::Observer {
  public:
    explicit AfterProduct(isa::Ref slot) : slot_(slot) {}

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(slot_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
        lanes = static_cast<OfCta&>(*cta).lanes;
    }

    std::array<uint32_t, 32> lanes{};

  private:
    struct OfCta : warp::CtaObserver {
        explicit OfCta(isa::Ref s) : slot(s) {}
        void retired(const warp::Retired& event) override {
            if (event.program->operations[event.operation].op == isa::Op::mma)
                std::memcpy(lanes.data(), event.registers + slot, sizeof lanes);
        }
        isa::Ref slot;
        std::array<uint32_t, 32> lanes{};
    };

    isa::Ref slot_;
};

// The slot of the register of that name.
isa::Ref slot_of(const isa::Program& program, std::string_view name) {
    for (const isa::Register& r : program.registers)
        if (r.name == name) return r.ref;
    return isa::no_ref;
}

int refuse(const std::vector<ptx::Diagnostic>& diagnostics) {
    for (const ptx::Diagnostic& d : diagnostics)
        std::fprintf(stderr, "line %u: %s\n", d.place.line, d.message.c_str());
    return 2;
}

}  // namespace

int main() {
    const ptx::Parsed parsed = ptx::parse(source);
    if (!parsed.diagnostics.empty()) return refuse(parsed.diagnostics);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_80, "row_sums");
    if (!resolved.diagnostics.empty()) return refuse(resolved.diagnostics);

    AfterProduct observer(slot_of(resolved.program, "%d0"));
    warp::Launch launch;
    launch.block = {32};
    launch.observers = {&observer};
    const warp::Result result = exec::launch(resolved.program, launch);
    if (result.refusal || result.trap) {
        std::fprintf(stderr, "%s\n",
                     (result.trap ? result.trap->detail : result.refusal->what).c_str());
        return 1;
    }
    for (size_t lane = 0; lane < observer.lanes.size(); ++lane)
        std::printf("lane %2zu: 0x%08x = %g\n", lane, observer.lanes[lane],
                    static_cast<double>(std::bit_cast<float>(observer.lanes[lane])));
    return 0;
}
