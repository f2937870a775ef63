// What the load client can do; each reads `task` and tells what happened at its checkpoints.
#pragma once

extern struct task {
    int documents, writers, readers; // writers and readers of each document
    int rounds, updates;             // updates of each writer in each round
    int window;                      // without a rate: how many updates a writer is ahead of its readers
    int together, repeat;
    int stalled, size;
    double rate; // updates per second, of all writers together
    double megabytes;
} task;

void run_typing(void);
void run_joins(void);
void run_stall(void);
void run_pair(void);
