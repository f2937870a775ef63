// Clients that come to documents with a history: one after another, all at once, or while somebody types.
#include "delays.h"
#include "scenarios.h"
#include "socket.h"

#include <stdio.h>
#include <stdlib.h>

// connections[0 .. opening) hold the documents open; the first of them types if there is a rate.
static int opening;
static uint64_t typing_since;

static void type_on(void) {
    connection *c = &connections[0];
    if (!typing_since) return; // not yet open
    while (opening && task.rate > 0 && c->sent < streams[1].count && now_ns() >= typing_since + (uint64_t)(c->sent * 1e9 / task.rate)) {
        update *one = &streams[1].all[c->sent++];
        queue_update(c, one->bytes, one->length);
        if (!c->wants_write) flush(c);
    }
}

static void wait_for(int complete) {
    uint64_t then = now_ns();
    int heard = complete_count;
    while (complete_count < complete && complete_count + closed_count < connection_count) {
        type_on();
        turn(1000000);
        if (complete_count > heard) then = now_ns();
        heard = complete_count;
        if (seconds_since(then) > options.patience) return;
    }
}

static double milliseconds(const connection *c) { return c->complete ? (c->complete - c->dialled) / 1e6 : -1; }

void run_joins(void) {
    opening = task.writers; // 0: nobody holds them open
    make_connections(opening + task.repeat, 1);
    for (int i = opening; i < connection_count; i++)
        if (opening == 1) connections[i].name = connections[0].name;
    for (int i = 0; i < opening; i++) dial(&connections[i]);
    wait_for(opening);
    if (opening) rest(0.5);
    checkpoint("{\"at\": \"open\", \"complete\": %d}", complete_count);
    uint64_t begun = typing_since = now_ns();
    for (int i = opening; i < connection_count; i++) {
        dial(&connections[i]);
        if (task.together) continue;
        wait_for(i + 1);
        for (uint64_t then = now_ns(); seconds_since(then) < 0.02; type_on()) turn(1000000);
    }
    if (task.together) wait_for(connection_count);
    double seconds = seconds_since(begun);
    uint64_t bytes = 0;
    for (int i = opening; i < connection_count; i++) {
        bytes += connections[i].bytes;
        if (connections[i].complete) add_delay(connections[i].complete - connections[i].dialled);
    }
    checkpoint("{\"at\": \"joined\", \"complete\": %d, \"closed\": %d, \"seconds\": %.4f, \"first_ms\": %.3f, \"p50_ms\": %.3f, "
               "\"p99_ms\": %.3f, \"bytes\": %lu, \"clock\": %u}",
               complete_count - opening, closed_count, seconds, milliseconds(&connections[opening]), delay_ms(.5),
               delay_ms(.99), bytes, connections[opening].clocks[0]);
}
