// How long things took, in microseconds, and their percentiles in milliseconds.
#pragma once
#include <stdint.h>

void add_delay(uint64_t ns);
void forget_delays(void);
double delay_ms(double share); // 0.5 the median, 1 the worst; -1 without any
