#include "delays.h"

#include <stdlib.h>

static uint32_t *delays;
static uint64_t count, room, sorted;

void add_delay(uint64_t ns) {
    if (count == room) {
        room = room ? room * 2 : 1 << 16;
        delays = realloc(delays, room * sizeof *delays);
    }
    uint64_t us = ns / 1000;
    delays[count++] = us > UINT32_MAX ? UINT32_MAX : us;
}

void forget_delays(void) { count = sorted = 0; }

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double delay_ms(double share) {
    if (!count) return -1;
    if (sorted != count) qsort(delays, count, sizeof *delays, compare);
    sorted = count;
    return delays[(uint64_t)(share * (count - 1))] / 1000.0;
}
