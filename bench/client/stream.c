#include "stream.h"
#include "socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint64_t CLIENT_IDS[WRITERS] = {3000000001ull, 3000000002ull};
stream streams[WRITERS];

uint64_t read_varuint(const uint8_t **at, const uint8_t *end) {
    uint64_t value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    *at = end + 1;
    return 0;
}

int write_varuint(uint8_t *out, uint64_t value) {
    int size = 0;
    for (; value > 127; value >>= 7) out[size++] = (value & 127) | 128;
    out[size++] = value;
    return size;
}

static void skip(const uint8_t **at, const uint8_t *end, uint64_t size) {
    *at = *at <= end && size <= (uint64_t)(end - *at) ? *at + size : end + 1;
}

static void skip_id(const uint8_t **at, const uint8_t *end) {
    read_varuint(at, end);
    read_varuint(at, end);
}

static void skip_string(const uint8_t **at, const uint8_t *end) { skip(at, end, read_varuint(at, end)); }

static void skip_any(const uint8_t **at, const uint8_t *end) {
    enum { BINARY = 116, ARRAY, OBJECT, STRING, TRUE, FALSE, BIGINT, FLOAT64, FLOAT32, INTEGER };
    if (*at >= end) {
        *at = end + 1;
        return;
    }
    int kind = *(*at)++;
    if (kind == STRING || kind == BINARY) skip_string(at, end);
    else if (kind == INTEGER) read_varuint(at, end);
    else if (kind == FLOAT32) skip(at, end, 4);
    else if (kind == FLOAT64 || kind == BIGINT) skip(at, end, 8);
    else if (kind == ARRAY || kind == OBJECT)
        for (uint64_t count = read_varuint(at, end); count && *at <= end; count--) {
            if (kind == OBJECT) skip_string(at, end);
            skip_any(at, end);
        }
}

static int64_t string_length(const uint8_t **at, const uint8_t *end) {
    uint64_t size = read_varuint(at, end);
    const uint8_t *text = *at;
    skip(at, end, size);
    if (*at > end) return -1;
    int64_t units = 0;
    for (uint64_t i = 0; i < size; i++)
        if ((text[i] & 0xc0) != 0x80) units += text[i] >= 0xf0 ? 2 : 1;
    return units;
}

// Length of a struct's content, in UTF-16 units or elements; -1 for kinds that do not come here.
static int64_t content_length(int kind, const uint8_t **at, const uint8_t *end) {
    enum { DELETED = 1, JSON, BINARY, STRING, EMBED, FORMAT, TYPE, ANY };
    enum { XML_ELEMENT = 3, XML_HOOK = 5 };
    if (kind == DELETED) return read_varuint(at, end);
    if (kind == STRING) return string_length(at, end);
    if (kind == ANY || kind == JSON) {
        uint64_t count = read_varuint(at, end);
        for (uint64_t i = 0; i < count && *at <= end; i++) (kind == ANY ? skip_any : skip_string)(at, end);
        return count;
    }
    if (kind == TYPE) {
        uint64_t type = read_varuint(at, end);
        if (type == XML_ELEMENT || type == XML_HOOK) skip_string(at, end);
        return 1;
    }
    if (kind != BINARY && kind != EMBED && kind != FORMAT) return -1;
    skip_string(at, end);
    if (kind == FORMAT) skip_string(at, end);
    return 1;
}

static int64_t struct_length(const uint8_t **at, const uint8_t *end) {
    enum { GC = 0, SKIP = 10, ORIGIN = 0x80, RIGHT_ORIGIN = 0x40, KEY = 0x20 };
    if (*at >= end) return -1;
    uint8_t info = *(*at)++;
    if (info == GC || info == SKIP) return read_varuint(at, end);
    if (info & ORIGIN) skip_id(at, end);
    if (info & RIGHT_ORIGIN) skip_id(at, end);
    if (!(info & (ORIGIN | RIGHT_ORIGIN))) {
        if (read_varuint(at, end) == 1) skip(at, end, read_varuint(at, end));
        else skip_id(at, end);
        if (info & KEY) skip(at, end, read_varuint(at, end));
    }
    return content_length(info & 0x1f, at, end);
}

int read_clocks(const uint8_t *bytes, size_t length, uint32_t clocks[WRITERS]) {
    const uint8_t *at = bytes, *end = bytes + length;
    for (uint64_t clients = read_varuint(&at, end); clients && at <= end; clients--) {
        uint64_t structs = read_varuint(&at, end), client = read_varuint(&at, end), clock = read_varuint(&at, end);
        for (; structs; structs--) {
            int64_t size = struct_length(&at, end);
            if (size < 0 || at > end) return -1;
            clock += size;
        }
        for (int w = 0; w < WRITERS; w++)
            if (client == CLIENT_IDS[w] && clock > clocks[w]) clocks[w] = clock;
    }
    return at > end ? -1 : 0;
}

static void index_clocks(stream *one) {
    one->known_at = calloc(one->clock + 2, sizeof *one->known_at);
    uint32_t clock = 0;
    for (uint32_t i = 0; i < one->count; i++) {
        uint32_t after = one->all[i].clock;
        if (after <= clock) continue;
        for (uint32_t c = clock + 1; c < after; c++) one->known_at[c] = one->known_at[clock];
        one->known_at[after] = i + 1;
        clock = after;
    }
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) die("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (fread(bytes, 1, *size, file) != *size) die("cannot read %s", path);
    fclose(file);
    return bytes;
}

void load_streams(const char *path) {
    size_t size, room[WRITERS] = {0};
    uint8_t *bytes = read_file(path, &size);
    uint32_t clocks[WRITERS] = {0};
    for (size_t at = 0; at + 9 <= size;) {
        int writer = bytes[at];
        uint32_t need, length;
        memcpy(&need, bytes + at + 1, 4);
        memcpy(&length, bytes + at + 5, 4);
        at += 9;
        stream *one = &streams[writer];
        if (one->count == room[writer]) {
            room[writer] = room[writer] ? room[writer] * 2 : 4096;
            one->all = realloc(one->all, room[writer] * sizeof *one->all);
        }
        if (read_clocks(bytes + at, length, clocks)) die("%s: an update that this client cannot read", path);
        one->all[one->count++] = (update){bytes + at, length, need, clocks[writer]};
        at += length;
    }
    for (int w = 0; w < WRITERS; w++) {
        streams[w].clock = clocks[w];
        index_clocks(&streams[w]);
    }
}

uint32_t updates_known(int writer, uint32_t clock) {
    stream *one = &streams[writer];
    if (!one->known_at) return 0;
    return clock > one->clock ? one->count : one->known_at[clock];
}

uint32_t visible_need(int writer, uint32_t at) {
    uint32_t need = streams[writer].all[at].need;
    return need ? updates_known(1 - writer, streams[1 - writer].all[need - 1].clock) : 0;
}
