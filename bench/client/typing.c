// Documents with writers and readers: fan-out, many documents, a lone typist, a long history, a server that is killed.
#include "delays.h"
#include "scenarios.h"
#include "socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static uint64_t started, delivered;
static uint64_t last_progress;
static uint32_t most_updates; // of each writer in all rounds

static connection *writer_of(int document, int writer) {
    return &connections[document * (task.writers + task.readers) + writer];
}

static void note_delivery(connection *c, int writer, uint32_t from, uint32_t to, uint64_t now) {
    last_progress = now;
    if (c->writer == writer || writer >= task.writers) return;
    connection *from_whom = writer_of(c->document, writer);
    update *all = streams[writer].all;
    for (uint32_t i = from; i < to && i < from_whom->sent; i++) {
        delivered++;
        int is_seen = !i || all[i].clock != all[i - 1].clock; // a deletion is not seen when it comes
        if (is_seen) add_delay(now - started - (uint64_t)from_whom->due[i] * 1000);
    }
}

static void open_documents(void) {
    int each = task.writers + task.readers;
    make_connections(task.documents * each, each);
    most_updates = task.rounds * task.updates;
    for (int i = 0; i < connection_count; i++) {
        if (i % each >= task.writers) continue;
        connections[i].writer = i % each;
        connections[i].due = calloc(most_updates + 1, sizeof(uint32_t));
        if (streams[i % each].count < most_updates) die("the stream has only %u updates", streams[i % each].count);
    }
    open_range(0, connection_count);
    rest(0.5);
}

// All writers, in an order that is random but always the same.
static connection **shuffle_writers(int count) {
    connection **order = calloc(count, sizeof *order);
    for (int i = 0; i < count; i++) order[i] = writer_of(i / task.writers, i % task.writers);
    srand(7);
    for (int i = count - 1; i > 0; i--) {
        int j = rand() % (i + 1);
        connection *kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    return order;
}

static void send_next(connection *c, uint64_t due) {
    update *one = &streams[c->writer].all[c->sent];
    c->due[c->sent++] = (due - started) / 1000;
    queue_update(c, one->bytes, one->length);
}

// By the clock: an update that is late is sent at once, and its delay counts from when it was due.
static void type_at_rate(connection **order, int count) {
    uint64_t begun = now_ns(), total = (uint64_t)task.updates * count;
    for (uint64_t n = 0; n < total && !closed_count;) {
        uint64_t due = begun + (uint64_t)(n * 1e9 / task.rate), now = now_ns();
        if (due > now) {
            turn(due - now > 1000000 ? 1000000 : (long)(due - now));
            continue;
        }
        for (int burst = 0; burst < 64 && n < total && due <= now; burst++) {
            connection *c = order[n++ % count];
            send_next(c, due);
            if (!c->wants_write) flush(c);
            due = begun + (uint64_t)(n * 1e9 / task.rate);
        }
        turn(0);
    }
}

static uint32_t slowest_knows(connection *writer) {
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < task.writers + task.readers; i++) {
        connection *c = writer_of(writer->document, i);
        if (c != writer && c->known[writer->writer] < least) least = c->known[writer->writer];
    }
    return least;
}

// As fast as the readers take it, at most a window ahead of them.
static void type_in_window(connection **order, int count) {
    uint32_t target = order[0]->sent + task.updates;
    last_progress = now_ns();
    for (int busy = 1; busy && !closed_count && seconds_since(last_progress) < options.patience;) {
        busy = 0;
        int queued = 0;
        for (int i = 0; i < count; i++) {
            connection *c = order[i];
            uint32_t limit = slowest_knows(c) + task.window;
            while (c->sent < target && c->sent < limit && unsent(c) < 65536) {
                send_next(c, now_ns());
                queued++;
            }
            if (!c->wants_write) flush(c);
            busy |= c->sent < target;
        }
        turn(queued ? 0 : 1000000);
    }
}

static double own_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Returns what the next round is to be: `rate updates`, or nothing for the same again.
static const char *type_round(connection **order, int count) {
    double cpu = own_cpu();
    uint64_t begun = now_ns(), sent = 0, before = delivered;
    if (order[0]->sent + task.updates > most_updates) die("more updates than were announced");
    for (int i = 0; i < count; i++) sent -= order[i]->sent;
    forget_delays();
    if (task.rate > 0) type_at_rate(order, count);
    else type_in_window(order, count);
    double sending = seconds_since(begun);
    uint64_t wanted = (uint64_t)task.updates * count * (task.writers + task.readers - 1);
    last_progress = now_ns();
    double enough = 2 * sending + options.patience; // who is that late does not keep up
    while (delivered - before < wanted && !closed_count && seconds_since(last_progress) < options.patience &&
           seconds_since(begun) < enough)
        turn(1000000);
    for (int i = 0; i < count; i++) sent += order[i]->sent;
    connection *first = writer_of(0, 0), *other = &connections[1 % connection_count];
    return checkpoint("{\"at\": \"typed\", \"sent\": %lu, \"wanted\": %lu, \"delivered\": %lu, \"sending_s\": %.3f, \"seconds\": %.3f, "
               "\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"closed\": %d, \"client_cpu_s\": %.2f, "
               "\"sent_clock\": %u, \"echoed_clock\": %u, \"seen_clock\": %u, \"confirmed_clock\": %u}",
               sent, wanted, delivered - before, sending, seconds_since(begun), delay_ms(.5), delay_ms(.99), delay_ms(1),
               closed_count, own_cpu() - cpu, first->sent ? streams[0].all[first->sent - 1].clock : 0, first->clocks[0],
               other->clocks[0], first->confirmed ? streams[0].all[first->confirmed - 1].clock : 0);
}

void run_typing(void) {
    started = now_ns();
    open_documents();
    int count = task.documents * task.writers;
    connection **order = shuffle_writers(count);
    on_progress = note_delivery;
    const char *next = checkpoint("{\"at\": \"open\", \"connections\": %d, \"seconds\": %.3f}", connection_count,
                                  seconds_since(started));
    for (int round = 0; round < task.rounds && !closed_count; round++) {
        sscanf(next, "%lf %d", &task.rate, &task.updates);
        next = type_round(order, count);
    }
}
