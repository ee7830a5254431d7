/* serve.c - a small HTTP server: GET / is the page, GET /state a word that changes with the database. One request at a
 * time, each connection closed after its answer. Requests whose Host is not this machine are rejected: another site's
 * page could otherwise read the results through the visitor's browser (DNS rebinding). */
#include "lab/report/serve.h"
#include "lab/report/page.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_REQUEST = 8192, PATIENCE = 5 }; /* bytes; seconds for one request or answer */

typedef struct {
    reader *r;
    const char *name;
    int port;
    double started;
    str page;
    char state[64]; /* what the page shows */
} server;

static int listen_on(int *port, err *e)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (s >= 0) setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 16) ||
        getsockname(s, (struct sockaddr *)&at, &size)) {
        fail(e, "127.0.0.1:%d: %s%s", *port, strerror(errno),
             errno == EADDRINUSE ? "; choose another with --port N" : "");
        if (s >= 0) close(s);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return s;
}

/* Sends everything, or gives up if the client does not read. */
static void send_all(int to, const char *data, size_t n)
{
    while (n) {
        ssize_t sent = send(to, data, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return;
        data += sent, n -= (size_t)sent;
    }
}

static void answer(int to, const char *status, const char *type, const char *body, size_t n)
{
    str head = {0};
    str_addf(&head,
             "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\nConnection: "
             "close\r\nCache-Control: no-store\r\n"
             "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; script-src "
             "'unsafe-inline'; style-src 'unsafe-inline'; "
             "connect-src 'self'; frame-ancestors 'none'\r\n\r\n",
             status, type, n);
    send_all(to, head.s, head.n);
    send_all(to, body, n);
    str_free(&head);
}

static void answer_words(int to, const char *status, const char *words)
{
    answer(to, status, "text/plain", words, strlen(words));
}

/* Reads up to the empty line. False: too long, too slow, or disconnected. */
static bool read_request(int from, char out[MOST_REQUEST + 1])
{
    size_t n = 0;
    double until = ticks() + PATIENCE;
    while (n < MOST_REQUEST) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        int left = (int)((until - ticks()) * 1000);
        if (left <= 0 || poll(&p, 1, left) <= 0) return false;
        ssize_t got = recv(from, out + n, MOST_REQUEST - n, 0);
        if (got <= 0) return false;
        n += (size_t)got;
        out[n] = 0;
        if (strstr(out, "\r\n\r\n")) return true;
    }
    return false;
}

/* The Host header names this machine. */
static bool host_is_here(const char *request, int port)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "host:", 5)) continue;
        const char *host = line + 7 + strspn(line + 7, " \t");
        size_t n = strcspn(host, " \t\r");
        for (size_t i = 0; i < LENGTH(names); i++) {
            char full[64];
            snprintf(full, sizeof full, "%s:%d", names[i], port);
            if ((strlen(full) == n && !strncasecmp(full, host, n)) ||
                (port == 80 && strlen(names[i]) == n && !strncasecmp(names[i], host, n)))
                return true;
        }
        return false;
    }
    return false;
}

static int state_now(server *s, char out[64], err *e)
{
    int64_t version = reader_version(s->r, e);
    snprintf(out, 64, "%.0f-%lld", s->started, (long long)version);
    return version < 0 ? -1 : 0;
}

/* Rebuilds the page if the database has changed. */
static int renew(server *s, err *e)
{
    char now[64];
    if (state_now(s, now, e)) return -1;
    if (s->page.n && same(now, s->state)) return 0;
    str_clear(&s->page);
    if (page_print(s->r, s->name, now, &s->page, e)) {
        str_clear(&s->page);
        return -1;
    }
    memcpy(s->state, now, sizeof now);
    return 0;
}

static void serve_one(server *s, int to)
{
    char request[MOST_REQUEST + 1] = "", now[64];
    err e = {0};
    if (!read_request(to, request)) return;
    size_t method = strcspn(request, " \r"), path = strcspn(request + method + (request[method] == ' '), " ?\r");
    const char *at = request + method + (request[method] == ' ');
    if (!host_is_here(request, s->port))
        answer_words(to, "403 Forbidden", "this server only answers http://127.0.0.1 and http://localhost\n");
    else if (method != 3 || strncmp(request, "GET", 3))
        answer_words(to, "405 Method Not Allowed", "GET alone\n");
    else if (path == 1 && !renew(s, &e))
        answer(to, "200 OK", "text/html", s->page.s, s->page.n);
    else if (path == 6 && !strncmp(at, "/state", 6) && !state_now(s, now, &e))
        answer_words(to, "200 OK", now);
    else if (e.text[0])
        answer_words(to, "500 Internal Server Error", e.text);
    else
        answer_words(to, "404 Not Found", "only / and /state exist\n");
}

int serve_page(reader *r, const char *name, int port, err *e)
{
    server s = {.r = r, .name = name, .port = port, .started = now()};
    int at = renew(&s, e) ? -1 : listen_on(&s.port, e); /* report an unknown name before listening */
    if (at < 0) {
        str_free(&s.page);
        return -1;
    }
    fprintf(stderr, "http://127.0.0.1:%d/ (stop with Ctrl-C)\n", s.port);
    for (;;) {
        int to = accept4(at, NULL, NULL, SOCK_CLOEXEC);
        if (to < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (to < 0) break;
        struct timeval patience = {.tv_sec = PATIENCE};
        setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        serve_one(&s, to);
        close(to);
    }
    fail(e, "127.0.0.1:%d: %s", s.port, strerror(errno));
    close(at);
    str_free(&s.page);
    return -1;
}
