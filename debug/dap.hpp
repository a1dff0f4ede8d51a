// SPDX-License-Identifier: Apache-2.0
// The Debug Adapter Protocol (microsoft.github.io/debug-adapter-protocol, 1.65) over a session: a
// thread is a warp, a frame a call that it is in, stepping back is that of the session.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debug/console.hpp"

namespace lockwarp::debug {

using Json = nlohmann::json;

// Messages in, messages out; whoever owns it moves them.
class DapServer {
  public:
    using Send = std::function<void(const Json& message)>;

    // wish: what holds the run, set by whoever receives a "pause" while handle() lasts.
    DapServer(Send send, std::atomic<bool>* wish) : send_(std::move(send)), wish_(wish) {}

    // One message of the client. Whatever is in it, it is answered: with what is wrong, if need be.
    void handle(const Json& message);
    // disconnect came.
    bool is_done() const { return done_; }
    // Makes, of the products that a launch names, what operands should be.
    void expect(std::function<SubjectOf(std::vector<std::string> products)> maker) {
        subject_maker_ = std::move(maker);
    }

  private:
    struct Row;
    // What a variablesReference stands for, until the run goes on.
    struct Handle {
        enum class Kind : uint8_t {
            registers,
            predicates,
            fragment,
            shared,
            parameters,
            lanes,    // of register `index`
            operand,  // of the fragment: its rows
            row,      // of the operand: row `row`
        } kind;
        Focus focus;
        size_t index = 0, row = 0;
    };

    static const Row* row_named(const std::string& command);

    void event(const char* name, Json body);
    void stopped(const Stop& stop, const char* reason);
    int64_t thread_of(uint64_t cta, uint32_t warp) const;
    bool look_at_thread(const Json& arguments);
    size_t handle_of(Handle h);
    Json added(const Json& given, Breakpoint b, bool found, uint32_t line, const std::string& why);
    void forget(std::vector<unsigned>& ids);
    void note_exception(const Stop& stop);
    Json register_value(const View& view, const Expression& e);
    Json operation_place(uint32_t operation) const;
    Json lane_value(const View& view, const isa::Register& r) const;

    // Requests: the arguments in, the body out; a thrown string is the error.
    Json initialize(const Json&), launch(const Json&), configuration_done(const Json&),
        set_breakpoints(const Json&), set_function_breakpoints(const Json&),
        set_instruction_breakpoints(const Json&), set_exception_breakpoints(const Json&),
        data_breakpoint_info(const Json&), set_data_breakpoints(const Json&), threads(const Json&),
        stack_trace(const Json&), scopes(const Json&), variables(const Json&),
        evaluate(const Json&), go_on(const Json&), next(const Json&), step_in(const Json&),
        step_out(const Json&), step_back(const Json&), reverse_continue(const Json&),
        pause(const Json&), read_memory(const Json&), disassemble(const Json&), source(const Json&),
        disconnect(const Json&), terminate(const Json&), completions(const Json&),
        exception_info(const Json&), go_to_targets(const Json&), go_to(const Json&),
        restart(const Json&), breakpoint_locations(const Json&), loaded_sources(const Json&);
    void run_after(std::function<Stop()> what, const char* reason);

    Send send_;
    std::atomic<bool>* wish_;
    bool done_ = false;
    bool stop_on_entry_ = false;
    std::unique_ptr<Session> session_;
    std::unique_ptr<Console> console_;
    int64_t seq_ = 0;
    std::function<void()> afterwards_;  // what follows the response
    std::map<std::string, std::vector<unsigned>> by_source_;
    std::vector<unsigned> functions_, instructions_, data_, exceptions_;
    bool holds_at_traps_ = true;
    // What the run stands at, for exceptionInfo: a trap, a NaN or a finding.
    std::string exception_, exception_text_;
    std::function<SubjectOf(std::vector<std::string>)> subject_maker_;
    std::vector<Handle> handles_;
};

}  // namespace lockwarp::debug
