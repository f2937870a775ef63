// WebSocket connections to a Yjs server on loopback, both wires, one thread. Knows what each has of the two writers.
#pragma once
#include "stream.h"

enum { Y_WEBSOCKET, HOCUSPOCUS };
enum { NEW, CONNECTING, UPGRADING, OPEN, SYNCED, CLOSED };

typedef struct {
    uint8_t *bytes;
    size_t start, end, room;
} buffer;

typedef struct connection {
    int fd, state, document, writer; // writer: 0, 1, or -1 for a reader
    int stalled, wants_write;
    const char *name;
    buffer in, out, message; // message: fragments so far
    uint64_t dialled, synced, complete; // ns; complete: knows the wanted clock
    uint32_t clocks[WRITERS], known[WRITERS];
    uint32_t sent, confirmed;
    uint64_t bytes;
    uint32_t *due; // µs after the start, by update
} connection;

extern struct options {
    int port, wire, at_once, presence;
    const char *path, *protocols, *names;
    uint32_t want[WRITERS];
    double patience; // s without progress
} options;

extern connection *connections;
extern int connection_count, synced_count, complete_count, closed_count;
extern void (*on_progress)(connection *c, int writer, uint32_t from, uint32_t to, uint64_t now);

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t now_ns(void);
double seconds_since(uint64_t then);

void make_connections(int count, int per_document);
void dial(connection *c);
void open_range(int from, int to); // at most options.at_once unsynced at a time; dies if one does not come in
void turn(long ns);                // one turn of the loop, at most so long
void rest(double seconds);
void read_stalled(connection *c, int reads);
size_t unsent(const connection *c);
void queue_update(connection *c, const uint8_t *bytes, size_t length);
void flush(connection *c);

// One line of JSON to standard output; goes on when standard input has one too, which is returned. Sockets are served meanwhile.
const char *checkpoint(const char *format, ...) __attribute__((format(printf, 1, 2)));
