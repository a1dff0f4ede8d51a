// SPDX-License-Identifier: Apache-2.0
// Lines of an input that is no terminal, and what a signal makes of them; keys on a terminal.
#include "tools/line_editor.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace lockwarp::tools {
namespace {

// A pipe in place of the standard input, as long as it lives.
class Piped {
  public:
    Piped() {
        EXPECT_EQ(::pipe(ends_), 0);
        EXPECT_EQ(::dup2(ends_[0], STDIN_FILENO), STDIN_FILENO);
        ::close(ends_[0]);
        std::clearerr(stdin);
    }
    ~Piped() {
        end();
        ::dup2(before_, STDIN_FILENO);
        ::close(before_);
        std::clearerr(stdin);
    }
    Piped(const Piped&) = delete;
    Piped& operator=(const Piped&) = delete;

    void put(std::string_view text) const {
        EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void end() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

  private:
    int before_ = ::dup(STDIN_FILENO);
    int ends_[2] = {-1, -1};
};

LineEditor without_words() {
    return {"", [](const std::string&) { return std::vector<std::string>(); }};
}

TEST(LineEditor, LinesUntilTheEnd) {
    Piped in;
    LineEditor lines = without_words();
    in.put("step 2\n\nlast");
    in.end();
    EXPECT_EQ(lines.read(), "step 2");
    EXPECT_EQ(lines.read(), "");
    EXPECT_EQ(lines.read(), "last");
    errno = EINTR;  // of something else, long ago
    EXPECT_EQ(lines.read(), std::nullopt);
}

// What is read while signals come, again and again: the first may come before it reads.
std::optional<std::string> read_beside_signals(LineEditor& lines) {
    struct sigaction interrupts {};
    struct sigaction before {};
    interrupts.sa_handler = [](int) {};
    EXPECT_EQ(::sigaction(SIGUSR1, &interrupts, &before), 0);
    std::optional<std::string> read;
    {
        const pthread_t reader = ::pthread_self();
        const std::jthread sender([reader](const std::stop_token& stop) {
            for (; !stop.stop_requested();
                 std::this_thread::sleep_for(std::chrono::milliseconds(5)))
                ::pthread_kill(reader, SIGUSR1);
        });
        read = lines.read();
    }
    EXPECT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
    return read;
}

TEST(LineEditor, ASignalGivesAnEmptyLine) {
    Piped in;
    LineEditor lines = without_words();
    EXPECT_EQ(read_beside_signals(lines), "");
    in.put("go\n");
    EXPECT_EQ(lines.read(), "go");
    in.end();
    EXPECT_EQ(lines.read(), std::nullopt);
}

#ifdef LOCKWARP_LIBEDIT

// A terminal in place of the standard input and output, as long as it lives.
class Terminal {
  public:
    Terminal() {
        std::fflush(stdout);
        ::setenv("TERM", "dumb", 1);
        EXPECT_EQ(::grantpt(keys_), 0);
        EXPECT_EQ(::unlockpt(keys_), 0);
        const int screen = ::open(::ptsname(keys_), O_RDWR | O_NOCTTY);
        for (const int file : {STDIN_FILENO, STDOUT_FILENO}) EXPECT_EQ(::dup2(screen, file), file);
        ::close(screen);
        std::clearerr(stdin);
    }
    ~Terminal() {
        end();
        std::fflush(stdout);
        for (const int file : {STDIN_FILENO, STDOUT_FILENO}) {
            ::dup2(before_[file], file);
            ::close(before_[file]);
        }
        std::clearerr(stdin);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(std::string_view keys) const {
        EXPECT_EQ(::write(keys_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    // What it shows since it was asked last.
    std::string shown() const {
        std::printf("#");
        std::fflush(stdout);
        std::string out;
        for (char c = 0; ::read(keys_, &c, 1) == 1 && c != '#';) out += c;
        return out;
    }
    void end() {
        if (keys_ >= 0) ::close(keys_);
        keys_ = -1;
    }

  private:
    int keys_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    int before_[2] = {::dup(STDIN_FILENO), ::dup(STDOUT_FILENO)};
};

const std::string earlier = "\x10";  // ^P

TEST(LineEditor, ATerminalHasEarlierLines) {
    std::vector<std::optional<std::string>> read;
    {
        Terminal terminal;
        LineEditor lines = without_words();
        for (const std::string& keys : {std::string("step 2\n"), std::string("\n"),
                                        std::string("go\n"), earlier + earlier + "0\n"}) {
            terminal.type(keys);
            read.push_back(lines.read());
        }
        terminal.end();
        read.push_back(lines.read());
    }
    // What is empty is no line to come back to.
    EXPECT_EQ(read, (std::vector<std::optional<std::string>>{"step 2", "", "go", "step 20",
                                                             std::nullopt}));
}

TEST(LineEditor, ASignalGivesAnEmptyLineOfATerminal) {
    std::vector<std::optional<std::string>> read;
    {
        Terminal terminal;
        LineEditor lines = without_words();
        read.push_back(read_beside_signals(lines));
        terminal.type("go\n");
        read.push_back(lines.read());
    }
    EXPECT_EQ(read, (std::vector<std::optional<std::string>>{"", "go"}));
}

TEST(LineEditor, ATerminalCompletesWords) {
    const auto complete = [](const std::string& line) {
        std::vector<std::string> out;
        for (const char* const word : {"print", "step", "stop"})
            if (std::string(word).starts_with(line.substr(line.find_last_of(" (") + 1)))
                out.emplace_back(word);
        return out;
    };
    struct Row {
        const char* keys;
        const char* line;
        bool lists;  // the words that it may be
    };
    for (const Row& row : {Row{"p\tx\n", "print x", false},
                           {"s\top\n", "stop", false},
                           {"s\to\t1\n", "stop 1", false},
                           {"print s\te\t1\n", "print step 1", false},
                           {"f(p\t\n", "f(print ", false},
                           {"st\te\n", "ste", true},
                           {"q\t1\n", "q1", false}}) {
        std::optional<std::string> read;
        std::string shown;
        {
            Terminal terminal;
            LineEditor lines("> ", complete);
            terminal.type(row.keys);
            read = lines.read();
            shown = terminal.shown();
        }
        EXPECT_EQ(read, row.line) << shown;
        EXPECT_NE(shown.find("> "), std::string::npos) << shown;
        EXPECT_EQ(shown.find("step  stop  ") != std::string::npos, row.lists) << shown;
    }
}

#endif

}  // namespace
}  // namespace lockwarp::tools
