// SPDX-License-Identifier: Apache-2.0
// Several modules of PTX as one: what one declares .extern another defines.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/image.hpp"

namespace lockwarp::cuda {

struct Merged {
    std::string text;
    std::string wrong;        // a sentence, or lines as a parser's; empty: nothing is
    bool unresolved = false;  // what is wrong: a variable that no module defines
};

// Of one text that text. Names that only their module sees are made different where they are not.
// Line information stays but for what was inlined; other debug information does not.
Merged merge(std::span<const std::string> texts);

// Of several images the best text of each, linked. What one that cannot be read defines, the others
// lack: kernels that need it say so.
Image merge_images(std::vector<Image> images);

}  // namespace lockwarp::cuda
