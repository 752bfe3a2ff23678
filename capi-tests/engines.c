// libqgemm's results compared with those that other engines had for the same numbers, recorded in data/engines.
//
// Usage: engines [DIRECTORY]

#include "engines.h"

#include "check.h"

#include <math.h>
#include <string.h>

enum { MOST_NAMES = 80 };

static struct {
    char name[64];
    enum agreement agreement;
    size_t cases, results, different;
    double worst;
} counts[MOST_NAMES];

void must(qgemm_status status) {
    if (status != QGEMM_STATUS_OK)
        fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error());
    CHECK(status == QGEMM_STATUS_OK);
}

void *room_for(struct tensor result) {
    void *room = malloc(result.count * size_of_type(result.type) + 1);
    CHECK(room != NULL);
    return room;
}

static float f32_at(const void *data, size_t i) {
    float x;
    memcpy(&x, (const uint8_t *)data + 4 * i, 4);
    return x;
}

static double element(uint32_t type, const void *data, size_t i) {
    switch (type) {
        case QGEMM_TYPE_U8:
            return ((const uint8_t *)data)[i];
        case QGEMM_TYPE_S8:
            return ((const int8_t *)data)[i];
        case QGEMM_TYPE_S16:
            return ((const int16_t *)data)[i];
        case QGEMM_TYPE_S32:
            return ((const int32_t *)data)[i];
        case QGEMM_TYPE_F32:
            return f32_at(data, i);
        default: {
            uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
            return f32_at(&bits, 0);
        }
    }
}

// What one unit is: of floats so much of the greatest as their roundings on the way may add up to.
static double unit_of(struct tensor expected) {
    double greatest = 0;
    for (size_t i = 0; i < expected.count; i++)
        greatest = fmax(greatest, fabs(element(expected.type, expected.data, i)));
    switch (expected.type) {
        case QGEMM_TYPE_F32:
            return ldexp(greatest, -22);
        case QGEMM_TYPE_BF16:
            return ldexp(greatest, -7);
        default:
            return 1;
    }
}

static int count_of(const char *name, enum agreement agreement) {
    int i = 0;
    while (i < MOST_NAMES && counts[i].cases > 0 && strcmp(counts[i].name, name) != 0)
        i++;
    CHECK(i < MOST_NAMES && strlen(name) < sizeof counts[i].name);
    memcpy(counts[i].name, name, strlen(name) + 1);
    counts[i].agreement = agreement;
    return i;
}

void compare(const struct recorded_case *c, const char *name, enum agreement agreement, struct tensor expected,
             void *found) {
    int n = count_of(name, agreement);
    double unit = unit_of(expected), most = agreement == EQUAL ? 0 : 1;
    counts[n].cases++;
    counts[n].results += expected.count;
    for (size_t i = 0; i < expected.count; i++) {
        double want = element(expected.type, expected.data, i), got = element(expected.type, found, i);
        double distance = want == got ? 0 : fabs(want - got) / unit;
        counts[n].different += distance != 0;
        counts[n].worst = fmax(counts[n].worst, distance);
        if (!(distance <= most)) {
            fprintf(stderr, "%s: result %lu is %.9g, not %.9g\n", name, (unsigned long)i, got, want);
            for (int f = 0; f < c->count; f++)
                fprintf(stderr, "    %s %s\n", c->fields[f].name, c->fields[f].value);
            exit(1);
        }
    }
    free(found);
}

static void print_counts(void) {
    printf("%-44s %6s %8s %10s %6s\n", "", "cases", "results", "different", "most");
    for (int i = 0; i < MOST_NAMES && counts[i].cases > 0; i++)
        printf("%-44s %6lu %8lu %10lu %6.2g\n", counts[i].name, (unsigned long)counts[i].cases,
               (unsigned long)counts[i].results, (unsigned long)counts[i].different, counts[i].worst);
}

static void compare_all(const char *directory, const char *engine, void (*one)(struct recorded_case *)) {
    struct recorded recorded = open_recorded(directory, engine);
    struct recorded_case c;
    int cases = 0;
    for (; next_case(&recorded, &c); cases++) {
        one(&c);
        close_case(&c);
    }
    CHECK(cases > 0);
    close_recorded(&recorded);
}

int main(int count, char **arguments) {
    skip_unless_supported();
    const char *directory = count > 1 ? arguments[1] : ENGINES_DATA;
    compare_all(directory, "ai-edge-litert", compare_with_tflite);
    compare_all(directory, "tflite-runtime", compare_with_tflite);
    compare_all(directory, "onnxruntime", compare_with_onnxruntime);
    compare_all(directory, "onednn", compare_with_onednn);
    print_counts();
    return 0;
}
