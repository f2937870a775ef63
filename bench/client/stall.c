// One key that is written again and again, one reader that reads, and others that do not. The document stays small.
#include "scenarios.h"
#include "socket.h"

#include <stdlib.h>
#include <string.h>

// The n-th value of the key: a map entry that replaces and deletes the one before it.
static size_t write_value(uint8_t *out, uint32_t n, const uint8_t *value, size_t size) {
    enum { FIRST = 0x28, LATER = 0xa8, ANY_STRING = 119 };
    uint8_t *at = out;
    *at++ = 1;
    *at++ = 1;
    at += write_varuint(at, CLIENT_IDS[0]);
    at += write_varuint(at, n);
    *at++ = n ? LATER : FIRST;
    if (n) {
        at += write_varuint(at, CLIENT_IDS[0]);
        at += write_varuint(at, n - 1);
    } else {
        memcpy(at, "\1\5draft\1k", 9);
        at += 9;
    }
    *at++ = 1;
    *at++ = ANY_STRING;
    at += write_varuint(at, size);
    memcpy(at, value, size);
    at += size;
    *at++ = n ? 1 : 0;
    if (n) {
        at += write_varuint(at, CLIENT_IDS[0]);
        *at++ = 1;
        at += write_varuint(at, n - 1);
        *at++ = 1;
    }
    return at - out;
}

static void set_stalled(int stalled) {
    for (int i = 2; i < connection_count; i++) {
        connections[i].stalled = stalled;
        if (!stalled) read_stalled(&connections[i], 1);
    }
}

// How many of the stalled have all, reading them for a while.
static int catch_up(uint32_t clock) {
    int whole = 0;
    for (uint64_t then = now_ns(); whole + closed_count < task.stalled && seconds_since(then) < 10;) {
        whole = 0;
        for (int i = 2; i < connection_count; i++) {
            read_stalled(&connections[i], 4);
            whole += connections[i].state != CLOSED && connections[i].clocks[0] >= clock;
        }
        turn(5000000);
    }
    return whole;
}

void run_stall(void) {
    enum { AHEAD = 4000000 };
    make_connections(2 + task.stalled, 2 + task.stalled);
    connection *writer = &connections[0], *reader = &connections[1];
    writer->writer = 0;
    open_range(0, connection_count);
    rest(0.5);
    set_stalled(1);
    uint8_t *value = malloc(task.size), *bytes = malloc(task.size + 64);
    checkpoint("{\"at\": \"open\"}");
    uint32_t count = task.megabytes * 1e6 / task.size;
    uint64_t begun = now_ns(), then = begun;
    for (uint32_t n = 0, heard = 0; reader->clocks[0] < count && seconds_since(then) < options.patience;) {
        while (n < count && unsent(writer) < 262144 && (uint64_t)(n - reader->clocks[0]) * task.size < AHEAD) {
            memset(value, 'a' + n % 26, task.size);
            queue_update(writer, bytes, write_value(bytes, n++, value, task.size));
        }
        if (!writer->wants_write) flush(writer);
        turn(1000000);
        if (writer->state == CLOSED || reader->state == CLOSED) break;
        if (reader->clocks[0] > heard) then = now_ns();
        heard = reader->clocks[0];
    }
    double seconds = seconds_since(begun);
    int complete = reader->clocks[0] >= count;
    checkpoint("{\"at\": \"passed\", \"complete\": %d, \"seconds\": %.3f, \"megabytes\": %.1f}", complete, seconds,
               reader->clocks[0] * 1e-6 * task.size);
    int whole = catch_up(reader->clocks[0]);
    checkpoint("{\"at\": \"drained\", \"caught_up\": %d, \"closed\": %d}", whole, closed_count);
}
