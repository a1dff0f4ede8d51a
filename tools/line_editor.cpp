// SPDX-License-Identifier: Apache-2.0
#include "tools/line_editor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#ifdef LOCKWARP_LIBEDIT
#include <histedit.h>
#endif

namespace lockwarp::tools {

namespace {

std::optional<std::string> plain_line() {
    std::string line;
    for (;;) {
        const int c = std::getc(stdin);
        if (c == '\n') return line;
        if (c == EOF && errno == EINTR && std::ferror(stdin) != 0) {
            std::clearerr(stdin);
            errno = 0;
            return std::string();
        }
        if (c == EOF) return line.empty() ? std::nullopt : std::optional(line);
        line += static_cast<char>(c);
    }
}

}  // namespace

#ifdef LOCKWARP_LIBEDIT

struct LineEditor::Parts {
    std::string prompt;
    Complete complete;
    bool terminal = false;
    ::EditLine* edit = nullptr;
    ::History* history = nullptr;

    static char* prompt_of(::EditLine* e) {
        Parts* self = nullptr;
        ::el_get(e, EL_CLIENTDATA, &self);
        return self->prompt.data();
    }

    static unsigned char on_tab(::EditLine* e, int) {
        Parts* self = nullptr;
        ::el_get(e, EL_CLIENTDATA, &self);
        const ::LineInfo* const info = ::el_line(e);
        const std::string line(info->buffer, info->cursor);
        std::vector<std::string> words = self->complete(line);
        if (words.empty()) return CC_ERROR;
        const size_t blank = line.find_last_of(" ([");
        const size_t typed = line.size() - (blank == std::string::npos ? 0 : blank + 1);
        std::string common = words[0];
        for (const std::string& word : words)
            common.resize(
                static_cast<size_t>(std::ranges::mismatch(common, word).in1 - common.begin()));
        if (common.size() > typed) {
            if (words.size() == 1) common += ' ';
            ::el_insertstr(e, common.c_str() + typed);
            return CC_REFRESH;
        }
        std::string shown = "\n";
        for (const std::string& word : words) shown += word + "  ";
        fmt::print("{}\n", shown);
        return CC_REDISPLAY;
    }
};

LineEditor::LineEditor(std::string prompt, Complete complete) : parts_(std::make_unique<Parts>()) {
    Parts& p = *parts_;
    p.prompt = std::move(prompt);
    p.complete = std::move(complete);
    p.terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    if (!p.terminal) return;
    p.edit = ::el_init("lockwarp", stdin, stdout, stderr);
    p.history = ::history_init();
    ::HistEvent event;
    constexpr int kept = 1000;
    ::history(p.history, &event, H_SETSIZE, kept);
    ::el_set(p.edit, EL_CLIENTDATA, &p);
    ::el_set(p.edit, EL_PROMPT, &Parts::prompt_of);
    ::el_set(p.edit, EL_EDITOR, "emacs");
    ::el_set(p.edit, EL_HIST, ::history, p.history);
    // In wide characters, for libedit never frees its own copies of the others.
    ::el_wset(p.edit, EL_ADDFN, L"lockwarp-complete", L"completes a word", &Parts::on_tab);
    ::el_set(p.edit, EL_BIND, "^I", "lockwarp-complete", nullptr);
}

LineEditor::~LineEditor() {
    if (parts_->edit == nullptr) return;
    ::history_end(parts_->history);
    ::el_end(parts_->edit);
}

std::optional<std::string> LineEditor::read() {
    Parts& p = *parts_;
    if (p.edit == nullptr) return plain_line();
    int count = 0;
    errno = 0;
    const char* const text = ::el_gets(p.edit, &count);
    if (text == nullptr) {
        if (errno != EINTR) return std::nullopt;
        fmt::print("\n");
        ::el_reset(p.edit);
        return std::string();
    }
    std::string line(text, static_cast<size_t>(std::max(count, 0)));
    while (!line.empty() && line.back() == '\n') line.pop_back();
    ::HistEvent event;
    if (!line.empty()) ::history(p.history, &event, H_ENTER, line.c_str());
    return line;
}

#else

struct LineEditor::Parts {
    std::string prompt;
    bool terminal = false;
};

LineEditor::LineEditor(std::string prompt, Complete) : parts_(std::make_unique<Parts>()) {
    parts_->prompt = std::move(prompt);
    parts_->terminal = ::isatty(STDIN_FILENO) == 1;
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
    if (parts_->terminal) fmt::print("{}", parts_->prompt);
    std::fflush(stdout);
    return plain_line();
}

#endif

}  // namespace lockwarp::tools
