// qgemm_gemm_u8s8s32 and its like against their definition, and their errors.

#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { MOST = 40, CALLS = 3000, ROOM = MOST * (MOST + 4) };

struct call {
    int a_is_signed, b_is_signed;
    char transa, transb, offsetc;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    int ao, bo;
    const uint8_t *a, *b;
    int32_t *c;
    const int32_t *co;
};

static uint8_t a[ROOM], b[ROOM];
static int32_t c[ROOM], before[ROOM], co[MOST];

static qgemm_status make(const struct call *p) {
    if (!p->a_is_signed && !p->b_is_signed)
        return qgemm_gemm_u8u8s32(p->transa, p->transb, p->offsetc, p->m, p->n, p->k, p->alpha, p->a, p->lda,
                                  (uint8_t)p->ao, p->b, p->ldb, (uint8_t)p->bo, p->beta, p->c, p->ldc, p->co);
    const int8_t *signed_b = (const int8_t *)p->b;
    if (p->a_is_signed)
        return qgemm_gemm_s8s8s32(p->transa, p->transb, p->offsetc, p->m, p->n, p->k, p->alpha, (const int8_t *)p->a,
                                  p->lda, (int8_t)p->ao, signed_b, p->ldb, (int8_t)p->bo, p->beta, p->c, p->ldc, p->co);
    return qgemm_gemm_u8s8s32(p->transa, p->transb, p->offsetc, p->m, p->n, p->k, p->alpha, p->a, p->lda,
                              (uint8_t)p->ao, signed_b, p->ldb, (int8_t)p->bo, p->beta, p->c, p->ldc, p->co);
}

static int is(char letter, char large) {
    return letter == large || letter == large + ('a' - 'A');
}

static int element(const uint8_t *from, int is_signed, int64_t index) {
    return is_signed ? (int8_t)from[index] : from[index];
}

static int32_t defined(const struct call *p, int64_t i, int64_t j, int32_t old) {
    int64_t sum = 0, offset = 0;
    for (int64_t l = 0; l < p->k; l++) {
        int64_t in_a = is(p->transa, 'T') ? l * p->lda + i : i * p->lda + l;
        int64_t in_b = is(p->transb, 'T') ? j * p->ldb + l : l * p->ldb + j;
        sum += (int64_t)(element(p->a, p->a_is_signed, in_a) - p->ao) * (element(p->b, p->b_is_signed, in_b) - p->bo);
    }
    if (p->co != NULL)
        offset = p->co[is(p->offsetc, 'F') ? 0 : is(p->offsetc, 'C') ? i : j];
    if (p->alpha == 1 && (p->beta == 0 || p->beta == 1))
        return (int32_t)(uint32_t)(uint64_t)(sum + offset + (p->beta == 1 ? old : 0));
    double product = (double)p->alpha * (double)sum, rest = p->beta == 0 ? 0 : (double)p->beta * old;
    double exact = product + rest;
    exact += (double)offset;
    double below = floor(exact), above = exact - below;
    double rounded = below + (above > 0.5 || (above == 0.5 && fmod(below, 2) != 0));
    return rounded < INT32_MIN ? INT32_MIN : rounded > INT32_MAX ? INT32_MAX : (int32_t)rounded;
}

static void check(const struct call *p) {
    memcpy(before, c, sizeof c);
    CHECK(make(p) == QGEMM_STATUS_OK);
    int64_t at = 0;
    for (; at < ROOM; at++) {
        int64_t i = at / p->ldc, j = at % p->ldc;
        int32_t want = i < p->m && j < p->n ? defined(p, i, j, before[at]) : before[at];
        if (c[at] != want) {
            fprintf(stderr, "c(%d, %d) is %d, not %d: %c %c %c %dx%dx%d alpha %a beta %a\n", (int)i, (int)j, (int)c[at],
                    (int)want, p->transa, p->transb, p->offsetc, (int)p->m, (int)p->n, (int)p->k, (double)p->alpha,
                    (double)p->beta);
            exit(1);
        }
    }
}

static struct call random_call(struct seed *seed) {
    const float weights[] = {0, 1, -1, 0.5f, 2, 0.1f, 1e-3f, 3e5f};
    struct call p = {.a = a, .b = b, .c = c, .co = one_in(seed, 5) ? NULL : co};
    p.b_is_signed = !one_in(seed, 3);
    p.a_is_signed = p.b_is_signed && one_in(seed, 2);
    p.transa = "NnTt"[below(seed, 4)], p.transb = "NnTt"[below(seed, 4)], p.offsetc = "FfCcRr"[below(seed, 6)];
    p.m = below(seed, MOST), p.n = 1 + below(seed, MOST - 1), p.k = below(seed, MOST);
    p.lda = (is(p.transa, 'T') ? p.m : p.k) + below(seed, 4);
    p.ldb = (is(p.transb, 'T') ? p.k : p.n) + below(seed, 4);
    p.ldc = p.n + below(seed, 4);
    p.alpha = one_in(seed, 2) ? 1 : weights[below(seed, 8)];
    p.beta = one_in(seed, 3) ? weights[below(seed, 8)] : (float)below(seed, 2);
    p.ao = one_in(seed, 3) ? 0 : below(seed, 256) - 128 * p.a_is_signed;
    p.bo = one_in(seed, 3) ? 0 : below(seed, 256) - 128 * p.b_is_signed;
    int bits = 1 + below(seed, 31);
    for (int i = 0; i < ROOM; i++)
        a[i] = (uint8_t)next_u32(seed), b[i] = (uint8_t)next_u32(seed), c[i] = (int32_t)next_u32(seed) >> bits;
    for (int i = 0; i < MOST; i++)
        co[i] = (int32_t)next_u32(seed) >> bits;
    return p;
}

static void fails(struct call p, qgemm_status status, const char *text) {
    memcpy(before, c, sizeof c);
    qgemm_status found = make(&p);
    if (found != status || strstr(qgemm_last_error(), text) == NULL) {
        fprintf(stderr, "status %d, \"%s\", instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
    CHECK(memcmp(before, c, sizeof c) == 0);
}

#define FAILS(change, status, text) \
    do {                            \
        struct call p = right;      \
        p.change;                   \
        fails(p, status, text);     \
    } while (0)

static void errors(void) {
    const struct call right = {.b_is_signed = 1, .transa = 'N', .transb = 'N', .offsetc = 'R', .m = 4, .n = 5, .k = 6,
                               .lda = 6, .ldb = 5, .ldc = 5, .alpha = 1, .beta = 1, .a = a, .b = b, .c = c, .co = co};
    check(&right);
    FAILS(transa = 'C', QGEMM_STATUS_OPTION, "transa is 67");
    FAILS(transb = 0, QGEMM_STATUS_OPTION, "transb is 0");
    FAILS(offsetc = 'N', QGEMM_STATUS_OPTION, "offsetc is 78");
    FAILS(m = -1, QGEMM_STATUS_SHAPE, "m is -1");
    FAILS(n = -1, QGEMM_STATUS_SHAPE, "n is -1");
    FAILS(k = INT64_MIN, QGEMM_STATUS_SHAPE, "k is -");
    FAILS(lda = 5, QGEMM_STATUS_STRIDE, "lda is 5, but must be at least 6");
    FAILS(ldb = 4, QGEMM_STATUS_STRIDE, "ldb is 4, but must be at least 5");
    FAILS(ldc = -5, QGEMM_STATUS_STRIDE, "ldc is -5, but must be at least 5");
    FAILS(ldc = INT64_MAX, QGEMM_STATUS_TOO_LARGE, "c reaches");
    FAILS(lda = INT64_MAX, QGEMM_STATUS_TOO_LARGE, "a reaches");
    FAILS(alpha = (float)NAN, QGEMM_STATUS_PARAMETER, "alpha is NaN");
    FAILS(beta = (float)INFINITY, QGEMM_STATUS_PARAMETER, "beta is inf");
    FAILS(a = NULL, QGEMM_STATUS_NULL_POINTER, "a is null");
    FAILS(b = NULL, QGEMM_STATUS_NULL_POINTER, "b is null");
    FAILS(c = NULL, QGEMM_STATUS_NULL_POINTER, "c is null");
    FAILS(c = (int32_t *)((char *)c + 2), QGEMM_STATUS_ALIGNMENT, "c is not aligned");
    FAILS(co = (const int32_t *)((const char *)co + 2), QGEMM_STATUS_ALIGNMENT, "co is not aligned");
    FAILS(a = (const uint8_t *)c, QGEMM_STATUS_OVERLAP, "c overlaps a");
    FAILS(b = (const uint8_t *)(c + 19), QGEMM_STATUS_OVERLAP, "c overlaps b");
    FAILS(co = c + 2, QGEMM_STATUS_OVERLAP, "c overlaps co");
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {1};
    for (int i = 0; i < CALLS; i++) {
        struct call p = random_call(&seed);
        check(&p);
    }
    errors();
    printf("%d calls\n", CALLS);
    return 0;
}
