// Two people in one document as they really wrote: each sends an update once it has seen what that was made upon.
#include "scenarios.h"
#include "socket.h"

#include <stdlib.h>

static int may_send(const connection *c, uint32_t *needs) {
    return c->sent < streams[c->writer].count && c->known[1 - c->writer] >= needs[c->sent] && unsent(c) < 65536;
}

static int is_done(const connection *c, const connection *other) {
    return c->sent == streams[c->writer].count && c->clocks[other->writer] >= streams[other->writer].clock;
}

void run_pair(void) {
    make_connections(2, 2);
    connection *a = &connections[0], *b = &connections[1];
    uint32_t *needs[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        connections[w].writer = w;
        needs[w] = calloc(streams[w].count, sizeof(uint32_t));
        for (uint32_t i = 0; i < streams[w].count; i++) needs[w][i] = visible_need(w, i);
    }
    open_range(0, 2);
    rest(0.5);
    checkpoint("{\"at\": \"open\"}");
    uint64_t begun = now_ns(), then = begun;
    uint32_t progress = 0;
    while ((!is_done(a, b) || !is_done(b, a)) && !closed_count && seconds_since(then) < options.patience) {
        for (int w = 0; w < WRITERS; w++) {
            connection *c = &connections[w];
            for (; may_send(c, needs[w]); c->sent++) {
                update *one = &streams[w].all[c->sent];
                queue_update(c, one->bytes, one->length);
            }
            if (!c->wants_write) flush(c);
        }
        turn(1000000);
        uint32_t now = a->clocks[1] + b->clocks[0];
        if (now > progress) then = now_ns();
        progress = now;
    }
    double seconds = seconds_since(begun);
    checkpoint("{\"at\": \"written\", \"complete\": %d, \"updates\": %u, \"seconds\": %.4f}", is_done(a, b) && is_done(b, a),
               a->sent + b->sent, seconds);
}
