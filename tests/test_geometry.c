/* SPDX-License-Identifier: MIT
 * Launch geometry on the host, dtypes, shapes, 16-bit conversions, and the device questions. */
#include "check.h"

static void test_ceil_div(void) {
    for (int64_t a = -3; a < 70; a++)
        for (int64_t b = -2; b < 20; b++) {
            const int64_t want = a <= 0 || b <= 0 ? 0 : (int64_t)ceil((double)a / (double)b);
            if (gpul_ceil_div(a, b) != want) FAIL("gpul_ceil_div(%lld, %lld)", (long long)a, (long long)b);
        }
    CHECK_INT(gpul_ceil_div(INT64_MAX, 1), INT64_MAX);
    CHECK_INT(gpul_ceil_div(INT64_MAX, INT64_MAX), 1);
    CHECK_INT(gpul_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
    CHECK_INT(gpul_ceil_div(INT64_MAX - 1, INT64_MAX), 1);
}

static void test_grids(void) {
    gpul_dim3 block = {16, 8, 4}, g;
    g = gpul_grid_1d(1000, 256);
    CHECK(g.x == 4 && g.y == 1 && g.z == 1);
    g = gpul_grid_1d(0, 256);
    CHECK(g.x == 0 && g.y == 1 && g.z == 1);
    g = gpul_grid_1d(1024, 256);
    CHECK_INT(g.x, 4);
    g = gpul_grid_1d(INT64_MAX, 256);
    CHECK_INT(g.x, 2147483647);
    g = gpul_grid_1d((int64_t)2147483647 * 32, 32);
    CHECK_INT(g.x, 2147483647);
    g = gpul_grid_1d((int64_t)2147483647 * 32 - 31, 32);
    CHECK_INT(g.x, 2147483647);
    g = gpul_grid_1d((int64_t)2147483646 * 32, 32);
    CHECK_INT(g.x, 2147483646);
    g = gpul_grid_2d(33, 17, block);
    CHECK(g.x == 3 && g.y == 3 && g.z == 1);
    g = gpul_grid_2d(33, INT64_MAX, block);
    CHECK(g.x == 3 && g.y == 65535);
    g = gpul_grid_3d(16, 8, 5, block);
    CHECK(g.x == 1 && g.y == 1 && g.z == 2);
    g = gpul_grid_3d(16, 8, (int64_t)65536 * 4, block);
    CHECK_INT(g.z, 65535);
    g = gpul_grid_3d(16, 0, 5, block);
    CHECK(g.x == 1 && g.y == 0 && g.z == 2);
    block.x = 0; /* no block: no grid */
    CHECK_INT(gpul_grid_2d(33, 17, block).x, 0);
}

static void test_dtypes(void) {
    static const size_t sizes[] = {0, 4, 8, 4, 8, 1, 2, 2, 0};
    static const char *const names[] = {"invalid", "float32", "float64",  "int32",  "int64",
                                        "uint8",   "float16", "bfloat16", "invalid"};
    for (int t = 0; t <= 8; t++) {
        CHECK_INT(gpul_dtype_size(t), sizes[t]);
        CHECK_STRING(gpul_dtype_name(t), names[t]);
    }
    CHECK_INT(gpul_dtype_size(-1), 0);
    CHECK_INT(gpul_dtype_size(INT32_MAX), 0);
    CHECK_STRING(gpul_dtype_name(INT32_MIN), "invalid");
    CHECK_INT(sizeof(gpul_shape), 40);
    CHECK_INT(sizeof(gpul_array), 104);
    CHECK_INT(sizeof(gpul_status), 4);
    CHECK_STRING(GPUL_VERSION, "0.2.0");
}

static void test_reduce_dtypes(void) {
    for (int op = -1; op <= 14; op++)
        for (int t = -1; t <= 9; t++) {
            const int f = t == GPUL_F32 || t == GPUL_F64, i = t == GPUL_I32 || t == GPUL_I64 || t == GPUL_U8;
            const int half = t == GPUL_F16 || t == GPUL_BF16;
            gpul_dtype want = 0;
            if (op == GPUL_MIN || op == GPUL_MAX) want = f || i || half ? t : 0;
            else if (op == GPUL_SUM) want = f || half ? t : i ? GPUL_I64 : 0;
            else if (op == GPUL_PROD || op == GPUL_ABS_SUM || op == GPUL_SUM_SQ) want = f ? t : i ? GPUL_I64 : 0;
            else if (op == GPUL_MEAN || op == GPUL_VAR) want = f || (half && op == GPUL_MEAN) ? t : i ? GPUL_F64 : 0;
            else if (op == GPUL_ARGMIN || op == GPUL_ARGMAX || op == GPUL_COUNT_NONZERO) want = f || i ? GPUL_I64 : 0;
            if (gpul_reduce_dtype(op, t) != want)
                FAIL("gpul_reduce_dtype(%d, %d) is %d, wanted %d", op, t, gpul_reduce_dtype(op, t), want);
            else check_pass();
        }
}

/* Value of 16 bits by the definition of the format. */
static double value_of(unsigned bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, e = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const unsigned m = bits & ((1u << mantissa_bits) - 1);
    const double sign = bits & 0x8000u ? -1 : 1;
    if (e == (1 << exponent_bits) - 1) return m ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp((double)(m + (1u << mantissa_bits)), e - bias - mantissa_bits)
                     : ldexp((double)m, 1 - bias - mantissa_bits));
}
/* The nearest of all finite values, ties to the even mantissa, by search. */
static uint16_t nearest(float x, int exponent_bits, int mantissa_bits) {
    const unsigned infinite = ((1u << exponent_bits) - 1) << mantissa_bits;
    const unsigned sign = signbit(x) ? 0x8000u : 0;
    const double a = fabs((double)x);
    unsigned low = 0, high = infinite; /* value(low) <= a < value(high), infinity taken as the next power of two */
    double lv, hv;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (value_of(middle, exponent_bits, mantissa_bits) <= a) low = middle;
        else high = middle;
    }
    lv = value_of(low, exponent_bits, mantissa_bits);
    hv = high == infinite ? ldexp(1, 1 << (exponent_bits - 1)) : value_of(high, exponent_bits, mantissa_bits);
    if (a - lv > hv - a || (a - lv == hv - a && (low & 1))) low = high;
    return (uint16_t)(sign | low);
}

static void test_half(void) {
    long wrong = 0;
    for (int format = 0; format < 2; format++) {
        const int eb = format ? 8 : 5, mb = format ? 7 : 10;
        for (unsigned bits = 0; bits < 65536; bits++) {
            const double want = value_of(bits, eb, mb);
            const float got = format ? gpul_bf16_to_float((uint16_t)bits) : gpul_f16_to_float((uint16_t)bits);
            const uint16_t back = format ? gpul_bf16_from_float(got) : gpul_f16_from_float(got);
            if (want != want) wrong += !(got != got) || (back & 0x7FFFu) <= (format ? 0x7F80u : 0x7C00u);
            else wrong += !(got == want) || (signbit(got) != 0) != (signbit(want) != 0) || back != bits;
        }
        CHECK_INT(wrong, 0);
        for (int k = 0; k < 200000; k++) { /* random floats, and floats at and beside the ties */
            union {
                uint32_t u;
                float f;
            } v;
            uint16_t got;
            v.u = (uint32_t)rng_u64();
            if (k & 1) {
                v.f = (float)value_of((unsigned)rng_below(65536), eb, mb);
                v.u += (uint32_t)(rng_below(3) - 1) + ((k & 2) ? (format ? 0x8000u : 0x1000u) : 0);
            }
            got = format ? gpul_bf16_from_float(v.f) : gpul_f16_from_float(v.f);
            if (v.f != v.f) wrong += (got & 0x7FFFu) <= (format ? 0x7F80u : 0x7C00u);
            else
                wrong +=
                    got != (isinf(v.f) ? (v.f < 0 ? 0x8000u : 0) | (format ? 0x7F80u : 0x7C00u) : nearest(v.f, eb, mb));
        }
        CHECK_INT(wrong, 0);
    }
    CHECK_INT(gpul_f16_from_float(65519.996f), 0x7BFF);
    CHECK_INT(gpul_f16_from_float(65520.0f), 0x7C00);
    CHECK_INT(gpul_f16_from_float(0x1p-25f), 0);
    CHECK_INT(gpul_f16_from_float(0x1.000002p-25f), 1);
    CHECK_INT(gpul_bf16_from_float(3.4028235e38f), 0x7F80);
}

static void test_half_numpy(void) { /* pairs that NumPy made */
    FILE *f = open_data("half.bin", "rb");
    uint32_t pair[2];
    long wrong = 0, n = 0;
    if (!f) return;
    while (fread(pair, 4, 2, f) == 2) {
        float x;
        memcpy(&x, &pair[0], 4);
        wrong += gpul_f16_from_float(x) != pair[1];
        n++;
    }
    fclose(f);
    CHECK_INT(wrong, 0);
    CHECK(n > 1000);
}

static void test_devices(void) {
    int32_t count = 0, current = -1, driver = -1, runtime = -1;
    gpul_device info;
    char *text;
    size_t length = 0, again = 0;
    CHECK_OK(gpul_device_count(&count));
    CHECK(count >= 1);
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 0);
    for (int32_t i = 0; i < count; i++) {
        memset(&info, 0xEE, sizeof info);
        CHECK_OK(gpul_device_info(&info, i));
        CHECK_INT(info.index, i);
        CHECK(info.major >= 7 && info.sms > 0 && info.warp_size == 32 && info.max_threads_per_block == 1024);
        CHECK(info.shared_per_block == 49152 && info.shared_per_block_optin >= info.shared_per_block);
        CHECK(info.total_bytes > 0 && info.free_bytes > 0 && info.free_bytes <= info.total_bytes && info.l2_bytes > 0);
        CHECK(info.name[0] && memchr(info.name, 0, sizeof info.name) && memchr(info.pci, 0, sizeof info.pci));
        CHECK(info.pci[4] == ':' && info.pci[7] == ':' && info.pci[10] == '.');
#ifdef GPULITE_CPU_STANDIN
        CHECK_INT(info.standin, 1);
#else
        CHECK_INT(info.standin, 0);
#endif
    }
    CHECK_OK(gpul_cuda_versions(&driver, &runtime));
    CHECK(driver >= 11000 && runtime >= 11000);
    CHECK_OK(gpul_cuda_versions(NULL, &runtime));
    CHECK_OK(gpul_cuda_versions(&driver, NULL));
    CHECK_OK(gpul_cuda_versions(NULL, NULL));
    text = NULL;
    for (int i = 0; i < 20; i++) { /* other programs may change how much memory is free between two calls */
        free(text);
        CHECK_OK(gpul_report(&length, NULL, 0));
        CHECK(length > 100);
        text = (char *)malloc(length + 1);
        memset(text, 0x7F, length + 1);
        CHECK_OK(gpul_report(&again, text, length + 1));
        if (again == length) break;
    }
    CHECK_INT(again, length);
    CHECK_INT(strlen(text), length);
    CHECK(strstr(text, info.name) != NULL);
    CHECK(strstr(text, GPUL_VERSION) != NULL);
    memset(text, 0x7F, length + 1);
    CHECK_OK(gpul_report(NULL, text, 10)); /* cut, and still terminated */
    CHECK_INT(strlen(text), 9);
    CHECK_INT(text[10], 0x7F);
    CHECK_OK(gpul_report(NULL, NULL, 0));
    CHECK_FAILS(gpul_report(&again, NULL, 10), GPUL_ERROR_ARGUMENT, "gpul_report", "text");
    CHECK_INT(again, length);
#ifdef GPULITE_CPU_STANDIN
    text[0] = 0x7F;
    standin_fail("cudaGetDeviceProperties", 1, cudaErrorUnknown, STANDIN_ONCE);
    CHECK_FAILS(gpul_report(&again, text, length + 1), GPUL_ERROR_CUDA, "gpul_report", "cudaGetDeviceProperties");
    standin_fail_clear();
    CHECK(text[0] == 0x7F && again == length);
#endif
    free(text);
    CHECK_OK(gpul_profile_start());
    CHECK_OK(gpul_profile_stop());
    CHECK_OK(gpul_device_synchronize());
    CHECK_FAILS(gpul_device_count(NULL), GPUL_ERROR_ARGUMENT, "gpul_device_count", "count");
    CHECK_FAILS(gpul_device_current(NULL), GPUL_ERROR_ARGUMENT, "gpul_device_current", "device");
    CHECK_FAILS(gpul_device_select(count), GPUL_ERROR_DEVICE, "gpul_device_select", "device");
    CHECK_FAILS(gpul_device_select(-1), GPUL_ERROR_DEVICE, "gpul_device_select", "device");
    CHECK_OK(gpul_device_current(&current));
    CHECK_INT(current, 0);
    CHECK_FAILS(gpul_device_info(NULL, 0), GPUL_ERROR_ARGUMENT, "gpul_device_info", "info");
    memset(&info, 0xEE, sizeof info);
    CHECK_FAILS(gpul_device_info(&info, count), GPUL_ERROR_DEVICE, "gpul_device_info", "device");
    CHECK_INT(((unsigned char *)&info)[17], 0xEE);
    CHECK_FAILS(gpul_block_size(NULL, NULL, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_block_size", "block");
    CHECK_FAILS(gpul_block_size(&current, NULL, 0, 0), GPUL_ERROR_ARGUMENT, "gpul_block_size", "kernel");
}

int main(void) {
    check_begin("geometry");
    RUN(test_ceil_div);
    RUN(test_grids);
    RUN(test_dtypes);
    RUN(test_reduce_dtypes);
    RUN(test_half);
    RUN(test_half_numpy);
    RUN(test_devices);
    return check_end();
}
