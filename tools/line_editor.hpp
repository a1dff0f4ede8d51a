// SPDX-License-Identifier: Apache-2.0
// Lines that a person types, with history and completion (libedit, whose licence is BSD's); without
// a terminal, or built without libedit, lines as they come.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockwarp::tools {

class LineEditor {
  public:
    // What the last word of a line may become.
    using Complete = std::function<std::vector<std::string>(const std::string& line)>;

    LineEditor(std::string prompt, Complete complete);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    // none: the end of the input. A signal gives an empty line.
    std::optional<std::string> read();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace lockwarp::tools
