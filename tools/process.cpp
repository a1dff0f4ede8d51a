// SPDX-License-Identifier: Apache-2.0
#include "tools/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "launch/unfinished.hpp"
#include "tools/exit_status.hpp"

namespace lockwarp::tools {

namespace {

// Without memory of its own: there may be none.
void say(const char* what, const char* why = "") {
    for (const char* const part : {"error: ", what, *why == 0 ? "" : ": ", why, "\n"})
        if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
}

constexpr const char* no_memory = "out of memory";

[[noreturn]] void end_on_exception() {
    refuse_current_exception();
    launch::end_children();
    launch::remove_temporaries();
    ::_exit(wrong_input);
}

}  // namespace

void prepare_process() {
    for (int number = 0; number <= 2; ++number)
        if (::fcntl(number, F_GETFD) < 0 && errno == EBADF)
            // For reading: what is printed there fails, as where there is no such file.
            ::open("/dev/null", O_RDONLY);
    std::signal(SIGPIPE, SIG_IGN);
    std::set_terminate(end_on_exception);
}

int refuse_current_exception() {
    if (std::current_exception() == nullptr) {
        say("internal");
        return wrong_input;
    }
    try {
        throw;
    } catch (const std::bad_alloc&) {
        say(no_memory);
    } catch (const std::length_error&) {
        say(no_memory);
    } catch (const std::system_error& e) {
        // fmt::print() to a stream that takes nothing.
        say("the output could not be written", std::strerror(e.code().value()));
    } catch (const std::exception& e) {
        say("internal", e.what());
    } catch (...) {
        say("internal");
    }
    return wrong_input;
}

int flushed(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    if (status != wrong_input) say("the output could not be written", std::strerror(errno));
    return wrong_input;
}

}  // namespace lockwarp::tools
