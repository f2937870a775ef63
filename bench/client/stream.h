// Yjs updates (v1) that were made beforehand, and what a reader of them knows. Never builds a document.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { WRITERS = 2 };
extern const uint64_t CLIENT_IDS[WRITERS]; // the Yjs client ids of a document's two writers

typedef struct {
    const uint8_t *bytes;
    uint32_t length;
    uint32_t need;  // updates of the other writer that must have come before this one is made
    uint32_t clock; // the writer's clock after it; a deletion does not move it
} update;

typedef struct {
    update *all;
    uint32_t count;
    uint32_t clock;     // after the last
    uint32_t *known_at; // by clock: how many updates are known to have come
} stream;

extern stream streams[WRITERS];

// Records of `u8 writer, u32 need, u32 length, update`, little-endian, until the end of the file.
void load_streams(const char *path);
// How many updates of a writer a reader has that knows it up to a clock.
uint32_t updates_known(int writer, uint32_t clock);
// How many of the other's updates must be *seen* before that one may be sent: a deletion in between cannot be seen.
uint32_t visible_need(int writer, uint32_t at);

uint64_t read_varuint(const uint8_t **at, const uint8_t *end); // past the end: *at becomes end + 1
int write_varuint(uint8_t *out, uint64_t value);               // bytes written, at most 10

// Raises clocks[w] to what the update brings of each writer. 0, or -1 if it cannot be read.
int read_clocks(const uint8_t *bytes, size_t length, uint32_t clocks[WRITERS]);
