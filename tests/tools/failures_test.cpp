// SPDX-License-Identifier: Apache-2.0
// What the command line says of failures that no command expects.
#include <gtest/gtest.h>

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tools/exit_status.hpp"
#include "tools/process.hpp"

namespace lockwarp::tools {
namespace {

// What is printed of an exception that is being handled; nullptr: of none.
std::string said_of(const std::exception_ptr& thrown) {
    testing::internal::CaptureStderr();
    int status = 0;
    try {
        if (thrown != nullptr) std::rethrow_exception(thrown);
        status = refuse_current_exception();
    } catch (...) {
        status = refuse_current_exception();
    }
    EXPECT_EQ(status, wrong_input);
    return testing::internal::GetCapturedStderr();
}

TEST(Failures, OfEachExceptionOneSentence) {
    struct Row {
        std::exception_ptr thrown;
        const char* said;
    };
    const std::error_code full(ENOSPC, std::generic_category());
    for (const Row& row : {
             Row{std::make_exception_ptr(std::bad_alloc()), "error: out of memory\n"},
             Row{std::make_exception_ptr(std::length_error("vector")), "error: out of memory\n"},
             Row{std::make_exception_ptr(std::system_error(full, "fmt")),
                 "error: the output could not be written: No space left on device\n"},
             Row{std::make_exception_ptr(std::logic_error("a table has no such row")),
                 "error: internal: a table has no such row\n"},
             Row{std::make_exception_ptr(7), "error: internal\n"},
             Row{nullptr, "error: internal\n"},
         })
        EXPECT_EQ(said_of(row.thrown), row.said);
}

}  // namespace
}  // namespace lockwarp::tools
