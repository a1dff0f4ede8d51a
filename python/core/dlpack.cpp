// SPDX-License-Identifier: Apache-2.0
// The memory of a DLPack tensor. The capsule is looked at and not consumed: its producer frees it.
#include <nanobind/nanobind.h>

#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

// DLTensor of DLPack's ABI, version 0 (dlpack.h). An unversioned capsule, "dltensor", holds a
// struct that begins with it.
struct Tensor {
    void* data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides;  // in elements; nullptr: row by row without gaps
    uint64_t byte_offset;
};

// What a capsule "dltensor_versioned" holds, of DLPack 1.0 and later.
struct Versioned {
    uint32_t major, minor;
    void* context;
    void (*deleter)(Versioned*);
    uint64_t flags;
    Tensor tensor;
};
constexpr uint64_t read_only_flag = 1;

// (address of the first element, shape, strides in bytes, bytes of an element, read-only)
nb::tuple memory_of(const nb::capsule& capsule) {
    const Tensor* t = nullptr;
    bool read_only = false;
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
        t = static_cast<const Tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
        const auto* const v = static_cast<const Versioned*>(
            PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
        if (v->major == 1) t = &v->tensor;
        read_only = (v->flags & read_only_flag) != 0;
    }
    if (t == nullptr) throw Failure("the DLPack capsule is none that is understood here");
    const int64_t item = (int64_t{t->bits} * t->lanes + 7) / 8;
    nb::list shape, strides;
    int64_t row_by_row = item;
    for (int32_t i = t->ndim; i-- > 0;) {
        shape.insert(0, t->shape[i]);
        strides.insert(0, t->strides == nullptr ? row_by_row : t->strides[i] * item);
        row_by_row *= t->shape[i];
    }
    return nb::make_tuple(reinterpret_cast<uint64_t>(t->data) + t->byte_offset, nb::tuple(shape),
                          nb::tuple(strides), item, read_only);
}

}  // namespace

void bind_dlpack(nb::module_& m) { m.def("dlpack", memory_of); }

}  // namespace lockwarp::python
