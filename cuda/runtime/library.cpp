// SPDX-License-Identifier: Apache-2.0
// Libraries of kernels that programs load themselves.
#include "cuda/runtime/state.hpp"

using namespace lockwarp::cuda;

namespace {

Address* address_at(void** p) { return reinterpret_cast<Address*>(p); }

}  // namespace

extern "C" {

Result cudaLibraryLoadData(Library** out, const void* image, const int* keys, void** values,
                           unsigned options, const int* library_keys, void** library_values,
                           unsigned library_options) {
    return call([&] {
        return cuLibraryLoadData(out, image, keys, values, options, library_keys, library_values,
                                 library_options);
    });
}

Result cudaLibraryLoadFromFile(Library** out, const char* path, const int* keys, void** values,
                               unsigned options, const int* library_keys, void** library_values,
                               unsigned library_options) {
    return call([&] {
        return cuLibraryLoadFromFile(out, path, keys, values, options, library_keys, library_values,
                                     library_options);
    });
}

Result cudaLibraryUnload(Library* library) {
    return call([&] { return cuLibraryUnload(library); });
}

Result cudaLibraryGetKernel(Function** out, Library* library, const char* name) {
    return call([&] { return cuLibraryGetKernel(out, library, name); });
}

Result cudaLibraryGetKernelCount(unsigned* count, Library* library) {
    return call([&] { return cuLibraryGetKernelCount(count, library); });
}

Result cudaLibraryEnumerateKernels(Function** out, unsigned count, Library* library) {
    return call([&] { return cuLibraryEnumerateKernels(out, count, library); });
}

Result cudaLibraryGetGlobal(void** out, size_t* bytes, Library* library, const char* name) {
    return call([&] { return cuLibraryGetGlobal(address_at(out), bytes, library, name); });
}

Result cudaLibraryGetManaged(void** out, size_t* bytes, Library* library, const char* name) {
    return call([&] { return cuLibraryGetManaged(address_at(out), bytes, library, name); });
}

}  // extern "C"
