// SPDX-License-Identifier: Apache-2.0
// nvJitLink, of texts of PTX: in place of machine code a program gets the linked text, which
// cuModuleLoadData takes as it takes machine code. LTO-IR goes to NVIDIA's own library, where the
// loader finds one, and comes back as PTX. What each function answers is as those of toolkits 13.0
// and 13.5 did.
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstring>
#include <string_view>

#include "cuda/device_functions.hpp"
#include "cuda/image.hpp"
#include "cuda/link.hpp"
#include "cuda/merge.hpp"
#include "cuda/read_file.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

// nvJitLinkResult
enum JitResult : int {
    jit_success = 0,
    jit_unrecognized_option = 1,
    jit_missing_arch = 2,
    jit_invalid_input = 3,
    jit_ptx_compile = 4,
    jit_internal = 6,
    jit_null_input = 10,
    jit_incompatible_options = 11,
    jit_incorrect_type = 12,
    jit_unsupported_arch = 17,
    jit_lto_not_enabled = 18,
};

// nvJitLinkInputType
constexpr int jit_cubin = 1, jit_ptx = 2, jit_lto_ir = 3, jit_fat_binary = 4, jit_library = 6,
              jit_any = 10;

constexpr unsigned version_major = 13, version_minor = 0;

// Options by how they begin; those that end with '=' have a value.
constexpr std::string_view options_known[] = {
    "-maxrregcount=",
    "-time",
    "-verbose",
    "-O",
    "-g",
    "-lineinfo",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-kernels-used=",
    "-variables-used=",
    "-optimize-unused-variables",
    "-Xptxas=",
    "-Xnvvm=",
    "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=",
    "-no-cache",
    "-device-stack-protector",
};

bool is_known_option(std::string_view option) {
    for (const std::string_view known : options_known)
        if (option.starts_with(known)) return true;
    return false;
}

// Where it lies, from the folder of a library that made the LTO-IR, in toolkits and in packages of
// pip: that of the same toolkit can read it.
constexpr const char* places[] = {"", "../../lib64/", "../../lib/", "../../nvjitlink/lib/",
                                  "../../../nvjitlink/lib/"};
constexpr const char* makers[] = {"libnvvm.so", "libnvrtc.so"};

// The folders of those that are loaded.
int add_folder(dl_phdr_info* info, size_t, void* folders) {
    const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    const size_t name = path.rfind('/') + 1;
    for (const char* const maker : makers)
        if (path.substr(name).starts_with(maker))
            static_cast<std::vector<std::string>*>(folders)->emplace_back(path.substr(0, name));
    return 0;
}

// NVIDIA's own library, for LTO-IR. Its functions are looked up where they are called.
void* real_library() {
    static void* const found = [] {
        std::vector<std::string> folders;
        ::dl_iterate_phdr(add_folder, &folders);
        std::vector<std::string> paths;
        for (const std::string& folder : folders)
            for (const char* const place : places) paths.push_back(folder + place);
        paths.emplace_back("");  // where the loader looks
        for (const std::string& path : paths)
            for (const char* const name : {"libnvJitLink.so.13", "libnvJitLink.so.12"})
                if (void* const library =
                        ::dlopen((path + name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND))
                    return library;
        return static_cast<void*>(nullptr);
    }();
    return found;
}

template <class... Arguments>
int real(const char* symbol, Arguments... arguments) {
    using Function = int(Arguments...);
    void* const function = ::dlsym(real_library(), symbol);
    return function != nullptr ? reinterpret_cast<Function*>(function)(arguments...) : jit_internal;
}

constexpr char lacks_real[] =
    "nvJitLink: LTO-IR is linked by NVIDIA's libnvJitLink.so.12 or .13, which is neither where the "
    "loader looks nor beside NVRTC or NVVM: LD_LIBRARY_PATH may name its folder";

}  // namespace

// What nvJitLinkCreate begins.
struct JitLink {
    std::vector<std::string> texts;
    std::string text;    // of all of them, once it is completed
    std::string errors;  // the log
    std::vector<std::string> options;
    void* lto = nullptr;  // NVIDIA's own link, of LTO-IR
    bool wants_lto = false, wants_ptx = false, completed = false;

    JitResult wrong(JitResult result, std::string_view what) {
        errors.append(what).append("\n");
        return result;
    }
};

namespace {

JitResult take_options(JitLink& l, std::span<const char* const> options) {
    std::string_view arch;
    for (const char* const o : options) {
        const std::string_view option = o != nullptr ? o : "";
        l.options.emplace_back(option);
        if (option.starts_with("-arch="))
            arch = option.substr(6);
        else if (option == "-lto")
            l.wants_lto = true;
        else if (option == "-ptx")
            l.wants_ptx = true;
        else if (!is_known_option(option))
            return l.wrong(jit_unrecognized_option, "unrecognized option: " + std::string(option));
    }
    if (arch.empty()) return jit_missing_arch;
    const bool is_virtual = arch.starts_with("compute_");
    if (!is_virtual && !arch.starts_with("sm_"))
        return l.wrong(jit_unrecognized_option, "no architecture: " + std::string(arch));
    const std::string machine = "sm_" + std::string(arch.substr(arch.find('_') + 1));
    if (!isa::arch_named(machine))
        return l.wrong(jit_unsupported_arch, "unsupported architecture: " + std::string(arch));
    if (l.wants_ptx && !l.wants_lto) return l.wrong(jit_incompatible_options, "-ptx requires -lto");
    if (is_virtual && !l.wants_ptx)
        return l.wrong(jit_incompatible_options, "a virtual architecture requires -ptx");
    return jit_success;
}

JitResult begin_lto(JitLink& l) {
    if (real_library() == nullptr) {
        say(lacks_real);
        return l.wrong(jit_internal, lacks_real);
    }
    std::vector<const char*> own;
    for (const std::string& option : l.options) own.push_back(option.c_str());
    if (!l.wants_ptx) own.push_back("-ptx");
    return static_cast<JitResult>(
        real("nvJitLinkCreate", &l.lto, static_cast<uint32_t>(own.size()), own.data()));
}

// The log of NVIDIA's library, behind our own.
void take_real_log(JitLink& l) {
    size_t size = 0;
    if (real("nvJitLinkGetErrorLogSize", l.lto, &size) != jit_success || size == 0) return;
    std::string log(size + 1, '\0');
    if (real("nvJitLinkGetErrorLog", l.lto, log.data()) == jit_success) l.errors += log.c_str();
}

JitResult add_lto_ir(JitLink& l, std::span<const char> bytes, const char* name) {
    if (!l.wants_lto) return l.wrong(jit_lto_not_enabled, "LTO-IR requires -lto");
    if (l.lto == nullptr)
        if (const JitResult result = begin_lto(l); result != jit_success) return result;
    const int result = real("nvJitLinkAddData", l.lto, jit_lto_ir,
                            static_cast<const void*>(bytes.data()), bytes.size(), name);
    if (result != jit_success) take_real_log(l);
    return static_cast<JitResult>(result);
}

// What is wrong with the text as the device's compiler has it: with its kernels, or only as a part
// of what is linked.
std::string wrong_with(const std::string& own, bool with_kernels) {
    const std::string linked = with_kernels ? with_device_functions(own) : "";
    const std::string& text = linked.empty() ? own : linked;
    lockwarp_error* error = nullptr;
    lockwarp_module* module = nullptr;
    lockwarp_status status = lockwarp_module_load(device_at(0).engine, text.data(), text.size(),
                                                  nullptr, &module, &error);
    const size_t kernels = with_kernels ? lockwarp_module_kernels(module) : 0;
    for (size_t i = 0; status == LOCKWARP_OK && i < kernels; ++i) {
        const lockwarp_kernel* kernel = nullptr;
        status =
            lockwarp_module_kernel(module, lockwarp_module_kernel_name(module, i), &kernel, &error);
    }
    std::string out = status == LOCKWARP_OK ? ""
                      : error != nullptr    ? lockwarp_error_message(error)
                                            : "not enough memory";
    lockwarp_error_destroy(error);
    if (module != nullptr) lockwarp_module_destroy(module);
    return out;
}

JitResult add(JitLink& l, int type, std::span<const char> bytes, const char* name) {
    if (l.completed) return l.wrong(jit_internal, "what is completed takes no more");
    if (type == jit_lto_ir) return add_lto_ir(l, bytes, name);
    if (type == jit_library && is_device_runtime(name)) return jit_success;
    const bool is_fat = is_fat_binary(bytes.data());
    const bool is_text = !is_fat && !is_machine_code(bytes.data());
    const bool fits = type == jit_ptx          ? is_text
                      : type == jit_fat_binary ? is_fat
                                               : type == jit_any && (is_fat || is_text);
    if (!fits) {
        if (type == jit_cubin || is_machine_code(bytes.data()))
            say("nvJitLink: machine code: PTX is needed");
        return l.wrong(jit_incorrect_type, "the input is neither PTX nor a fat binary with PTX");
    }
    Image image = read_image(bytes, isa::row(driver().arch).number);
    if (image.texts.empty()) return l.wrong(jit_ptx_compile, image.wrong);
    const std::string wrong = wrong_with(image.texts.front(), false);
    if (!wrong.empty()) return l.wrong(jit_ptx_compile, wrong);
    l.texts.push_back(std::move(image.texts.front()));
    return jit_success;
}

JitResult complete_lto(JitLink& l) {
    int result = real("nvJitLinkComplete", l.lto);
    size_t size = 0;
    std::string text;
    if (result == jit_success) result = real("nvJitLinkGetLinkedPtxSize", l.lto, &size);
    if (result == jit_success) {
        text.resize(size + 1);
        result = real("nvJitLinkGetLinkedPtx", l.lto, text.data());
    }
    if (result != jit_success) {
        take_real_log(l);
        return static_cast<JitResult>(result);
    }
    text.resize(std::strlen(text.c_str()));
    l.texts.push_back(std::move(text));
    return jit_success;
}

JitResult complete(JitLink& l) {
    if (l.completed) return l.wrong(jit_internal, "it is completed already");
    if (l.lto != nullptr)
        if (const JitResult result = complete_lto(l); result != jit_success) return result;
    l.completed = true;
    if (l.texts.empty()) l.texts.push_back(".version 7.0\n.target sm_70\n.address_size 64\n");
    Merged merged = merge(l.texts);
    l.text = std::move(merged.text);
    if (merged.wrong.empty()) merged.wrong = wrong_with(l.text, true);
    return merged.wrong.empty() ? jit_success : l.wrong(jit_internal, merged.wrong);
}

template <class Work>
int jit_answer(Work work) noexcept {
    try {
        return work();
    } catch (const Failure&) {
        return jit_invalid_input;
    } catch (...) {
        return jit_internal;
    }
}

int give_size(const JitLink* l, bool is_there, size_t bytes, size_t* size, JitResult otherwise) {
    if (l == nullptr || size == nullptr) return jit_null_input;
    if (!is_there) return otherwise;
    *size = bytes;
    return jit_success;
}

int give(const JitLink* l, bool is_there, const std::string& text, void* out, JitResult otherwise) {
    if (l == nullptr || out == nullptr) return jit_null_input;
    if (!is_there) return otherwise;
    std::memcpy(out, text.c_str(), text.size() + 1);
    return jit_success;
}

const std::string& text_of(const JitLink* l) {
    static const std::string none;
    return l != nullptr ? l->text : none;
}

bool has_text(const JitLink* l) { return l != nullptr && l->completed; }
bool has_ptx(const JitLink* l) { return has_text(l) && l->wants_ptx; }

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

// A link is there too where its options are wrong: its log says what is.
int nvJitLinkCreate(JitLink** out, uint32_t count, const char* const* options) {
    if (out == nullptr || (options == nullptr && count != 0)) return jit_null_input;
    return jit_answer([&] {
        auto* const l = *out = new JitLink;
        return take_options(*l, {options, count});
    });
}

int nvJitLinkDestroy(JitLink** link) {
    if (link == nullptr || *link == nullptr) return jit_null_input;
    if ((*link)->lto != nullptr) real("nvJitLinkDestroy", &(*link)->lto);
    delete *link;
    *link = nullptr;
    return jit_success;
}

int nvJitLinkAddData(JitLink* link, int type, const void* data, size_t size, const char* name) {
    if (link == nullptr) return jit_null_input;
    if (data == nullptr || size == 0) return jit_invalid_input;
    return jit_answer([&] {
        // What looks at how it begins may look at eight bytes.
        const auto* const begin = static_cast<const char*>(data);
        std::vector<char> bytes(begin, begin + size);
        bytes.resize(size + 8);
        return add(*link, type, {bytes.data(), size}, name);
    });
}

int nvJitLinkAddFile(JitLink* link, int type, const char* path) {
    if (link == nullptr) return jit_null_input;
    if (path == nullptr) return jit_invalid_input;
    return jit_answer([&] {
        std::vector<char> bytes;
        if (answer([&] { bytes = read_file(path); }) != success)
            return link->wrong(jit_invalid_input, "no such file: " + std::string(path));
        return add(*link, type, {bytes.data(), bytes.size() - 8}, path);
    });
}

int nvJitLinkComplete(JitLink* link) {
    if (link == nullptr) return jit_null_input;
    return jit_answer([&] { return complete(*link); });
}

int nvJitLinkGetLinkedCubinSize(JitLink* link, size_t* size) {
    return give_size(link, has_text(link), text_of(link).size() + 1, size, jit_internal);
}

int nvJitLinkGetLinkedCubin(JitLink* link, void* cubin) {
    return give(link, has_text(link), text_of(link), cubin, jit_internal);
}

int nvJitLinkGetLinkedPtxSize(JitLink* link, size_t* size) {
    return give_size(link, has_ptx(link), text_of(link).size() + 1, size, jit_invalid_input);
}

int nvJitLinkGetLinkedPtx(JitLink* link, char* ptx) {
    return give(link, has_ptx(link), text_of(link), ptx, jit_invalid_input);
}

// Linked LTO-IR is not given: there is none.
int nvJitLinkGetLinkedLTOIRSize(JitLink* link, size_t* size) {
    return give_size(link, false, 0, size, jit_invalid_input);
}

int nvJitLinkGetLinkedLTOIR(JitLink* link, void* lto_ir) {
    return give(link, false, {}, lto_ir, jit_invalid_input);
}

int nvJitLinkGetErrorLogSize(JitLink* link, size_t* size) {
    return give_size(link, true, link != nullptr ? link->errors.size() : 0, size, jit_success);
}

int nvJitLinkGetErrorLog(JitLink* link, char* log) {
    if (link != nullptr && link->errors.empty()) return jit_success;
    return give(link, true, link != nullptr ? link->errors : std::string(), log, jit_success);
}

int nvJitLinkGetInfoLogSize(JitLink* link, size_t* size) {
    return give_size(link, true, 0, size, jit_success);
}

int nvJitLinkGetInfoLog(JitLink* link, char*) {
    return link != nullptr ? jit_success : jit_null_input;
}

int nvJitLinkVersion(unsigned* major, unsigned* minor) {
    if (major == nullptr || minor == nullptr) return jit_null_input;
    *major = version_major;
    *minor = version_minor;
    return jit_success;
}

}  // extern "C"
