// SPDX-License-Identifier: Apache-2.0
// The command as a process, in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lockwarp::tools {

struct Ended {
    int status = -1;  // exit status; 1000 + signal where a signal ended it
    std::string out, err;
};

// A started command; finish() waits for its end.
struct Started {
    pid_t child = -1;
    std::filesystem::path out, err;
};

// A new folder, removed at the end of the test.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
    void write(const std::string& name, const std::string& text) const;
    std::string read(const std::string& name) const;
    // Names below the folder, sorted.
    std::vector<std::string> names(const std::string& below = "") const;
};

// Runs the built command with the folder as the working directory; `environment` is added.
Started start(const Folder& folder, const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment = {});
Ended finish(const Started& started);
Ended run(const Folder& folder, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {});

// The same in this process, where a command takes a small part of the time, most of all under the
// sanitizers: for what needs no signal, time limit, environment or process of its own.
Ended run_here(const Folder& folder, const std::vector<std::string>& arguments);

// The built command, for a shell.
std::string program();

// Whether the text has the part.
bool has(const std::string& text, const std::string& part);

// The lines of a text that are wider than 100 columns.
std::string too_wide(const std::string& text);

}  // namespace lockwarp::tools
