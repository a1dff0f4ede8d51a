// CUDA's mathematical functions, each of count values: out[f * count + i] is function f of a[i] and
// b[i], in the order below, which math_test.cpp has too. Arguments: a, b, out, count. Grid and CTA:
// any, in x.
//
// b is from 0 to 1.
extern "C" __global__ void math_f32(const float* a, const float* b, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = a[i], y = b[i];
    float* next = out + i;
    const auto put = [&](float value) {
        *next = value;
        next += count;
    };
    put(expf(x));
    put(exp2f(x));
    put(exp10f(x));
    put(expm1f(x));
    put(logf(y));
    put(log2f(y));
    put(log10f(y));
    put(log1pf(y));
    put(sinf(x));
    put(sinf(x * 1e6f));
    put(cosf(x));
    put(tanf(x));
    put(asinf(y));
    put(acosf(y));
    put(atanf(x));
    put(sinhf(x));
    put(coshf(x));
    put(tanhf(x));
    put(acoshf(1 + y));
    put(atanhf(y));
    put(erff(x));
    put(cbrtf(x));
    put(rsqrtf(y));
    put(lgammaf(1 + y));
    put(tgammaf(1 + y));
    put(powf(y, x));
    put(atan2f(x, y));
    put(hypotf(x, y));
    put(fmodf(x, y));
}

extern "C" __global__ void math_f64(const double* a, const double* b, double* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const double x = a[i], y = b[i];
    double* next = out + i;
    const auto put = [&](double value) {
        *next = value;
        next += count;
    };
    put(exp(x));
    put(log(y));
    put(sin(x));
    put(cos(x));
    put(tan(x));
    put(asin(y));
    put(atan(x));
    put(tanh(x));
    put(erf(x));
    put(erfc(x));
    put(cbrt(x));
    put(rsqrt(y));
    put(pow(y, x));
    put(hypot(x, y));
    put(fmod(x, y));
}
// SPDX-License-Identifier: Apache-2.0
