// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "cuda/runtime/state.hpp"

using namespace lockwarp::cuda;

extern "C" {

Result cudaStreamCreateWithPriority(Stream** out, unsigned flags, int priority) {
    return call([&] { return cuStreamCreateWithPriority(out, flags, priority); });
}

Result cudaStreamCreateWithFlags(Stream** out, unsigned flags) {
    return cudaStreamCreateWithPriority(out, flags, 0);
}

Result cudaStreamCreate(Stream** out) { return cudaStreamCreateWithPriority(out, 0, 0); }

Result cudaStreamDestroy(Stream* stream) {
    return call([&] { return cuStreamDestroy_v2(stream); });
}

Result cudaStreamSynchronize(Stream* stream) {
    return call([&] { return cuStreamSynchronize(stream); });
}

Result cudaStreamQuery(Stream* stream) {
    return call([&] { return cuStreamQuery(stream); });
}

Result cudaStreamWaitEvent(Stream* stream, Event* event, unsigned flags) {
    return call([&] { return cuStreamWaitEvent(stream, event, flags); });
}

Result cudaStreamAddCallback(Stream* stream, StreamCallback callback, void* user, unsigned flags) {
    return call([&] { return cuStreamAddCallback(stream, callback, user, flags); });
}

Result cudaStreamGetFlags(Stream* stream, unsigned* flags) {
    return call([&] { return cuStreamGetFlags(stream, flags); });
}

Result cudaStreamGetPriority(Stream* stream, int* priority) {
    return call([&] { return cuStreamGetPriority(stream, priority); });
}

Result cudaStreamGetId(Stream* stream, unsigned long long* id) {
    return call([&] { return cuStreamGetId(stream, id); });
}

Result cudaStreamGetDevice(Stream* stream, int* device) {
    return call([&] { return cuStreamGetDevice(stream, device); });
}

Result cudaStreamAttachMemAsync(Stream* stream, void* memory, size_t size, unsigned flags) {
    return call([&] {
        return cuStreamAttachMemAsync(stream, reinterpret_cast<Address>(memory), size, flags);
    });
}

Result cudaEventCreateWithFlags(Event** out, unsigned flags) {
    return call([&] { return cuEventCreate(out, flags); });
}

Result cudaEventCreate(Event** out) { return cudaEventCreateWithFlags(out, 0); }

Result cudaEventRecordWithFlags(Event* event, Stream* stream, unsigned flags) {
    return call([&] { return cuEventRecordWithFlags(event, stream, flags); });
}

Result cudaEventRecord(Event* event, Stream* stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

Result cudaEventQuery(Event* event) {
    return call([&] { return cuEventQuery(event); });
}

Result cudaEventSynchronize(Event* event) {
    return call([&] { return cuEventSynchronize(event); });
}

Result cudaEventDestroy(Event* event) {
    return call([&] { return cuEventDestroy_v2(event); });
}

Result cudaEventElapsedTime(float* milliseconds, Event* from, Event* to) {
    return call([&] { return cuEventElapsedTime(milliseconds, from, to); });
}

}  // extern "C"
