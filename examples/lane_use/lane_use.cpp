// SPDX-License-Identifier: Apache-2.0
// An observer of one's own: how many of a warp's 32 lanes work on each line of a kernel.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <lockwarp/emu.hpp>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using namespace lockwarp;

// Each thread halves or triples its number, as it is even or odd, until it is 1 (Collatz); threads
// of a warp leave the loop at different times.
constexpr std::string_view source = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry collatz(.param .u64 out)
{
	.reg .pred %odd, %done;
	.reg .b32 %n, %bit, %steps;
	.reg .b64 %at, %offset;

	mov.u32 %n, %tid.x;
	add.u32 %n, %n, 1;
	mov.u32 %steps, 0;
LOOP:
	setp.eq.u32 %done, %n, 1;
	@%done bra END;
	add.u32 %steps, %steps, 1;
	and.b32 %bit, %n, 1;
	setp.eq.u32 %odd, %bit, 1;
	@%odd bra ODD;
	shr.u32 %n, %n, 1;
	bra LOOP;
ODD:
	mad.lo.u32 %n, %n, 3, 1;
	bra LOOP;
END:
	ld.param.u64 %at, [out];
	mov.u32 %n, %tid.x;
	mul.wide.u32 %offset, %n, 4;
	add.u64 %at, %at, %offset;
	st.global.u32 [%at], %steps;
	ret;
}
)";

struct Line {
    uint64_t times = 0;  // that a warp ran it
    uint64_t lanes = 0;  // that took part, in all of them
};
using Lines = std::map<uint32_t, Line>;  // by line of the PTX

// CTAs run in parallel. Each has a listener of its own, which needs no lock; when the CTA is over,
// take() adds what it counted.
class LaneUse : public warp::Observer {
  public:
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
        for (const auto& [number, counts] : static_cast<OfCta&>(*cta).lines) {
            lines[number].times += counts.times;
            lines[number].lanes += counts.lanes;
        }
    }

    Lines lines;

  private:
    struct OfCta : warp::CtaObserver {
        void retired(const warp::Retired& event) override {
            Line& line = lines[event.program->operations[event.operation].place.line];
            ++line.times;
            line.lanes += static_cast<uint64_t>(std::popcount(event.executed));
        }
        Lines lines;
    };
};

}  // namespace

int main() {
    const ptx::Parsed parsed = ptx::parse(source);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_80, "collatz");
    if (!parsed.diagnostics.empty() || !resolved.diagnostics.empty()) return 2;

    constexpr uint64_t address = 0x10000;
    constexpr uint32_t threads = 64;
    std::vector<uint8_t> steps(threads * 4);
    warp::Launch launch;
    launch.block = {threads};
    launch.parameters.resize(resolved.program.parameter_bytes);
    std::memcpy(launch.parameters.data(), &address, sizeof address);
    launch.buffers.push_back({"out", address, steps});

    LaneUse use;
    launch.observers = {&use};
    const warp::Result result = exec::launch(resolved.program, launch);
    if (result.refusal || result.trap) return 1;
    for (const auto& [line, counts] : use.lines)
        std::printf("line %2u: %.1f of 32 lanes, %llu times\n", line,
                    static_cast<double>(counts.lanes) / static_cast<double>(counts.times),
                    static_cast<unsigned long long>(counts.times));
    return 0;
}
