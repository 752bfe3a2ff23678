#include "recorded.h"

#include "check.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t type;
    size_t size;
} types[] = {
    {"u8", QGEMM_TYPE_U8, 1},   {"s8", QGEMM_TYPE_S8, 1},   {"s16", QGEMM_TYPE_S16, 2},
    {"s32", QGEMM_TYPE_S32, 4}, {"f32", QGEMM_TYPE_F32, 4}, {"bf16", QGEMM_TYPE_BF16, 2},
};
enum { TYPES = sizeof types / sizeof *types };

size_t size_of_type(uint32_t type) {
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].size;
    CHECK(!"a type");
    return 0;
}

// All that a file holds, and a 0 after it.
static char *read_all(const char *directory, const char *engine, const char *ending, size_t *size) {
    char path[4096];
    CHECK(snprintf(path, sizeof path, "%s/%s.%s", directory, engine, ending) < (int)sizeof path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be opened\n", path);
        exit(1);
    }
    CHECK(fseek(file, 0, SEEK_END) == 0);
    long length = ftell(file);
    CHECK(length >= 0);
    rewind(file);
    char *data = malloc((size_t)length + 1);
    CHECK(data != NULL && fread(data, 1, (size_t)length, file) == (size_t)length);
    data[length] = '\0';
    fclose(file);
    *size = (size_t)length;
    return data;
}

// The line, ended, that *next points at; NULL if there is none.
static char *take_line(char **next) {
    char *line = *next, *end = strchr(line, '\n');
    if (end == NULL)
        return NULL;
    *end = '\0';
    *next = end + 1;
    return line;
}

// What follows the first word, which is ended.
static char *after_word(char *line) {
    char *space = strchr(line, ' ');
    CHECK(space != NULL);
    *space = '\0';
    return space + 1;
}

struct recorded open_recorded(const char *directory, const char *engine) {
    struct recorded recorded;
    size_t length;
    recorded.words = recorded.next = read_all(directory, engine, "txt", &length);
    recorded.numbers = (uint8_t *)read_all(directory, engine, "bin", &recorded.size);
    char *line = take_line(&recorded.next);
    CHECK(line != NULL);
    printf("%s\n", after_word(line));
    return recorded;
}

void close_recorded(struct recorded *recorded) {
    free(recorded->words);
    free(recorded->numbers);
}

int next_case(struct recorded *recorded, struct recorded_case *c) {
    char *line = take_line(&recorded->next);
    if (line == NULL)
        return 0;
    c->recorded = recorded;
    c->operation = after_word(line);
    CHECK(strcmp(line, "case") == 0);
    c->count = 0;
    while (*recorded->next != '\0' && strncmp(recorded->next, "case ", 5) != 0) {
        CHECK(c->count < MOST_FIELDS);
        struct field *field = &c->fields[c->count++];
        line = take_line(&recorded->next);
        CHECK(line != NULL);
        field->value = after_word(line);
        field->name = line;
        field->data = NULL;
    }
    return 1;
}

void close_case(struct recorded_case *c) {
    for (int i = 0; i < c->count; i++)
        free(c->fields[i].data);
}

static struct field *find(const struct recorded_case *c, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->fields[i].name, name) == 0)
            return (struct field *)&c->fields[i];
    return NULL;
}

const char *find_text(const struct recorded_case *c, const char *name) {
    const struct field *field = find(c, name);
    return field == NULL ? NULL : field->value;
}

const char *text(const struct recorded_case *c, const char *name) {
    const char *value = find_text(c, name);
    if (value == NULL) {
        fprintf(stderr, "a case of %s has no %s\n", c->operation, name);
        exit(1);
    }
    return value;
}

double number(const struct recorded_case *c, const char *name) {
    return strtod(text(c, name), NULL);
}

int32_t integer(const struct recorded_case *c, const char *name) {
    return (int32_t)number(c, name);
}

// The machine's numbers of little-endian ones, each of so many bytes.
static void *from_little_endian(const uint8_t *bytes, size_t count, size_t size) {
    uint8_t *data = malloc(count * size + 1);
    CHECK(data != NULL);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = bytes + i * size;
        uint8_t *to = data + i * size;
        if (size == 1) {
            *to = *from;
        } else if (size == 2) {
            uint16_t x = (uint16_t)(from[0] | from[1] << 8);
            memcpy(to, &x, size);
        } else {
            uint32_t x = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
            memcpy(to, &x, size);
        }
    }
    return data;
}

struct tensor find_tensor(struct recorded_case *c, const char *name) {
    struct tensor tensor = {0, 0, NULL};
    struct field *field = find(c, name);
    if (field == NULL)
        return tensor;
    char word[8];
    unsigned long count, offset;
    CHECK(sscanf(field->value, "%7s %lu %lu", word, &count, &offset) == 3);
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, word) == 0)
            tensor.type = types[i].type;
    size_t size = size_of_type(tensor.type);
    CHECK(offset <= c->recorded->size && count <= (c->recorded->size - offset) / size);
    if (field->data == NULL)
        field->data = from_little_endian(c->recorded->numbers + offset, count, size);
    tensor.count = count;
    tensor.data = field->data;
    return tensor;
}

struct tensor tensor(struct recorded_case *c, const char *name) {
    text(c, name);
    return find_tensor(c, name);
}
