// SPDX-License-Identifier: Apache-2.0
// The protocol's messages, and the requests that run the program.
#include "debug/dap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "debug/dap_parts.hpp"
#include "debug/words.hpp"

namespace lockwarp::debug {

struct DapServer::Row {
    std::string_view command;
    Json (DapServer::*run)(const Json& arguments);
    bool needs_session;
};

const DapServer::Row* DapServer::row_named(const std::string& command) {
    using D = DapServer;
    static constexpr std::array rows{
        Row{"initialize", &D::initialize, false},
        Row{"launch", &D::launch, false},
        Row{"configurationDone", &D::configuration_done, true},
        Row{"setBreakpoints", &D::set_breakpoints, true},
        Row{"setFunctionBreakpoints", &D::set_function_breakpoints, true},
        Row{"setInstructionBreakpoints", &D::set_instruction_breakpoints, true},
        Row{"setExceptionBreakpoints", &D::set_exception_breakpoints, true},
        Row{"dataBreakpointInfo", &D::data_breakpoint_info, true},
        Row{"setDataBreakpoints", &D::set_data_breakpoints, true},
        Row{"threads", &D::threads, true},
        Row{"stackTrace", &D::stack_trace, true},
        Row{"scopes", &D::scopes, true},
        Row{"variables", &D::variables, true},
        Row{"evaluate", &D::evaluate, true},
        Row{"continue", &D::go_on, true},
        Row{"next", &D::next, true},
        Row{"stepIn", &D::step_in, true},
        Row{"stepOut", &D::step_out, true},
        Row{"stepBack", &D::step_back, true},
        Row{"reverseContinue", &D::reverse_continue, true},
        Row{"pause", &D::pause, true},
        Row{"readMemory", &D::read_memory, true},
        Row{"disassemble", &D::disassemble, true},
        Row{"source", &D::source, true},
        Row{"completions", &D::completions, true},
        Row{"disconnect", &D::disconnect, false},
        Row{"terminate", &D::terminate, false},
        Row{"restart", &D::restart, true},
        Row{"exceptionInfo", &D::exception_info, true},
        Row{"gotoTargets", &D::go_to_targets, true},
        Row{"goto", &D::go_to, true},
        Row{"breakpointLocations", &D::breakpoint_locations, true},
        Row{"loadedSources", &D::loaded_sources, true},
    };
    const auto found = std::ranges::find(rows, command, &Row::command);
    return found == rows.end() ? nullptr : &*found;
}

void DapServer::event(const char* name, Json body) {
    send_({{"seq", ++seq_}, {"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void DapServer::handle(const Json& message) {
    if (!message.is_object() || text_in(message, "type") != "request") return;
    const std::string command = text_in(message, "command");
    Json response{{"type", "response"},
                  {"request_seq", number_in(message, "seq", 0)},
                  {"command", command},
                  {"success", true}};
    const auto refuse = [&](const std::string& why) {
        response["success"] = false;
        response["message"] = why;
        response["body"] = {{"error", {{"id", 1}, {"format", why}, {"showUser", true}}}};
        afterwards_ = nullptr;
    };
    const Row* const row = row_named(command);
    const Json arguments = message.contains("arguments") && message["arguments"].is_object()
                               ? message["arguments"]
                               : Json::object();
    if (row == nullptr)
        refuse("not a request that is known: " + command.substr(0, 60));
    else if (row->needs_session && session_ == nullptr)
        refuse("launch comes first");
    else
        try {
            response["body"] = (this->*row->run)(arguments);
        } catch (const Refused& why) {
            refuse(why.text);
        } catch (const Json::exception& why) {
            refuse(std::string("the arguments make no sense: ") + why.what());
        }
    response["seq"] = ++seq_;
    send_(response);
    if (const std::function<void()> then = std::exchange(afterwards_, nullptr)) then();
}

Json DapServer::initialize(const Json&) {
    Json body;
    for (const char* can : {"supportsConfigurationDoneRequest",
                            "supportsFunctionBreakpoints",
                            "supportsConditionalBreakpoints",
                            "supportsHitConditionalBreakpoints",
                            "supportsEvaluateForHovers",
                            "supportsStepBack",
                            "supportsSteppingGranularity",
                            "supportsInstructionBreakpoints",
                            "supportsDataBreakpoints",
                            "supportsReadMemoryRequest",
                            "supportsDisassembleRequest",
                            "supportsTerminateRequest",
                            "supportsCompletionsRequest",
                            "supportsLogPoints",
                            "supportsExceptionInfoRequest",
                            "supportsExceptionFilterOptions",
                            "supportsGotoTargetsRequest",
                            "supportsRestartRequest",
                            "supportsBreakpointLocationsRequest",
                            "supportsLoadedSourcesRequest"})
        body[can] = true;
    body["exceptionBreakpointFilters"] = Json::array(
        {{{"filter", "trap"}, {"label", "The program traps"}, {"default", true}},
         {{"filter", "check"},
          {"label", "A check finds an error"},
          {"default", false},
          {"supportsCondition", true},
          {"conditionDescription", "names of checks, with commas; their notes hold too"}},
         {{"filter", "nan"}, {"label", "A NaN is made"}, {"default", false}}});
    return body;
}

Json DapServer::launch(const Json& a) {
    const std::string program = text_in(a, "program");
    if (program.empty()) throw Refused{"\"program\" is to name a launch file (.json)"};
    launch::Result<std::vector<launch::Loaded>> loaded =
        launch::load_all({program}, text_in(a, "arch"));
    if (!loaded) throw Refused{sentence_of(loaded.error())};
    std::optional<uint64_t> order;
    if (a.contains("order")) {
        if (number_in(a, "order", -1) < 0) throw Refused{"\"order\" is a seed"};
        order = static_cast<uint64_t>(number_in(a, "order", 0));
    }
    launch::Result<std::unique_ptr<Session>> made = Session::make(std::move(*loaded), wish_, order);
    if (!made) throw Refused{sentence_of(made.error())};
    console_.reset();
    session_ = std::move(*made);
    session_->on_log = [this](const std::string& text) {
        event("output", {{"category", "console"}, {"output", valid_text(text) + "\n"}});
    };
    const std::string product = text_in(a, "product");
    if (subject_maker_)
        session_->expect(subject_maker_(product.empty() ? std::vector<std::string>()
                                                        : std::vector<std::string>{product}));
    console_ = std::make_unique<Console>(*session_);
    stop_on_entry_ = a.contains("stopOnEntry") && a["stopOnEntry"] == true;
    afterwards_ = [this] { event("initialized", Json::object()); };
    return Json::object();
}

int64_t DapServer::thread_of(uint64_t cta, uint32_t warp) const {
    return static_cast<int64_t>(cta * max_warps + warp + 1);
}

// A trap, a NaN or a finding, for exceptionInfo.
void DapServer::note_exception(const Stop& stop) {
    exception_.clear();
    if (stop.reason == Reason::trap) {
        const warp::Trap& t = *session_->trap();
        exception_ = "trap";
        exception_text_ =
            std::string(warp::trap_name(t.kind)) + (t.detail.empty() ? "" : ": ") + t.detail;
    }
    for (const Hit& h : stop.hits) {
        const auto b = std::ranges::find(session_->breakpoints(), h.id, &Breakpoint::id);
        if (b == session_->breakpoints().end() ||
            (b->kind != BreakKind::finding && b->kind != BreakKind::nan))
            continue;
        exception_ = b->kind == BreakKind::nan ? "nan" : "check";
        exception_text_ = h.text;
    }
}

void DapServer::stopped(const Stop& stop, const char* reason) {
    handles_.clear();
    note_exception(stop);
    if (stop.reason == Reason::trap && !holds_at_traps_) {
        event("output", {{"category", "stderr"}, {"output", valid_text(exception_text_) + "\n"}});
        event("exited", {{"exitCode", 1}});
        event("terminated", Json::object());
        return;
    }
    if (stop.reason == Reason::refused)
        event("output", {{"category", "stderr"}, {"output", stop.text + "\n"}});
    if (stop.reason == Reason::ended || stop.reason == Reason::refused) {
        for (const warp::Printed& p : session_->printed())
            event("output", {{"category", "stdout"}, {"output", valid_text(p.text)}});
        event("exited", {{"exitCode", 0}});
        event("terminated", Json::object());
        return;
    }
    Json body{{"reason", reason},
              {"threadId", thread_of(session_->focus().cta, session_->focus().warp)},
              {"allThreadsStopped", true}};
    Json ids = Json::array();
    for (const Hit& h : stop.hits) {
        ids.push_back(h.id);
        if (h.operation) body["reason"] = "data breakpoint";
        if (!h.text.empty()) body["text"] = valid_text(h.text);
    }
    if (stop.reason == Reason::breakpoint && !body.contains("text")) body["reason"] = "breakpoint";
    if (!exception_.empty()) body["reason"] = "exception";
    if (!ids.empty()) body["hitBreakpointIds"] = ids;
    if (stop.reason == Reason::trap) {
        const warp::Trap& t = *session_->trap();
        body["text"] = std::string(warp::trap_name(t.kind));
        body["description"] = valid_text(exception_text_);
    }
    if (stop.reason == Reason::interrupted) body["reason"] = "pause";
    event("stopped", std::move(body));
}

// The run goes on once the response is sent.
void DapServer::run_after(std::function<Stop()> what, const char* reason) {
    if (!session_->has_begun()) throw Refused{"configurationDone comes first"};
    afterwards_ = [this, what = std::move(what), reason] { stopped(what(), reason); };
}

Json DapServer::configuration_done(const Json&) {
    afterwards_ = [this] {
        if (stop_on_entry_)
            stopped(session_->start(), "entry");
        else
            stopped(session_->run(), "breakpoint");
    };
    return Json::object();
}

bool DapServer::look_at_thread(const Json& a) {
    const int64_t id = number_in(a, "threadId", 0) - 1;
    if (id < 0) return false;
    const auto n = static_cast<uint64_t>(id);
    return session_->look_at(
        {n / max_warps, static_cast<uint32_t>(n % max_warps), session_->focus().lane});
}

Json DapServer::go_on(const Json&) {
    run_after([this] { return session_->resume(); }, "breakpoint");
    return {{"allThreadsContinued", true}};
}

Json DapServer::reverse_continue(const Json&) {
    run_after([this] { return session_->resume_back(); }, "step");
    return Json::object();
}

namespace {
bool by_instruction(const Json& a) { return text_in(a, "granularity") == "instruction"; }
}  // namespace

Json DapServer::next(const Json& a) {
    (void)look_at_thread(a);
    const Step how = by_instruction(a) ? Step::over_instruction : Step::over_line;
    run_after([this, how] { return session_->step(how); }, "step");
    return Json::object();
}

Json DapServer::step_in(const Json& a) {
    (void)look_at_thread(a);
    const Step how = by_instruction(a) ? Step::instruction : Step::line;
    run_after([this, how] { return session_->step(how); }, "step");
    return Json::object();
}

Json DapServer::step_out(const Json& a) {
    (void)look_at_thread(a);
    run_after([this] { return session_->step(Step::out); }, "step");
    return Json::object();
}

Json DapServer::step_back(const Json& a) {
    (void)look_at_thread(a);
    const Step how = by_instruction(a) ? Step::over_instruction : Step::over_line;
    run_after([this, how] { return session_->back(how); }, "step");
    return Json::object();
}

// Whoever reads the messages has set the wish by now; between runs there is nothing to hold.
Json DapServer::pause(const Json&) {
    if (wish_ != nullptr) *wish_ = false;
    return Json::object();
}

Json DapServer::disconnect(const Json&) {
    done_ = true;
    console_.reset();
    session_.reset();
    afterwards_ = [this] { event("terminated", Json::object()); };
    return Json::object();
}

// The program's end; the client disconnects then.
Json DapServer::terminate(const Json&) {
    console_.reset();
    session_.reset();
    afterwards_ = [this] { event("terminated", Json::object()); };
    return Json::object();
}

Json DapServer::restart(const Json&) {
    afterwards_ = [this] {
        if (stop_on_entry_)
            stopped(session_->start(), "entry");
        else
            stopped(session_->run(), "breakpoint");
    };
    return Json::object();
}

Json DapServer::exception_info(const Json&) {
    if (exception_.empty()) throw Refused{"the run does not stand at an exception"};
    return {{"exceptionId", exception_},
            {"description", valid_text(exception_text_)},
            {"breakMode", "always"},
            {"details", {{"message", valid_text(exception_text_)}, {"typeName", exception_}}}};
}

// The run is deterministic and its state is not changed: to go to a place is to run there.
Json DapServer::go_to_targets(const Json& a) {
    const std::string path = text_in(a.value("source", Json::object()), "path");
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto line =
        static_cast<uint32_t>(std::clamp<int64_t>(number_in(a, "line", 0), 0, UINT32_MAX));
    const Listing& l = session_->listing();
    uint32_t found = 0;
    const std::vector<uint32_t> operations =
        is_file(l.input().ptx_path, name) ? l.at_line(line, found) : l.at_source(name, line, found);
    Json out = Json::array();
    for (const uint32_t operation : operations)
        out.push_back({{"id", operation + 1},
                       {"label", fmt::format("run to {}", valid_text(l.text_of(operation)))},
                       {"line", found},
                       {"instructionPointerReference", fmt::format("{:#x}", operation)}});
    return {{"targets", out}};
}

Json DapServer::go_to(const Json& a) {
    const int64_t id = number_in(a, "targetId", 0);
    const auto count = static_cast<int64_t>(session_->listing().program().operations.size());
    if (id < 1 || id > count || !look_at_thread(a)) throw Refused{"there is no such place"};
    run_after(
        [this, id] {
            Breakpoint b;
            b.internal = b.temporary = true;
            b.operations.resize(session_->listings().size());
            b.operations[session_->launch_index()] = {static_cast<uint32_t>(id - 1)};
            b.only_warp = std::pair(session_->focus().cta, session_->focus().warp);
            session_->add(std::move(b));
            const Stop stop = session_->resume();
            while (session_->remove(0)) {
            }
            return stop;
        },
        "goto");
    return Json::object();
}

// Lines where a breakpoint has an instruction.
Json DapServer::breakpoint_locations(const Json& a) {
    const std::string path = text_in(a.value("source", Json::object()), "path");
    const std::string name = path.substr(path.rfind('/') + 1);
    const int64_t first = number_in(a, "line", 1);
    const int64_t last = std::max(first, number_in(a, "endLine", first));
    std::set<uint32_t> lines;
    for (const auto& listing : session_->listings())
        for (uint32_t i = 0; i < listing->program().operations.size(); ++i) {
            if (is_file(listing->input().ptx_path, name)) lines.insert(listing->line_of(i));
            for (const ptx::SourcePlace& p : listing->places_of(i))
                if (is_file(p.file, name)) lines.insert(p.line);
        }
    Json out = Json::array();
    for (const uint32_t line : lines)
        if (line >= first && line <= last) out.push_back({{"line", line}});
    return {{"breakpoints", out}};
}

Json DapServer::loaded_sources(const Json&) {
    Json out = Json::array();
    std::set<std::string> known;
    for (const auto& listing : session_->listings())
        for (uint32_t i = 0; i < listing->program().operations.size(); ++i) {
            std::vector<std::string> paths{listing->input().ptx_path};
            for (const ptx::SourcePlace& p : listing->places_of(i)) paths.push_back(p.file);
            for (const std::string& path : paths)
                if (known.insert(path).second)
                    out.push_back({{"name", path.substr(path.rfind('/') + 1)}, {"path", path}});
        }
    return {{"sources", out}};
}

void DapServer::forget(std::vector<unsigned>& ids) {
    for (const unsigned id : ids) (void)session_->remove(id);
    ids.clear();
}

// What the client is told of a breakpoint; one that was found is added to the session.
Json DapServer::added(const Json& given, Breakpoint b, bool found, uint32_t line,
                      const std::string& why) {
    Json out{{"verified", false}};
    const std::string condition = text_in(given, "condition");
    if (!found) {
        out["message"] = why;
        return out;
    }
    if (!condition.empty()) {
        launch::Result<Expression> e = Expression::parse(condition);
        if (!e) {
            out["message"] = e.error().sentence;
            return out;
        }
        b.condition = std::move(*e);
    }
    if (const std::string hits = text_in(given, "hitCondition"); !hits.empty()) {
        const std::optional<HitRule> rule = hit_rule(hits);
        if (!rule) {
            out["message"] = "hits are counted as \"5\", \"== 5\", \"> 5\" or \"% 5\"";
            return out;
        }
        b.rule = *rule;
    }
    b.log = text_in(given, "logMessage");
    out["id"] = session_->add(std::move(b)).id;
    out["verified"] = true;
    if (line != 0) out["line"] = line;
    return out;
}

Json DapServer::set_breakpoints(const Json& a) {
    const Json from = a.value("source", Json::object());
    std::string path = text_in(from, "path");
    if (path.empty()) path = text_in(from, "name");
    std::vector<unsigned>& ids = by_source_[path];
    forget(ids);
    Json out = Json::array();
    for (const Json& one : list_in(a, "breakpoints")) {
        const auto line =
            static_cast<uint32_t>(std::clamp<int64_t>(number_in(one, "line", 0), 0, UINT32_MAX));
        Breakpoint b;
        b.what = fmt::format("{}:{}", path, line);
        uint32_t at = 0;
        bool found = false;
        const std::string name = path.substr(path.rfind('/') + 1);
        for (const auto& listing : session_->listings()) {
            uint32_t here = 0;
            const bool ptx = is_file(listing->input().ptx_path, name);
            b.operations.push_back(ptx ? listing->at_line(line, here)
                                       : listing->at_source(name, line, here));
            if (!b.operations.back().empty() && !found) at = here;
            found |= !b.operations.back().empty();
        }
        out.push_back(added(one, std::move(b), found, at, "no instruction is there"));
        if (out.back().contains("id")) ids.push_back(out.back()["id"]);
    }
    return {{"breakpoints", out}};
}

Json DapServer::set_function_breakpoints(const Json& a) {
    forget(functions_);
    Json out = Json::array();
    for (const Json& one : list_in(a, "breakpoints")) {
        Breakpoint b;
        b.what = text_in(one, "name");
        bool found = false;
        for (const auto& listing : session_->listings()) {
            std::vector<uint32_t> operations = listing->at_function(b.what);
            if (operations.empty() && !b.what.empty()) operations = listing->of_opcode(b.what);
            found |= !operations.empty();
            b.operations.push_back(std::move(operations));
        }
        out.push_back(
            added(one, std::move(b), found, 0, "there is no such function or instruction"));
        if (out.back().contains("id")) functions_.push_back(out.back()["id"]);
    }
    return {{"breakpoints", out}};
}

Json DapServer::set_instruction_breakpoints(const Json& a) {
    forget(instructions_);
    Json out = Json::array();
    for (const Json& one : list_in(a, "breakpoints")) {
        const std::optional<uint32_t> operation =
            operation_in(text_in(one, "instructionReference"), number_in(one, "offset", 0),
                         session_->listing().program().operations.size());
        Breakpoint b;
        b.operations.resize(session_->listings().size());
        if (operation) {
            b.what = fmt::format("operation {}", *operation);
            b.operations[session_->launch_index()] = {*operation};
        }
        out.push_back(
            added(one, std::move(b), operation.has_value(), 0, "there is no such instruction"));
        if (out.back().contains("id")) instructions_.push_back(out.back()["id"]);
    }
    return {{"breakpoints", out}};
}

Json DapServer::set_exception_breakpoints(const Json& a) {
    forget(exceptions_);
    holds_at_traps_ = false;
    Json chosen = list_in(a, "filterOptions");
    for (const Json& filter : list_in(a, "filters"))
        if (filter.is_string()) chosen.push_back({{"filterId", filter}});
    Json out = Json::array();
    for (const Json& one : chosen) {
        const std::string filter = text_in(one, "filterId"), names = text_in(one, "condition");
        Breakpoint b;
        b.what = filter;
        Json said{{"verified", true}};
        if (filter == "trap") {
            holds_at_traps_ = true;
        } else if (filter == "nan") {
            b.kind = BreakKind::nan;
            said["id"] = exceptions_.emplace_back(session_->add(std::move(b)).id);
        } else if (filter == "check") {
            const auto found = session_->findings(names.empty() ? "all" : names);
            if (!found) {
                said = {{"verified", false}, {"message", found.error().sentence}};
            } else {
                auto meant = std::make_shared<std::vector<KnownFinding>>(**found);
                if (names.empty())
                    std::erase_if(*meant, [](const KnownFinding& f) { return !f.is_error; });
                b.kind = BreakKind::finding;
                b.findings = std::move(meant);
                said["id"] = exceptions_.emplace_back(session_->add(std::move(b)).id);
            }
        } else {
            said = {{"verified", false}, {"message", "there is no such filter"}};
        }
        out.push_back(std::move(said));
    }
    return {{"breakpoints", out}};
}

Json DapServer::data_breakpoint_info(const Json& a) {
    const std::string name = text_in(a, "name");
    const launch::Result<Expression> e = Expression::parse(name);
    const auto target = e ? e->target(session_->view()) : launch::failure(e.error().sentence);
    if (!target) return {{"dataId", nullptr}, {"description", target.error().sentence}};
    return {{"dataId", name}, {"description", name}, {"accessTypes", {"write"}}};
}

Json DapServer::set_data_breakpoints(const Json& a) {
    forget(data_);
    Json out = Json::array();
    for (const Json& one : list_in(a, "breakpoints")) {
        // The console knows how; its answer is the message where it is wrong.
        const size_t before = session_->breakpoints().size();
        const std::string condition = text_in(one, "condition");
        const std::string answer = console_->execute("watch " + text_in(one, "dataId") +
                                                     (condition.empty() ? "" : " if " + condition));
        Json b{{"verified", session_->breakpoints().size() > before}};
        if (b["verified"] == true) {
            b["id"] = session_->breakpoints().back().id;
            data_.push_back(session_->breakpoints().back().id);
        } else {
            b["message"] = std::string(trimmed(answer));
        }
        out.push_back(b);
    }
    return {{"breakpoints", out}};
}

}  // namespace lockwarp::debug
