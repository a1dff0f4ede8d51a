// SPDX-License-Identifier: Apache-2.0
// cudaError's names and texts, and the error that a thread's last call left.
#include <algorithm>
#include <array>

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

namespace {

struct RuntimeErrorRow {
    int number;
    const char* name;
    const char* text;
};

constexpr std::array error_rows{
    RuntimeErrorRow{0, "cudaSuccess", "no error"},
    RuntimeErrorRow{1, "cudaErrorInvalidValue", "invalid argument"},
    RuntimeErrorRow{2, "cudaErrorMemoryAllocation", "out of memory"},
    RuntimeErrorRow{3, "cudaErrorInitializationError", "initialization error"},
    RuntimeErrorRow{4, "cudaErrorCudartUnloading", "driver shutting down"},
    RuntimeErrorRow{5, "cudaErrorProfilerDisabled",
                    "profiler disabled while using external profiling tool"},
    RuntimeErrorRow{6, "cudaErrorProfilerNotInitialized",
                    "profiler not initialized: call cudaProfilerInitialize()"},
    RuntimeErrorRow{7, "cudaErrorProfilerAlreadyStarted", "profiler already started"},
    RuntimeErrorRow{8, "cudaErrorProfilerAlreadyStopped", "profiler already stopped"},
    RuntimeErrorRow{9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    RuntimeErrorRow{12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    RuntimeErrorRow{13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    RuntimeErrorRow{16, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    RuntimeErrorRow{17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    RuntimeErrorRow{18, "cudaErrorInvalidTexture", "invalid texture reference"},
    RuntimeErrorRow{19, "cudaErrorInvalidTextureBinding", "texture is not bound to a pointer"},
    RuntimeErrorRow{20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    RuntimeErrorRow{21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    RuntimeErrorRow{22, "cudaErrorAddressOfConstant", "invalid address of constant"},
    RuntimeErrorRow{23, "cudaErrorTextureFetchFailed", "fetch from texture failed"},
    RuntimeErrorRow{24, "cudaErrorTextureNotBound",
                    "cannot fetch from a texture that is not bound"},
    RuntimeErrorRow{25, "cudaErrorSynchronizationError", "incorrect use of __syncthreads()"},
    RuntimeErrorRow{26, "cudaErrorInvalidFilterSetting",
                    "linear filtering not supported for non-float type"},
    RuntimeErrorRow{27, "cudaErrorInvalidNormSetting",
                    "read as normalized float not supported for data type"},
    RuntimeErrorRow{28, "cudaErrorMixedDeviceExecution",
                    "device emulation mode and device execution mode cannot be mixed"},
    RuntimeErrorRow{31, "cudaErrorNotYetImplemented", "feature not yet implemented"},
    RuntimeErrorRow{32, "cudaErrorMemoryValueTooLarge",
                    "memory size or pointer value too large to fit in 32 bit"},
    RuntimeErrorRow{34, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
    RuntimeErrorRow{35, "cudaErrorInsufficientDriver",
                    "CUDA driver version is insufficient for CUDA runtime version"},
    RuntimeErrorRow{36, "cudaErrorCallRequiresNewerDriver",
                    "API call is not supported in the installed CUDA driver"},
    RuntimeErrorRow{37, "cudaErrorInvalidSurface", "invalid surface reference"},
    RuntimeErrorRow{43, "cudaErrorDuplicateVariableName",
                    "duplicate global variable looked up by string name"},
    RuntimeErrorRow{44, "cudaErrorDuplicateTextureName",
                    "duplicate texture looked up by string name"},
    RuntimeErrorRow{45, "cudaErrorDuplicateSurfaceName",
                    "duplicate surface looked up by string name"},
    RuntimeErrorRow{46, "cudaErrorDevicesUnavailable",
                    "CUDA-capable device(s) is/are busy or unavailable"},
    RuntimeErrorRow{49, "cudaErrorIncompatibleDriverContext", "incompatible driver context"},
    RuntimeErrorRow{52, "cudaErrorMissingConfiguration",
                    "__global__ function call is not configured"},
    RuntimeErrorRow{53, "cudaErrorPriorLaunchFailure",
                    "unspecified launch failure in prior launch"},
    RuntimeErrorRow{65, "cudaErrorLaunchMaxDepthExceeded",
                    "launch would exceed maximum depth of nested launches"},
    RuntimeErrorRow{66, "cudaErrorLaunchFileScopedTex",
                    "launch failed because kernel uses unsupported, file-scoped textures (texture "
                    "objects are supported)"},
    RuntimeErrorRow{67, "cudaErrorLaunchFileScopedSurf",
                    "launch failed because kernel uses unsupported, file-scoped surfaces (surface "
                    "objects are supported)"},
    RuntimeErrorRow{68, "cudaErrorSyncDepthExceeded",
                    "cudaDeviceSynchronize failed because caller's grid depth exceeds "
                    "cudaLimitDevRuntimeSyncDepth"},
    RuntimeErrorRow{
        69, "cudaErrorLaunchPendingCountExceeded",
        "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    RuntimeErrorRow{98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    RuntimeErrorRow{100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    RuntimeErrorRow{101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    RuntimeErrorRow{102, "cudaErrorDeviceNotLicensed", "device doesn't have valid Grid license"},
    RuntimeErrorRow{103, "cudaErrorSoftwareValidityNotEstablished", "integrity checks failed"},
    RuntimeErrorRow{127, "cudaErrorStartupFailure", "startup failure in cuda runtime"},
    RuntimeErrorRow{200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    RuntimeErrorRow{201, "cudaErrorDeviceUninitialized", "invalid device context"},
    RuntimeErrorRow{205, "cudaErrorMapBufferObjectFailed", "mapping of buffer object failed"},
    RuntimeErrorRow{206, "cudaErrorUnmapBufferObjectFailed", "unmapping of buffer object failed"},
    RuntimeErrorRow{207, "cudaErrorArrayIsMapped", "array is mapped"},
    RuntimeErrorRow{208, "cudaErrorAlreadyMapped", "resource already mapped"},
    RuntimeErrorRow{209, "cudaErrorNoKernelImageForDevice",
                    "no kernel image is available for execution on the device"},
    RuntimeErrorRow{210, "cudaErrorAlreadyAcquired", "resource already acquired"},
    RuntimeErrorRow{211, "cudaErrorNotMapped", "resource not mapped"},
    RuntimeErrorRow{212, "cudaErrorNotMappedAsArray", "resource not mapped as array"},
    RuntimeErrorRow{213, "cudaErrorNotMappedAsPointer", "resource not mapped as pointer"},
    RuntimeErrorRow{214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    RuntimeErrorRow{215, "cudaErrorUnsupportedLimit",
                    "limit is not supported on this architecture"},
    RuntimeErrorRow{216, "cudaErrorDeviceAlreadyInUse",
                    "exclusive-thread device already in use by a different thread"},
    RuntimeErrorRow{217, "cudaErrorPeerAccessUnsupported",
                    "peer access is not supported between these two devices"},
    RuntimeErrorRow{218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    RuntimeErrorRow{219, "cudaErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
    RuntimeErrorRow{220, "cudaErrorNvlinkUncorrectable",
                    "uncorrectable NVLink error detected during the execution"},
    RuntimeErrorRow{221, "cudaErrorJitCompilerNotFound", "PTX JIT compiler library not found"},
    RuntimeErrorRow{222, "cudaErrorUnsupportedPtxVersion",
                    "the provided PTX was compiled with an unsupported toolchain."},
    RuntimeErrorRow{223, "cudaErrorJitCompilationDisabled", "PTX JIT compilation was disabled"},
    RuntimeErrorRow{224, "cudaErrorUnsupportedExecAffinity",
                    "the provided execution affinity is not supported"},
    RuntimeErrorRow{225, "cudaErrorUnsupportedDevSideSync",
                    "the provided PTX contains unsupported call to cudaDeviceSynchronize"},
    RuntimeErrorRow{226, "cudaErrorContained",
                    "Invalid access of peer GPU memory over nvlink or a hardware error"},
    RuntimeErrorRow{300, "cudaErrorInvalidSource", "device kernel image is invalid"},
    RuntimeErrorRow{301, "cudaErrorFileNotFound", "file not found"},
    RuntimeErrorRow{302, "cudaErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    RuntimeErrorRow{303, "cudaErrorSharedObjectInitFailed", "shared object initialization failed"},
    RuntimeErrorRow{304, "cudaErrorOperatingSystem",
                    "OS call failed or operation not supported on this OS"},
    RuntimeErrorRow{400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    RuntimeErrorRow{401, "cudaErrorIllegalState",
                    "the operation cannot be performed in the present state"},
    RuntimeErrorRow{402, "cudaErrorLossyQuery",
                    "attempted introspection would be semantically lossy"},
    RuntimeErrorRow{500, "cudaErrorSymbolNotFound", "named symbol not found"},
    RuntimeErrorRow{600, "cudaErrorNotReady", "device not ready"},
    RuntimeErrorRow{700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    RuntimeErrorRow{701, "cudaErrorLaunchOutOfResources",
                    "too many resources requested for launch"},
    RuntimeErrorRow{702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    RuntimeErrorRow{703, "cudaErrorLaunchIncompatibleTexturing",
                    "launch uses incompatible texturing mode"},
    RuntimeErrorRow{704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    RuntimeErrorRow{705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    RuntimeErrorRow{708, "cudaErrorSetOnActiveProcess",
                    "cannot set while device is active in this process"},
    RuntimeErrorRow{709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    RuntimeErrorRow{710, "cudaErrorAssert", "device-side assert triggered"},
    RuntimeErrorRow{711, "cudaErrorTooManyPeers", "peer mapping resources exhausted"},
    RuntimeErrorRow{712, "cudaErrorHostMemoryAlreadyRegistered",
                    "part or all of the requested memory range is already mapped"},
    RuntimeErrorRow{713, "cudaErrorHostMemoryNotRegistered",
                    "pointer does not correspond to a registered memory region"},
    RuntimeErrorRow{714, "cudaErrorHardwareStackError", "hardware stack error"},
    RuntimeErrorRow{715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    RuntimeErrorRow{716, "cudaErrorMisalignedAddress", "misaligned address"},
    RuntimeErrorRow{717, "cudaErrorInvalidAddressSpace",
                    "operation not supported on global/shared address space"},
    RuntimeErrorRow{718, "cudaErrorInvalidPc", "invalid program counter"},
    RuntimeErrorRow{719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    RuntimeErrorRow{720, "cudaErrorCooperativeLaunchTooLarge",
                    "too many blocks in cooperative launch"},
    RuntimeErrorRow{721, "cudaErrorTensorMemoryLeak", "tensor memory not completely freed"},
    RuntimeErrorRow{800, "cudaErrorNotPermitted", "operation not permitted"},
    RuntimeErrorRow{801, "cudaErrorNotSupported", "operation not supported"},
    RuntimeErrorRow{802, "cudaErrorSystemNotReady", "system not yet initialized"},
    RuntimeErrorRow{803, "cudaErrorSystemDriverMismatch",
                    "system has unsupported display driver / cuda driver combination"},
    RuntimeErrorRow{804, "cudaErrorCompatNotSupportedOnDevice",
                    "forward compatibility was attempted on non supported HW"},
    RuntimeErrorRow{805, "cudaErrorMpsConnectionFailed",
                    "MPS client failed to connect to the MPS control daemon or the MPS server"},
    RuntimeErrorRow{806, "cudaErrorMpsRpcFailure",
                    "the remote procedural call between the MPS server and the MPS client failed"},
    RuntimeErrorRow{807, "cudaErrorMpsServerNotReady",
                    "MPS server is not ready to accept new MPS client requests"},
    RuntimeErrorRow{808, "cudaErrorMpsMaxClientsReached",
                    "the hardware resources required to create MPS client have been exhausted"},
    RuntimeErrorRow{
        809, "cudaErrorMpsMaxConnectionsReached",
        "the hardware resources required to support device connections have been exhausted"},
    RuntimeErrorRow{810, "cudaErrorMpsClientTerminated",
                    "the MPS client has been terminated by the server"},
    RuntimeErrorRow{811, "cudaErrorCdpNotSupported",
                    "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, "
                    "does not support it"},
    RuntimeErrorRow{
        812, "cudaErrorCdpVersionMismatch",
        "unsupported interaction between different versions of CUDA Dynamic Parallelism"},
    RuntimeErrorRow{900, "cudaErrorStreamCaptureUnsupported",
                    "operation not permitted when stream is capturing"},
    RuntimeErrorRow{901, "cudaErrorStreamCaptureInvalidated",
                    "operation failed due to a previous error during capture"},
    RuntimeErrorRow{902, "cudaErrorStreamCaptureMerge",
                    "operation would result in a merge of separate capture sequences"},
    RuntimeErrorRow{903, "cudaErrorStreamCaptureUnmatched",
                    "capture was not ended in the same stream as it began"},
    RuntimeErrorRow{904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    RuntimeErrorRow{905, "cudaErrorStreamCaptureIsolation",
                    "dependency created on uncaptured work in another stream"},
    RuntimeErrorRow{906, "cudaErrorStreamCaptureImplicit",
                    "operation would make the legacy stream depend on a capturing blocking stream"},
    RuntimeErrorRow{907, "cudaErrorCapturedEvent",
                    "operation not permitted on an event last recorded in a capturing stream"},
    RuntimeErrorRow{908, "cudaErrorStreamCaptureWrongThread",
                    "attempt to terminate a thread-local capture sequence from another thread"},
    RuntimeErrorRow{909, "cudaErrorTimeout", "wait operation timed out"},
    RuntimeErrorRow{910, "cudaErrorGraphExecUpdateFailure",
                    "the graph update was not performed because it included changes which violated "
                    "constraints specific to instantiated graph update"},
    RuntimeErrorRow{911, "cudaErrorExternalDevice",
                    "an async error has occured in external entity outside of CUDA"},
    RuntimeErrorRow{912, "cudaErrorInvalidClusterSize",
                    "a kernel launch error has occurred due to cluster misconfiguration"},
    RuntimeErrorRow{
        913, "cudaErrorFunctionNotLoaded",
        "the function handle is not loaded when calling an API that requires a loaded function"},
    RuntimeErrorRow{
        914, "cudaErrorInvalidResourceType",
        "one or more resources passed in are not valid resource types for the operation"},
    RuntimeErrorRow{915, "cudaErrorInvalidResourceConfiguration",
                    "one or more resources are insufficient or non-applicable for the operation"},
    RuntimeErrorRow{999, "cudaErrorUnknown", "unknown error"},
};

thread_local Result last_error = success;

const char* text_of(int number, const char* RuntimeErrorRow::*text) {
    const auto* const found = std::ranges::find(error_rows, number, &RuntimeErrorRow::number);
    return found == error_rows.end() ? "unrecognized error code" : found->*text;
}

}  // namespace

const char* name_of_error(int number) { return text_of(number, &RuntimeErrorRow::name); }

const char* text_of_error(int number) { return text_of(number, &RuntimeErrorRow::text); }

Result remember(Result result) noexcept {
    if (result != success && result != not_ready) last_error = result;
    return result;
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

const char* cudaGetErrorName(int number) { return name_of_error(number); }

const char* cudaGetErrorString(int number) { return text_of_error(number); }

Result cudaGetLastError() {
    const Result last = last_error;
    last_error = success;
    return last;
}

Result cudaPeekAtLastError() { return last_error; }

}  // extern "C"
