// The load client: `load typing|joins|stall|pair [--option value]…`. What proves who it is comes in LOAD_PROTOCOLS.
#include "scenarios.h"
#include "socket.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct task task = {.documents = 1, .rounds = 1, .window = 256, .repeat = 1, .size = 50000};

static const struct {
    const char *name;
    int *value;
} numbers[] = {
    {"port", &options.port},         {"wire", &options.wire},       {"at-once", &options.at_once},
    {"presence", &options.presence}, {"documents", &task.documents}, {"writers", &task.writers},
    {"readers", &task.readers},      {"rounds", &task.rounds},      {"updates", &task.updates},
    {"window", &task.window},        {"together", &task.together},  {"repeat", &task.repeat},
    {"stalled", &task.stalled},      {"size", &task.size},
};

static const struct {
    const char *name;
    double *value;
} amounts[] = {{"rate", &task.rate}, {"megabytes", &task.megabytes}, {"patience", &options.patience}};

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {{"typing", run_typing}, {"joins", run_joins}, {"stall", run_stall}, {"pair", run_pair}};

static void set(const char *name, const char *value) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i].name)) {
            *numbers[i].value = atoi(value);
            return;
        }
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!strcmp(name, amounts[i].name)) {
            *amounts[i].value = atof(value);
            return;
        }
    if (!strcmp(name, "path")) options.path = value;
    else if (!strcmp(name, "names")) options.names = value;
    else if (!strcmp(name, "stream")) load_streams(value);
    else if (!strcmp(name, "want")) options.want[0] = atoi(value);
    else die("no such option: %s", name);
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    const char *protocols = getenv("LOAD_PROTOCOLS");
    if (protocols) options.protocols = protocols;
    for (int i = 2; i + 1 < count; i += 2) set(words[i] + 2, words[i + 1]);
    for (size_t i = 0; count > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(words[1], scenarios[i].name)) {
            scenarios[i].run();
            return 0;
        }
    die("usage: load typing|joins|stall|pair [--option value]...");
}
