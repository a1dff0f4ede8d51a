// SPDX-License-Identifier: Apache-2.0
// cuLink, of texts of PTX: what linking gives is a text too.
#include "cuda/link.hpp"

#include "cuda/device_functions.hpp"
#include "cuda/image.hpp"
#include "cuda/merge.hpp"
#include "cuda/read_file.hpp"

namespace lockwarp::cuda {

namespace {

// CUjitInputType
constexpr int input_cubin = 0, input_ptx = 1, input_fat_binary = 2, input_library = 4,
              input_end = 6;

void add(Link& link, int type, std::span<const char> bytes, const char* name) {
    require(type >= 0 && type < input_end && !link.completed);
    if (type == input_library && is_device_runtime(name)) return;
    if (type != input_ptx && type != input_fat_binary) {
        say(type == input_cubin ? "cuLinkAddData: machine code: PTX is needed"
                                : "cuLinkAddData: objects and libraries are not linked");
        fail(no_binary_for_gpu);
    }
    Image image = read_image(bytes, isa::row(driver().arch).number);
    if (!image.texts.empty() && !begins_as_ptx(image.texts.front()))
        image = {{}, no_ptx, invalid_image};
    if (image.texts.empty()) {
        say(image.wrong);
        fail(image.result);
    }
    link.texts.push_back(std::move(image.texts.front()));
}

}  // namespace

Image linked_image(const std::vector<const void*>& images) {
    std::vector<Image> read;
    for (const void* const image : images) read.push_back(read_whole_image(image));
    return merge_images(std::move(read));
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuLinkCreate_v2(unsigned options, const int* keys, void** values, Link** out) {
    return answer([&] {
        current();
        require(out != nullptr);
        auto link = std::make_shared<Link>();
        link->options = JitOptions(options, keys, values);
        *out = driver().links.add(std::move(link));
    });
}

Result cuLinkAddData_v2(Link* link, int type, void* data, size_t size, const char* name, unsigned,
                        const int*, void**) {
    return answer([&] {
        const std::shared_ptr<Link> l = ready().links.get(link);
        require(data != nullptr && size != 0);
        add(*l, type, {static_cast<const char*>(data), size}, name);
    });
}

Result cuLinkAddFile_v2(Link* link, int type, const char* path, unsigned, const int*, void**) {
    return answer([&] {
        const std::shared_ptr<Link> l = ready().links.get(link);
        require(path != nullptr);
        const std::vector<char> bytes = read_file(path);
        add(*l, type, bytes, path);
    });
}

// The text, tried: what is wrong with it comes to light here, as with the real driver.
Result cuLinkComplete(Link* link, void** image, size_t* size) {
    return answer([&] {
        const std::shared_ptr<Link> l = ready().links.get(link);
        require(image != nullptr && !l->texts.empty());
        Merged merged = merge(l->texts);
        if (!merged.wrong.empty()) {
            l->options.give(merged.wrong);
            if (!l->options.wants_errors()) say(merged.wrong);
            fail(merged.unresolved ? invalid_source : invalid_ptx);
        }
        l->text = std::move(merged.text);
        unload(load_with_log(current(), l->text.c_str(), l->options));
        l->completed = true;
        *image = l->text.data();
        if (size != nullptr) *size = l->text.size() + 1;
    });
}

Result cuLinkDestroy(Link* link) {
    return answer([&] { ready().links.take(link); });
}

}  // extern "C"
