// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_launch.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "cuda/device_answers.hpp"
#include "cuda/names.hpp"
#include "cuda/runtime/state.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::cuda {

namespace {

using Answer = warp::DeviceAnswers::Answer;

LaunchShape shape_of(const warp::DeviceLaunch& l) {
    return {{l.grid.x, l.grid.y, l.grid.z},
            {l.block.x, l.block.y, l.block.z},
            l.dynamic_shared,
            false,
            {}};
}

class RuntimeAnswers : public warp::DeviceAnswers {
  public:
    RuntimeAnswers(std::shared_ptr<Module> module, std::shared_ptr<Context> context)
        : module_(std::move(module)), context_(std::move(context)) {}

    bool has_launch(const warp::DeviceLaunch& l) override {
        const Within within(context_);
        std::string log;
        const Result result = answer(
            [&] { check_shape(*function_of(module_, l.kernel.c_str(), &log), shape_of(l)); });
        if (!log.empty()) say("kernel " + brief(l.kernel) + ", launched by a kernel: " + log);
        return result == success;
    }

    std::string error_text(int error, bool is_name) override {
        return is_name ? name_of_error(error) : text_of_error(error);
    }

    Answer limit(int limit) override {
        const Within within(context_);
        size_t value = 0;
        const Result result = cuCtxGetLimit(&value, limit);
        return answered(result, value);
    }

    // The device is the kernel's own, whichever the program's it is.
    Answer device_attribute(int attribute, int device) override {
        if (device != 0) return answered(invalid_device, 0);
        int value = 0;
        const Result result = cuDeviceGetAttribute(&value, attribute, context_->device);
        return answered(result, value);
    }

    Answer function_attributes(const std::string& kernel) override {
        const Within within(context_);
        KernelAttributes a{};
        return answered(answer([&] {
                            Function* const f = function_of(module_, kernel.c_str());
                            const auto get = [&](int number) {
                                int value = 0;
                                check(cuFuncGetAttribute(&value, number, f));
                                return value;
                            };
                            a = kernel_attributes(get);
                        }),
                        a);
    }

    // Where something is wrong it is no CTA, which the H200 stores.
    Answer resident_ctas(const std::string& kernel, int threads, uint64_t dynamic) override {
        const Within within(context_);
        int ctas = 0;
        const Result result = answer([&] {
            Function* const f = function_of(module_, kernel.c_str());
            return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&ctas, f, threads, dynamic,
                                                                        0);
        });
        Answer out = answered(success, result == success ? ctas : 0);
        out.error = static_cast<uint32_t>(result);
        return out;
    }

  private:
    std::shared_ptr<Module> module_;
    std::shared_ptr<Context> context_;
};

// Rows of bytes, 16 at a time where all of them allow it. A thread has every n-th of a row, a CTA
// every n-th row. The CUDA function's name is the kernel's, for those who read it in a report.
constexpr const char* copy_begin = R"(.visible .entry cudaMemcpyAsync(.param .b64 to,
 .param .b64 to_pitch, .param .b64 from, .param .b64 from_pitch, .param .b64 width,
 .param .b64 height)
{
 .reg .b64 %from, %from_pitch, %b;
 .reg .b32 %w<4>;
 .reg .b16 %h;
 ld.param.b64 %from, [from];
 ld.param.b64 %from_pitch, [from_pitch];
 or.b64 %b, %from, %from_pitch;
)";
constexpr const char* fill_begin = R"(.visible .entry cudaMemsetAsync(.param .b64 to,
 .param .b64 to_pitch, .param .b64 width, .param .b64 height)
{
 .reg .b64 %b;
 mov.b64 %b, 0;
)";
// %b: bits of what else is to be a multiple of 16.
constexpr const char* rows_of_thread = R"(
 .reg .b64 %to, %to_pitch, %width, %height, %x, %y, %first, %step, %rows, %a;
 .reg .b32 %tid, %ntid, %cta, %ctas;
 .reg .pred %wide, %p;
 ld.param.b64 %to, [to];
 ld.param.b64 %to_pitch, [to_pitch];
 ld.param.b64 %width, [width];
 ld.param.b64 %height, [height];
 or.b64 %a, %to, %to_pitch;
 or.b64 %a, %a, %b;
 or.b64 %a, %a, %width;
 and.b64 %a, %a, 15;
 setp.eq.u64 %wide, %a, 0;
 mov.u32 %tid, %tid.x;
 mov.u32 %ntid, %ntid.x;
 mov.u32 %cta, %ctaid.x;
 mov.u32 %ctas, %nctaid.x;
 mul.wide.u32 %first, %cta, %ntid;
 cvt.u64.u32 %a, %tid;
 add.u64 %first, %first, %a;
 mul.wide.u32 %step, %ctas, %ntid;
 selp.b64 %a, 16, 1, %wide;
 mul.lo.u64 %first, %first, %a;
 mul.lo.u64 %step, %step, %a;
 mov.u32 %cta, %ctaid.y;
 cvt.u64.u32 %y, %cta;
 mov.u32 %ctas, %nctaid.y;
 cvt.u64.u32 %rows, %ctas;
ROW:
 setp.ge.u64 %p, %y, %height;
 @%p ret;
 mov.u64 %x, %first;
 mad.lo.u64 %a, %y, %to_pitch, %to;
 add.u64 %a, %a, %x;
)";
constexpr const char* copy_row = R"( mad.lo.u64 %b, %y, %from_pitch, %from;
 add.u64 %b, %b, %x;
NEXT:
 setp.ge.u64 %p, %x, %width;
 @%p bra END;
 @%wide ld.v4.u32 {%w0, %w1, %w2, %w3}, [%b];
 @%wide st.v4.u32 [%a], {%w0, %w1, %w2, %w3};
 @!%wide ld.u8 %h, [%b];
 @!%wide st.u8 [%a], %h;
 add.u64 %b, %b, %step;
)";
constexpr const char* fill_row = R"(NEXT:
 setp.ge.u64 %p, %x, %width;
 @%p bra END;
 @%wide st.v4.u32 [%a], {0, 0, 0, 0};
 @!%wide st.u8 [%a], 0;
)";
constexpr const char* rows_end = R"( add.u64 %x, %x, %step;
 add.u64 %a, %a, %step;
 bra NEXT;
END:
 add.u64 %y, %y, %rows;
 bra ROW;
}
)";
std::string rows_text() {
    return std::string(".version 6.0\n.target sm_50\n.address_size 64\n") + copy_begin +
           rows_of_thread + copy_row + rows_end + fill_begin + rows_of_thread + fill_row + rows_end;
}
constexpr uint32_t rows_threads = 256, most_ctas_of_row = 1024, most_ctas_of_rows = 1024;

std::shared_ptr<Module> rows_module(const std::shared_ptr<Context>& context) {
    const std::lock_guard lock(context->mutex);
    if (context->rows == nullptr)
        context->rows = load_module(context, rows_text().c_str(), nullptr);
    return context->rows;
}

// Of toolkits 12.9 and 13.0, on an H200 with driver 580.159.04: the value is not looked at.
void say_of_value() {
    static std::once_flag once;
    std::call_once(once, [] {
        say("a kernel's cudaMemsetAsync stores zeros, as NVIDIA's does (12.9 and 13.0, H200)");
    });
}

DeviceGrid rows_grid(const std::shared_ptr<Context>& context, const warp::DeviceLaunch& l) {
    const bool is_fill = l.work == warp::DeviceWork::fill;
    if (is_fill && l.rows.value != 0) say_of_value();
    warp::DeviceRows r = l.rows;
    if (r.height == 1) r.to_pitch = r.from_pitch = 0;
    DeviceGrid out;
    out.function =
        function_of(rows_module(context), is_fill ? "cudaMemsetAsync" : "cudaMemcpyAsync");
    const auto ctas = [](uint64_t count, uint32_t each, uint32_t most) {
        return static_cast<uint32_t>(std::min<uint64_t>((count - 1) / each + 1, most));
    };
    out.shape = {
        {ctas(r.width, rows_threads, most_ctas_of_row), ctas(r.height, 1, most_ctas_of_rows), 1},
        {rows_threads, 1, 1},
        0,
        false,
        {}};
    std::vector<uint64_t> parameters{r.to, r.to_pitch};
    if (!is_fill) parameters.insert(parameters.end(), {r.from, r.from_pitch});
    parameters.insert(parameters.end(), {r.width, r.height});
    out.parameters.resize(parameters.size() * sizeof(uint64_t));
    std::memcpy(out.parameters.data(), parameters.data(), out.parameters.size());
    return out;
}

}  // namespace

std::unique_ptr<warp::DeviceAnswers> device_answers(const std::shared_ptr<Module>& module,
                                                    const std::shared_ptr<Context>& context) {
    return std::make_unique<RuntimeAnswers>(module, context);
}

DeviceGrid device_grid(const std::shared_ptr<Module>& module,
                       const std::shared_ptr<Context>& context, warp::DeviceLaunch l) {
    if (l.work != warp::DeviceWork::kernel) return rows_grid(context, l);
    return {function_of(module, l.kernel.c_str()), shape_of(l), std::move(l.parameters)};
}

}  // namespace lockwarp::cuda
