/* serve.c - a small HTTP server: GET / is the page, GET /state a word that changes with the database. Up to MOST
 * connections wait side by side, each for at most PATIENCE, and each is closed after its answer; one more closes the
 * oldest. Requests whose Host is not this machine are rejected: another site's page could otherwise read the results
 * through the visitor's browser (DNS rebinding). */
#include "lab/report/serve.h"
#include "lab/report/page.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 128, MOST_REQUEST = 8192, PATIENCE = 5 }; /* connections; bytes; seconds for one request or answer */

typedef struct {
    int fd;
    double until; /* ticks() */
    char request[MOST_REQUEST + 1];
    size_t n;    /* bytes of the request so far */
    str out;     /* the answer; empty while the request is read */
    size_t sent; /* bytes of it */
} connection;

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
    if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, MOST) ||
        getsockname(s, (struct sockaddr *)&at, &size)) {
        fail(e, "127.0.0.1:%d: %s%s", *port, strerror(errno),
             errno == EADDRINUSE ? "; choose another with --port N" : "");
        if (s >= 0) close(s);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return s;
}

static void answer(connection *to, const char *status, const char *type, const char *body, size_t n)
{
    str_addf(&to->out,
             "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\nConnection: "
             "close\r\nCache-Control: no-store\r\n"
             "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; script-src "
             "'unsafe-inline'; style-src 'unsafe-inline'; "
             "connect-src 'self'; frame-ancestors 'none'\r\n\r\n",
             status, type, n);
    str_addn(&to->out, body, n);
    to->until = ticks() + PATIENCE;
}

static void answer_text(connection *to, const char *status, const char *text)
{
    answer(to, status, "text/plain", text, strlen(text));
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

static void answer_request(server *s, connection *to)
{
    const char *request = to->request;
    char now[64];
    err e = {0};
    size_t method = strcspn(request, " \r"), path = strcspn(request + method + (request[method] == ' '), " ?\r");
    const char *at = request + method + (request[method] == ' ');
    if (!host_is_here(request, s->port))
        answer_text(to, "403 Forbidden", "this server only answers http://127.0.0.1 and http://localhost\n");
    else if (method != 3 || strncmp(request, "GET", 3))
        answer_text(to, "405 Method Not Allowed", "GET alone\n");
    else if (path == 1 && !renew(s, &e))
        answer(to, "200 OK", "text/html", s->page.s, s->page.n);
    else if (path == 6 && !strncmp(at, "/state", 6) && !state_now(s, now, &e))
        answer_text(to, "200 OK", now);
    else if (e.text[0])
        answer_text(to, "500 Internal Server Error", e.text);
    else
        answer_text(to, "404 Not Found", "only / and /state exist\n");
}

/* Reads what has come, or sends what can go. False: the connection is over. */
static bool go_on(server *s, connection *c)
{
    if (!c->out.n) {
        ssize_t got = recv(c->fd, c->request + c->n, MOST_REQUEST - c->n, MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (!got) return false;
        c->request[c->n += (size_t)got] = 0;
        if (!strstr(c->request, "\r\n\r\n")) return c->n < MOST_REQUEST;
        answer_request(s, c);
    }
    ssize_t sent = send(c->fd, c->out.s + c->sent, c->out.n - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    return (c->sent += (size_t)sent) < c->out.n;
}

static void drop(connection *c, size_t *n, size_t i)
{
    close(c[i].fd);
    str_free(&c[i].out);
    memmove(&c[i], &c[i + 1], (--*n - i) * sizeof *c);
}

/* Accepts a connection that waits; 0, or -1 if no more can come. */
static int take_connection(int at, connection *c, size_t *n)
{
    int fd = accept4(at, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return errno == EINTR || errno == ECONNABORTED || errno == EAGAIN ? 0 : -1;
    if (*n == MOST) drop(c, n, 0);
    c[*n] = (connection){.fd = fd, .until = ticks() + PATIENCE};
    ++*n;
    return 0;
}

static void serve_all(server *s, int at)
{
    connection *c = xcalloc(MOST, sizeof *c);
    struct pollfd p[MOST + 1];
    size_t n = 0;
    for (;;) {
        p[0] = (struct pollfd){.fd = at, .events = POLLIN};
        for (size_t i = 0; i < n; i++)
            p[i + 1] = (struct pollfd){.fd = c[i].fd, .events = c[i].out.n ? POLLOUT : POLLIN};
        if (poll(p, (nfds_t)n + 1, n ? 1000 : -1) < 0) {
            if (errno == EINTR) continue;
            break;
        }
        for (size_t i = n; i-- > 0;) /* backwards: dropping one leaves those before it in place */
            if ((p[i + 1].revents && !go_on(s, &c[i])) || ticks() > c[i].until) drop(c, &n, i);
        if (p[0].revents && take_connection(at, c, &n)) break;
    }
    while (n) drop(c, &n, n - 1);
    free(c);
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
    serve_all(&s, at);
    fail(e, "127.0.0.1:%d: %s", s.port, strerror(errno));
    close(at);
    str_free(&s.page);
    return -1;
}
