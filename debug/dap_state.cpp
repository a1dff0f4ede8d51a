// SPDX-License-Identifier: Apache-2.0
// The requests that look at the program.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "debug/dap.hpp"
#include "debug/dap_parts.hpp"
#include "debug/fragment.hpp"
#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/demangled.hpp"

namespace lockwarp::debug {

std::optional<uint32_t> operation_in(const std::string& reference, int64_t offset, size_t count) {
    const std::optional<uint64_t> n = number_of(reference);
    if (!n || *n >= count || offset < -static_cast<int64_t>(*n) ||
        offset >= static_cast<int64_t>(count - *n))
        return std::nullopt;
    return static_cast<uint32_t>(static_cast<int64_t>(*n) + offset);
}

std::string valid_text(const std::string& text) {
    std::string out = text;
    for (char& c : out)
        if (static_cast<unsigned char>(c) >= 128) c = '?';
    return out;
}

std::string base64(const uint8_t* bytes, size_t count) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < count; i += 3) {
        uint32_t word = uint32_t{bytes[i]} << 16;
        if (i + 1 < count) word |= uint32_t{bytes[i + 1]} << 8;
        if (i + 2 < count) word |= bytes[i + 2];
        out += digits[word >> 18];
        out += digits[word >> 12 & 63];
        out += i + 1 < count ? digits[word >> 6 & 63] : '=';
        out += i + 2 < count ? digits[word & 63] : '=';
    }
    return out;
}

namespace {

constexpr int64_t frames_of_thread = 128;
constexpr size_t max_threads = 4096;

// `count` of a list from `start` on; 0: all that follow.
Json page(Json list, int64_t start, int64_t count) {
    const auto size = static_cast<int64_t>(list.size());
    if (start <= 0 && count <= 0) return list;
    start = std::clamp<int64_t>(start, 0, size);
    const int64_t end = count <= 0 || count > size - start ? size : start + count;
    Json out = Json::array();
    for (int64_t i = start; i < end; ++i) out.push_back(std::move(list[static_cast<size_t>(i)]));
    return out;
}

}  // namespace

size_t DapServer::handle_of(Handle h) {
    handles_.push_back(h);
    return handles_.size();
}

// The source where it can be read, else the PTX.
Json DapServer::operation_place(uint32_t operation) const {
    const Listing& l = session_->listing();
    const std::vector<ptx::SourcePlace> places = l.places_of(operation);
    std::error_code error;
    if (!places.empty() && places[0].line != 0 &&
        std::filesystem::is_regular_file(places[0].file, error))
        return {{"source",
                 {{"path", places[0].file},
                  {"name", std::filesystem::path(places[0].file).filename().string()}}},
                {"line", places[0].line},
                {"column", std::max(1u, places[0].column)}};
    const ptx::Place at = l.program().operations[operation].place;
    Json source{{"name", l.file()}};
    // Of a .cu the PTX is a temporary file: its text is here.
    if (l.input().compiled)
        source["sourceReference"] = session_->launch_index() + 1;
    else
        source["path"] = std::filesystem::absolute(l.input().ptx_path, error).string();
    return {{"source", source}, {"line", at.line}, {"column", at.column}};
}

Json DapServer::threads(const Json&) {
    Json out = Json::array();
    if (session_->has_begun() && !session_->is_over())
        for (const auto& [index, cta] : session_->ctas())
            for (const warp::Warp& w : cta->warps)
                if (w.live != 0 && out.size() < max_threads)
                    out.push_back({{"id", thread_of(index, w.index)},
                                   {"name", fmt::format("CTA ({},{},{}) warp {}", cta->id[0],
                                                        cta->id[1], cta->id[2], w.index)}});
    if (out.empty()) out.push_back({{"id", 1}, {"name", "no warp is under way"}});
    return {{"threads", out}};
}

Json DapServer::stack_trace(const Json& a) {
    if (!look_at_thread(a)) return {{"stackFrames", Json::array()}, {"totalFrames", 0}};
    const View v = session_->view();
    Json out = Json::array();
    const int64_t thread = thread_of(v.cta->index, v.warp->index);
    const Listing& l = session_->listing();
    const auto name_of = [&](uint32_t operation) {
        return valid_text(launch::demangled(l.function_of(operation).name));
    };
    const auto add = [&](uint32_t operation) {
        // What was inlined there has frames of its own, the innermost first.
        const std::vector<ptx::SourcePlace> places = l.places_of(operation);
        for (size_t i = 0; i < std::max<size_t>(places.size(), 1); ++i) {
            if (out.size() >= static_cast<size_t>(frames_of_thread)) return;
            Json frame = operation_place(operation);
            const bool inlined = i + 1 < places.size();
            if (i > 0) {
                std::error_code error;
                if (!std::filesystem::is_regular_file(places[i].file, error)) return;
                frame["source"] = {{"path", places[i].file},
                                   {"name", places[i].file.substr(places[i].file.rfind('/') + 1)}};
                frame["line"] = places[i].line;
                frame["column"] = std::max(1u, places[i].column);
            }
            frame["id"] = thread * frames_of_thread + static_cast<int64_t>(out.size());
            frame["name"] = inlined && !places[i].function.empty()
                                ? valid_text(launch::demangled(places[i].function))
                                : name_of(operation);
            if (inlined) frame["name"] = frame["name"].get<std::string>() + " (inlined)";
            frame["instructionPointerReference"] = fmt::format("{:#x}", operation);
            out.push_back(std::move(frame));
        }
    };
    add(v.pc);
    for (uint32_t f = v.frame; f != warp::no_index && out.size() < frames_of_thread;
         f = v.warp->calls.frames[f].caller)
        add(v.warp->calls.frames[f].call);
    const auto total = static_cast<int64_t>(out.size());
    return {{"stackFrames",
             page(std::move(out), number_in(a, "startFrame", 0), number_in(a, "levels", 0))},
            {"totalFrames", total}};
}

Json DapServer::scopes(const Json& a) {
    const int64_t id = number_in(a, "frameId", 0) / frames_of_thread;
    if (!look_at_thread({{"threadId", id}})) throw Refused{"there is no such frame"};
    const Focus f = session_->focus();
    using Kind = Handle::Kind;
    Json out = Json::array();
    const auto add = [&](const char* name, Kind kind, bool expensive) {
        out.push_back({{"name", name},
                       {"variablesReference", handle_of({kind, f})},
                       {"expensive", expensive}});
    };
    add("Registers", Kind::registers, false);
    add("Predicates", Kind::predicates, false);
    if (fragments_at(session_->listing(), session_->view().pc))
        add("Fragment", Kind::fragment, true);
    add("Shared", Kind::shared, true);
    add("Parameters", Kind::parameters, false);
    return {{"scopes", out}};
}

Json DapServer::lane_value(const View& view, const isa::Register& r) const {
    Value v = view.value_of(r, view.lane);
    v.type = view.used_as(r);
    const bool plain = isa::row(v.type).kind == isa::Kind::bits;
    return plain ? hex_of(v) : hex_of(v) + " = " + text_of(v);
}

Json DapServer::variables(const Json& a) {
    const int64_t reference = number_in(a, "variablesReference", 0);
    if (reference < 1 || static_cast<size_t>(reference) > handles_.size())
        throw Refused{"the run has gone on since"};
    const Handle h = handles_[static_cast<size_t>(reference) - 1];
    if (!session_->look_at(h.focus)) throw Refused{"the warp has ended"};
    View v = session_->view();
    const isa::Program& p = v.program();
    using Kind = Handle::Kind;
    Json out = Json::array();
    const auto add = [&](const std::string& name, const Json& value, size_t children) {
        out.push_back({{"name", name}, {"value", value}, {"variablesReference", children}});
    };
    const std::optional<Fragments> f =
        h.kind == Kind::fragment || h.kind == Kind::operand || h.kind == Kind::row
            ? fragments_at(session_->listing(), v.pc)
            : std::nullopt;
    switch (h.kind) {
        case Kind::registers:
        case Kind::predicates: {
            constexpr size_t max_registers = 2000;
            for (size_t i = 0; i < p.registers.size() && out.size() < max_registers; ++i) {
                const isa::Register& r = p.registers[i];
                if ((r.type == isa::Type::pred) != (h.kind == Kind::predicates) || r.half == 2)
                    continue;
                if (v.find(r.name) != &r) continue;
                add(r.name, lane_value(v, r), handle_of({Kind::lanes, h.focus, i}));
                out.back()["indexedVariables"] = 32;
                out.back()["evaluateName"] = r.name;
            }
            break;
        }
        case Kind::lanes:
            for (v.lane = 0; v.lane < 32; ++v.lane)
                add(fmt::format("[{}]", v.lane), lane_value(v, p.registers[h.index]), 0);
            break;
        case Kind::fragment:
            for (size_t i = 0; f && i < f->operands.size(); ++i) {
                const lanes::Operand& o = f->operands[i].layout;
                add(o.name,
                    fmt::format("{} x {} {} of {}", o.rows, o.columns,
                                isa::row(o.type).name.substr(1), f->key),
                    handle_of({Kind::operand, h.focus, i}));
            }
            break;
        case Kind::operand:
            if (!f || h.index >= f->operands.size()) break;
            for (size_t r = 0; r < f->operands[h.index].layout.rows; ++r) {
                add(fmt::format("[{}]", r), "", handle_of({Kind::row, h.focus, h.index, r}));
                out.back()["indexedVariables"] = f->operands[h.index].layout.columns;
            }
            break;
        case Kind::row: {
            if (!f || h.index >= f->operands.size()) break;
            const FragmentOperand& o = f->operands[h.index];
            const std::vector<uint64_t> all = matrix_of(v, o);
            std::optional<Should> should;
            if (Expected* const expected = session_->expected())
                should = expected->of(v, session_->launch_index(), *f, o);
            for (unsigned c = 0; c < o.layout.columns; ++c) {
                const size_t at = h.row * o.layout.columns + c;
                std::string text = cell_text(o.layout.type, all[at]);
                for (const lanes::Held& e : o.layout.held)
                    if (e.row == h.row && e.column == c && e.part == 0) {
                        text += fmt::format("  lane {}, register {}", e.lane, e.reg);
                        break;
                    }
                if (should && should->differs[at])
                    text +=
                        fmt::format(", should be {}", cell_text(o.layout.type, should->bits[at]));
                add(fmt::format("[{}]", c), text, 0);
            }
            break;
        }
        case Kind::shared:
            for (const isa::Placed& m : p.variables)
                if (m.space == ptx::Space::shared)
                    out.push_back({{"name", valid_text(launch::demangled(m.name))},
                                   {"value", fmt::format("{:#x}, {} bytes", m.address, m.bytes)},
                                   {"variablesReference", 0},
                                   {"memoryReference", fmt::format("shared:{:#x}", m.address)}});
            add("(all)", fmt::format("{} bytes", v.cta->shared.size()), 0);
            out.back()["memoryReference"] = fmt::format("shared:{:#x}", p.shared_begin);
            break;
        case Kind::parameters:
            for (const isa::Parameter& one : p.parameters) {
                const launch::Result<Expression> e = Expression::parse(one.name);
                const auto value = e ? e->evaluate(v) : launch::failure("?");
                add(one.name, value ? hex_of(*value) : "?", 0);
                const std::string target = value ? v.name_of(ptx::Space::none, value->bits) : "";
                if (!target.empty()) {
                    out.back()["value"] = hex_of(*value) + " -> " + target;
                    out.back()["memoryReference"] = fmt::format("global:{:#x}", value->bits);
                }
            }
            break;
    }
    const auto filter = text_in(a, "filter");
    const bool indexed = !out.empty() && out[0]["name"].get<std::string>().starts_with('[');
    if (!filter.empty() && indexed != (filter == "indexed")) out = Json::array();
    return {
        {"variables", page(std::move(out), number_in(a, "start", 0), number_in(a, "count", 0))}};
}

// A register with its 32 lanes below it.
Json DapServer::register_value(const View& view, const Expression& e) {
    const launch::Result<Expression::Target> t = e.target(view);
    if (!t || t->reg == nullptr || view.warp == nullptr) return nullptr;
    const auto index = static_cast<size_t>(t->reg - view.program().registers.data());
    return handle_of({Handle::Kind::lanes, session_->focus(), index});
}

Json DapServer::evaluate(const Json& a) {
    const std::string text = text_in(a, "expression");
    if (a.contains("frameId"))
        (void)look_at_thread({{"threadId", number_in(a, "frameId", 0) / frames_of_thread}});
    if (text_in(a, "context") == "repl") {
        const std::optional<Time> before = session_->now();
        const std::string answer = console_->execute(text);
        if (console_->is_done()) done_ = true;
        // Of a command that moved the run the client is to hear.
        if (session_->has_begun() && session_->now() != before)
            afterwards_ = [this] {
                stopped({session_->is_over() ? Reason::ended
                         : session_->trap()  ? Reason::trap
                                             : Reason::stepped,
                         {},
                         {}},
                        "step");
            };
        return {{"result", valid_text(answer)}, {"variablesReference", 0}};
    }
    const launch::Result<Expression> e = Expression::parse(text);
    if (!e) throw Refused{e.error().sentence};
    const launch::Result<Value> value = e->evaluate(session_->view());
    if (!value) throw Refused{value.error().sentence};
    const Json handle = register_value(session_->view(), *e);
    Json body{{"result", hex_of(*value) + " = " + text_of(*value)},
              {"type", std::string(isa::row(value->type).name.substr(1))},
              {"variablesReference", handle.is_null() ? Json(0) : handle}};
    if (!handle.is_null()) body["indexedVariables"] = 32;
    return body;
}

Json DapServer::completions(const Json& a) {
    const std::string text = text_in(a, "text");
    Json out = Json::array();
    for (const std::string& word : console_->complete(text)) out.push_back({{"label", word}});
    return {{"targets", out}};
}

Json DapServer::read_memory(const Json& a) {
    const std::string reference = text_in(a, "memoryReference");
    const size_t colon = reference.find(':');
    const std::optional<uint64_t> base =
        number_of(std::string_view(reference).substr(colon == std::string::npos ? 0 : colon + 1));
    constexpr int64_t max_count = 1 << 20;
    const int64_t count = number_in(a, "count", 0);
    if (!base || count < 0 || count > max_count)
        throw Refused{"a memoryReference, and at most 1 MB"};
    ptx::Space space = ptx::Space::none;
    for (const ptx::Space s : {ptx::Space::global, ptx::Space::shared, ptx::Space::local,
                               ptx::Space::param, ptx::Space::const_})
        if (colon != std::string::npos && reference.substr(0, colon) == ptx::name_of(s)) space = s;
    const uint64_t address = *base + static_cast<uint64_t>(number_in(a, "offset", 0));
    const View v = session_->view();
    // As much as is there.
    int64_t there = 0;
    for (int64_t step = count; step > 0; step /= 2)
        while (there + step <= count &&
               v.bytes_at(space, address, static_cast<uint64_t>(there + step)) != nullptr)
            there += step;
    Json body{{"address", fmt::format("{:#x}", address)}, {"unreadableBytes", count - there}};
    if (there > 0)
        body["data"] = base64(v.bytes_at(space, address, static_cast<uint64_t>(there)),
                              static_cast<size_t>(there));
    return body;
}

Json DapServer::disassemble(const Json& a) {
    const Listing& l = session_->listing();
    const auto count = static_cast<int64_t>(l.program().operations.size());
    const std::optional<uint32_t> base = operation_in(
        text_in(a, "memoryReference"), number_in(a, "offset", 0), l.program().operations.size());
    constexpr int64_t max_count = 10000;
    const int64_t wanted = number_in(a, "instructionCount", 0);
    const int64_t shift = number_in(a, "instructionOffset", 0);
    if (!base || wanted < 0 || wanted > max_count || shift < -max_count || shift > max_count)
        throw Refused{"a memoryReference of a frame, and at most 10000 instructions"};
    Json out = Json::array();
    for (int64_t i = *base + shift; i < *base + shift + wanted; ++i) {
        if (i < 0 || i >= count) {
            out.push_back({{"address", fmt::format("{:#x}", i < 0 ? 0 : i)},
                           {"instruction", ""},
                           {"presentationHint", "invalid"}});
            continue;
        }
        const auto operation = static_cast<uint32_t>(i);
        out.push_back({{"address", fmt::format("{:#x}", i)},
                       {"instruction", valid_text(l.text_of(operation))},
                       {"line", l.line_of(operation)}});
    }
    return {{"instructions", out}};
}

Json DapServer::source(const Json& a) {
    const int64_t reference = number_in(a, "sourceReference", 0);
    if (reference < 1 || static_cast<size_t>(reference) > session_->listings().size())
        throw Refused{"there is no such source"};
    return {{"content",
             valid_text(session_->listings()[static_cast<size_t>(reference) - 1]->input().source)}};
}

}  // namespace lockwarp::debug
