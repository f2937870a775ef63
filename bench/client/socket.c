#define _GNU_SOURCE
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct options options = {.path = "/", .protocols = "", .at_once = 64, .patience = 30};
connection *connections;
int connection_count, synced_count, complete_count, closed_count;
void (*on_progress)(connection *, int, uint32_t, uint32_t, uint64_t);

static int poller = -1;
static int line_came;
static char answer[64];
static uint8_t scratch[1 << 20];

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load client: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(2);
}

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}

double seconds_since(uint64_t then) { return (now_ns() - then) / 1e9; }

// -- buffers and the socket --------------------------------------------------------------------------------------------

static void append(buffer *b, const void *bytes, size_t size) {
    if (b->start == b->end) b->start = b->end = 0;
    if (b->end + size > b->room) {
        if (b->start) memmove(b->bytes, b->bytes + b->start, b->end - b->start);
        b->end -= b->start;
        b->start = 0;
        while (b->end + size > b->room) b->room = b->room ? b->room * 2 : 1024;
        b->bytes = realloc(b->bytes, b->room);
    }
    memcpy(b->bytes + b->end, bytes, size);
    b->end += size;
}

static void watch(connection *c, int how) {
    struct epoll_event event = {.events = (c->stalled ? 0 : EPOLLIN) | (c->wants_write ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, how, c->fd, &event);
}

static void drop(connection *c) {
    if (c->state == CLOSED) return;
    close(c->fd);
    c->state = CLOSED;
    closed_count++;
}

size_t unsent(const connection *c) { return c->out.end - c->out.start; }

void flush(connection *c) {
    while (c->state != CLOSED && unsent(c)) {
        ssize_t sent = send(c->fd, c->out.bytes + c->out.start, unsent(c), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return drop(c);
        if (sent < 0) break;
        c->out.start += sent;
    }
    int wants = unsent(c) > 0;
    if (c->state == CLOSED || wants == c->wants_write) return;
    c->wants_write = wants;
    watch(c, EPOLL_CTL_MOD);
}

// A masked frame of two parts.
static void queue_frame(connection *c, int opcode, const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size) {
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    size_t size = a_size + b_size;
    uint8_t head[14] = {0x80 | opcode};
    int at = 1;
    head[at++] = 0x80 | (size < 126 ? size : size < 65536 ? 126 : 127);
    if (size >= 126)
        for (int shift = size < 65536 ? 8 : 56; shift >= 0; shift -= 8) head[at++] = (uint64_t)size >> shift;
    memcpy(head + at, mask, 4);
    append(&c->out, head, at + 4);
    append(&c->out, a, a_size);
    append(&c->out, b, b_size);
    uint8_t *payload = c->out.bytes + c->out.end - size;
    for (size_t i = 0; i < size; i++) payload[i] ^= mask[i & 3];
}

// -- the Yjs messages --------------------------------------------------------------------------------------------------

enum { SYNC = 0, AWARENESS = 1, AUTH = 2, SYNC_REPLY = 4, SYNC_STATUS = 8 };
enum { STEP_1 = 0, STEP_2 = 1, UPDATE = 2 };

static void queue_message(connection *c, const uint8_t *head, size_t head_size, const uint8_t *body, size_t size) {
    uint8_t whole[512];
    size_t at = 0;
    if (options.wire == HOCUSPOCUS) {
        size_t length = strlen(c->name);
        at = write_varuint(whole, length);
        memcpy(whole + at, c->name, length);
        at += length;
    }
    memcpy(whole + at, head, head_size);
    queue_frame(c, 2, whole, at + head_size, body, size);
}

void queue_update(connection *c, const uint8_t *bytes, size_t length) {
    uint8_t head[16] = {SYNC, UPDATE};
    queue_message(c, head, 2 + write_varuint(head + 2, length), bytes, length);
}

static void queue_step1(connection *c) { queue_message(c, (uint8_t[]){SYNC, STEP_1, 1, 0}, 4, NULL, 0); }
static void queue_step2(connection *c) { queue_message(c, (uint8_t[]){SYNC, STEP_2, 2, 0, 0}, 5, NULL, 0); }
static void queue_auth(connection *c) { queue_message(c, (uint8_t[]){AUTH, 0, 1, 't'}, 4, NULL, 0); }

// What a client's editor says of itself at once: who is there, and where the caret is.
static void queue_presence(connection *c) {
    static const char state[] = "{\"user\":{\"name\":\"Ann\",\"color\":\"#30bced\"},\"cursor\":{\"anchor\":0,\"head\":0}}";
    uint8_t body[256], head[16] = {AWARENESS};
    size_t at = write_varuint(body, 1);
    at += write_varuint(body + at, CLIENT_IDS[c->writer]);
    at += write_varuint(body + at, 1);
    at += write_varuint(body + at, sizeof state - 1);
    memcpy(body + at, state, sizeof state - 1);
    at += sizeof state - 1;
    queue_message(c, head, 1 + write_varuint(head + 1, at), body, at);
}

static int has_wanted(const connection *c) {
    return c->clocks[0] >= options.want[0] && c->clocks[1] >= options.want[1];
}

static void learn(connection *c, const uint8_t *bytes, size_t length, uint64_t now) {
    uint32_t clocks[WRITERS] = {c->clocks[0], c->clocks[1]};
    if (read_clocks(bytes, length, clocks)) die("%s: an update that this client cannot read", c->name);
    for (int w = 0; w < WRITERS; w++) {
        if (clocks[w] <= c->clocks[w]) continue;
        c->clocks[w] = clocks[w];
        uint32_t before = c->known[w], after = updates_known(w, clocks[w]);
        if (after <= before) continue;
        c->known[w] = after;
        if (on_progress) on_progress(c, w, before, after, now);
    }
}

static void hear_sync(connection *c, const uint8_t *at, const uint8_t *end, uint64_t now) {
    uint64_t kind = read_varuint(&at, end), length = read_varuint(&at, end);
    if (at > end || length > (uint64_t)(end - at)) die("%s: a broken message", c->name);
    if (kind == STEP_1) return queue_step2(c);
    learn(c, at, length, now);
    if (kind == STEP_2 && c->state == OPEN) {
        c->state = SYNCED;
        c->synced = now;
        synced_count++;
        if (options.presence && c->writer >= 0) queue_presence(c);
    }
    if (c->state == SYNCED && !c->complete && has_wanted(c)) {
        c->complete = now;
        complete_count++;
    }
}

static void hear(connection *c, const uint8_t *at, size_t size, uint64_t now) {
    const uint8_t *end = at + size;
    c->bytes += size;
    if (options.wire == HOCUSPOCUS) {
        uint64_t name = read_varuint(&at, end);
        if (at > end || name > (uint64_t)(end - at)) return;
        at += name;
    }
    uint64_t type = read_varuint(&at, end);
    if (type == SYNC || (options.wire == HOCUSPOCUS && type == SYNC_REPLY)) return hear_sync(c, at, end, now);
    if (options.wire != HOCUSPOCUS) return;
    if (type == AUTH && read_varuint(&at, end) == 2) queue_step1(c);
    if (type == SYNC_STATUS && read_varuint(&at, end) == 1) c->confirmed++;
}

// -- frames ------------------------------------------------------------------------------------------------------------

static size_t read_handshake(connection *c, const uint8_t *bytes, size_t size) {
    const uint8_t *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end) return 0;
    if (memcmp(bytes + 9, "101", 3)) die("the handshake was refused: %.40s", bytes);
    c->state = OPEN;
    if (options.wire == HOCUSPOCUS) queue_auth(c);
    else queue_step1(c);
    return end + 4 - bytes;
}

static void hear_frame(connection *c, uint8_t first, const uint8_t *payload, size_t size, uint64_t now) {
    enum { CLOSE = 8, PING = 9, PONG = 10 };
    int opcode = first & 15, final = first & 0x80;
    if (opcode == PING) queue_frame(c, PONG, payload, size, NULL, 0);
    else if (opcode == CLOSE) {
        int code = size >= 2 ? payload[0] << 8 | payload[1] : 1005;
        fprintf(stderr, "load client: closed %d %.*s\n", code, size > 2 ? (int)size - 2 : 0, (const char *)payload + 2);
        drop(c);
    } else if (opcode >= CLOSE) return;
    else if (final && opcode) hear(c, payload, size, now);
    else {
        append(&c->message, payload, size);
        if (!final) return;
        hear(c, c->message.bytes + c->message.start, c->message.end - c->message.start, now);
        c->message.start = c->message.end = 0;
    }
}

// How much of it was whole frames.
static size_t consume(connection *c, const uint8_t *bytes, size_t size, uint64_t now) {
    size_t at = c->state == UPGRADING ? read_handshake(c, bytes, size) : 0;
    while (c->state != CLOSED && c->state != UPGRADING && size - at >= 2) {
        const uint8_t *p = bytes + at;
        size_t length = p[1] & 127, head = length == 127 ? 10 : length == 126 ? 4 : 2;
        if (size - at < head) break;
        if (head > 2) {
            length = 0;
            for (size_t i = 2; i < head; i++) length = length << 8 | p[i];
        }
        if (size - at < head + length) break;
        hear_frame(c, p[0], p + head, length, now);
        at += head + length;
    }
    return at;
}

// One read of the socket. 0 when there was nothing more.
static int receive(connection *c) {
    ssize_t size = recv(c->fd, scratch, sizeof scratch, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (size <= 0) {
        drop(c);
        return 0;
    }
    uint64_t now = now_ns();
    if (c->in.start == c->in.end) {
        size_t used = consume(c, scratch, size, now);
        if (used < (size_t)size) append(&c->in, scratch + used, size - used);
    } else {
        append(&c->in, scratch, size);
        c->in.start += consume(c, c->in.bytes + c->in.start, c->in.end - c->in.start, now);
    }
    return size == sizeof scratch;
}

void read_stalled(connection *c, int reads) {
    while (reads-- && c->state != CLOSED && receive(c)) continue;
    flush(c);
}

// -- dialling and the loop ---------------------------------------------------------------------------------------------

static const char **read_names(int *count) {
    FILE *file = fopen(options.names, "r");
    if (!file) die("cannot open %s", options.names);
    const char **names = calloc(100000, sizeof *names);
    char line[256];
    for (*count = 0; *count < 100000 && fscanf(file, "%255s", line) == 1; (*count)++) names[*count] = strdup(line);
    fclose(file);
    if (!*count) die("%s names no document", options.names);
    return names;
}

void make_connections(int count, int per_document) {
    int documents;
    const char **names = read_names(&documents);
    connections = calloc(count, sizeof *connections);
    connection_count = count;
    for (int i = 0; i < count; i++) {
        connection *c = &connections[i];
        c->document = i / per_document;
        c->name = names[c->document % documents];
        c->writer = -1;
    }
}

static void start_loop(void) {
    poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &event);
}

void dial(connection *c) {
    if (poller < 0) start_loop();
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (c->fd < 0) die("socket: %s", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->dialled = now_ns();
    c->state = CONNECTING;
    c->wants_write = 1;
    if (connect(c->fd, (void *)&address, sizeof address) < 0 && errno != EINPROGRESS) return drop(c);
    watch(c, EPOLL_CTL_ADD);
}

static void upgrade(connection *c) {
    char request[2048];
    int size = snprintf(
        request, sizeof request,
        "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
        options.path, options.wire == HOCUSPOCUS ? "" : c->name, options.port,
        *options.protocols ? "Sec-WebSocket-Protocol: " : "", options.protocols, *options.protocols ? "\r\n" : "");
    c->state = UPGRADING;
    append(&c->out, request, size);
    flush(c);
}

static void serve(connection *c, uint32_t events) {
    if (events & EPOLLOUT) {
        if (c->state == CONNECTING && !(events & EPOLLERR)) upgrade(c);
        else flush(c);
    }
    if (c->state == CLOSED || c->stalled || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    for (int i = 0; i < 4 && c->state != CLOSED && receive(c); i++) continue;
    flush(c);
}

static void read_answer(void) {
    ssize_t size = read(STDIN_FILENO, answer, sizeof answer - 1);
    if (size <= 0) exit(0); // nobody waits for us any more
    answer[size] = 0;
    line_came = 1;
}

void turn(long ns) {
    static struct epoll_event events[1024];
    struct timespec most = {ns / 1000000000, ns % 1000000000};
    int count = epoll_pwait2(poller, events, 1024, &most, NULL);
    for (int i = 0; i < count; i++) {
        connection *c = events[i].data.ptr;
        if (c && c->state != CLOSED) serve(c, events[i].events);
        if (!c) read_answer();
    }
}

void rest(double seconds) {
    for (uint64_t then = now_ns(); seconds_since(then) < seconds;) turn(20000000);
}

void open_range(int from, int to) {
    uint64_t then = now_ns();
    int next = from, before = synced_count, heard = 0;
    while (synced_count - before < to - from) {
        while (next < to && next - from - (synced_count - before) < options.at_once) dial(&connections[next++]);
        turn(20000000);
        if (synced_count - before > heard) then = now_ns();
        heard = synced_count - before;
        if (closed_count) die("a connection was lost while opening: %d of %d came in", heard, to - from);
        if (seconds_since(then) > options.patience) die("only %d of %d came in", heard, to - from);
    }
}

const char *checkpoint(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    if (poller < 0) start_loop();
    for (line_came = 0; !line_came;) turn(50000000);
    return answer;
}
