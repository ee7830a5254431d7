/* serve.c - a small HTTP server: GET / is the page, GET /state the word that stands in it, another one for each page.
 * The page of a large sweep takes seconds to make: a child makes it (page_build.c) while requests are answered with the
 * last one. They wait until it has been under way for GRACE, in which that of a small sweep is made. Up to MOST
 * connections wait side by side, each for at most PATIENCE, and each is closed after its answer; one more closes the
 * oldest. Requests whose Host is not this machine are rejected: another site's page could otherwise read the results
 * through the visitor's browser (DNS rebinding). */
#include "lab/report/serve.h"
#include "lab/report/page_build.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 128, MOST_REQUEST = 8192, PATIENCE = 5 }; /* connections; bytes; seconds for one request or answer */
static const double GRACE = 0.05;                       /* seconds that a page may take for an answer to wait for it */

typedef struct {
    int fd;
    double until; /* ticks() */
    char request[MOST_REQUEST + 1];
    size_t n;    /* bytes of the request so far */
    double held; /* the request is whole and waits for the new page until then; 0: it does not */
    str out;     /* the answer; empty while the request is read */
    size_t sent; /* bytes of it */
} connection;

/* What the file system says of the database and its log; another process that writes changes it. */
typedef struct {
    struct {
        ino_t file;
        off_t size;
        struct timespec written;
    } of[2];
} trace;

typedef struct {
    const db_options *o;
    const char *name;
    int port;
    double started;
    page_build build;
    double rests; /* no new page before then: making pages takes half a core at most */
    str page;
    err why;        /* there is no page */
    int64_t number; /* of the page; the one under way has the next */
    trace shown;    /* before the page was begun, or the one under way */
    bool settled;   /* nothing had been written for a moment then: the next write shows in the trace */
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

static void state_of(const server *s, int64_t number, char out[64])
{
    snprintf(out, 64, "%.0f-%lld", s->started, (long long)number);
}

/* Times of files come in ticks of a few milliseconds: two writes in one tick may look like one. */
static trace look(const server *s, bool *settled)
{
    static const char *const endings[] = {"", "-wal"};
    const double moment = 0.1;
    double time = now();
    trace t;
    memset(&t, 0, sizeof t); /* the gaps too: traces are compared as bytes */
    *settled = true;
    for (size_t i = 0; i < LENGTH(endings); i++) {
        struct stat st;
        char *path = xprintf("%s%s", s->o->path, endings[i]);
        if (!stat(path, &st)) {
            t.of[i].file = st.st_ino, t.of[i].size = st.st_size, t.of[i].written = st.st_mtim;
            if (fabs(time - (double)st.st_mtim.tv_sec - (double)st.st_mtim.tv_nsec * 1e-9) < moment) *settled = false;
        }
        free(path);
    }
    return t;
}

static int start_build(server *s, err *e)
{
    char state[64];
    s->shown = look(s, &s->settled);
    state_of(s, s->number + 1, state);
    return page_build_start(&s->build, s->o, s->name, state, e);
}

/* Takes the page that is under way, if it is whole. */
static bool take_page(server *s, bool wait)
{
    double began = s->build.began;
    err e = {0};
    if (!page_build_take(&s->build, wait, &s->page, &e)) return false;
    s->why = e;
    s->number++;
    s->rests = 2 * ticks() - began;
    return true;
}

/* Is the page the database's, as far as can be known now? Else a new one is under way, or comes later. */
static bool is_new(server *s)
{
    err e = {0};
    bool settled;
    trace t = look(s, &settled);
    if (s->build.pid) return false;
    if (s->settled && !memcmp(&t, &s->shown, sizeof t) && !s->why.text[0]) return true;
    if (ticks() < s->rests) return false;
    if (start_build(s, &e)) str_clear(&s->page), s->why = e;
    return !s->build.pid;
}

static bool is_get(const char *request) { return !strncmp(request, "GET ", 4); }

static size_t path_of(const char *request, const char **at)
{
    size_t method = strcspn(request, " \r");
    *at = request + method + (request[method] == ' ');
    return strcspn(*at, " ?\r");
}

/* Asks for what the page says. */
static bool is_of_page(const char *request, bool *state)
{
    const char *at;
    size_t n = path_of(request, &at);
    *state = n == 6 && !strncmp(at, "/state", 6);
    return is_get(request) && (*state || (n == 1 && *at == '/'));
}

static void answer_request(server *s, connection *to)
{
    char word[64];
    bool state;
    to->held = 0;
    if (!host_is_here(to->request, s->port)) {
        answer_text(to, "403 Forbidden", "this server only answers http://127.0.0.1 and http://localhost\n");
    } else if (!is_get(to->request)) {
        answer_text(to, "405 Method Not Allowed", "GET alone\n");
    } else if (!is_of_page(to->request, &state)) {
        answer_text(to, "404 Not Found", "only / and /state exist\n");
    } else if (state) {
        state_of(s, s->number, word);
        answer_text(to, "200 OK", word);
    } else if (s->why.text[0]) {
        answer_text(to, "500 Internal Server Error", s->why.text);
    } else {
        answer(to, "200 OK", "text/html", s->page.s, s->page.n);
    }
}

/* A whole request: answered now, or held while a page that its answer needs is made. */
static void take_request(server *s, connection *c)
{
    bool state;
    bool waits = is_of_page(c->request, &state) && host_is_here(c->request, s->port) && !is_new(s) && s->build.pid &&
                 ticks() < s->build.began + GRACE;
    if (waits)
        c->held = s->build.began + GRACE;
    else
        answer_request(s, c);
}

/* Reads what has come, or sends what can go. False: the connection is over. */
static bool go_on(server *s, connection *c)
{
    if (c->held) { /* nothing more is read from it; it may have hung up */
        char more;
        return recv(c->fd, &more, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
    }
    if (!c->out.n) {
        ssize_t got = recv(c->fd, c->request + c->n, MOST_REQUEST - c->n, MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (!got) return false;
        c->request[c->n += (size_t)got] = 0;
        if (!strstr(c->request, "\r\n\r\n")) return c->n < MOST_REQUEST;
        take_request(s, c);
        if (c->held) return true;
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

/* Answers the requests that wait for a page and need not wait longer. */
static void answer_held(server *s, connection *c, size_t n)
{
    if (s->build.pid) take_page(s, false);
    for (size_t i = 0; i < n; i++)
        if (c[i].held > 0 && (!s->build.pid || ticks() >= c[i].held)) answer_request(s, &c[i]);
}

static void serve_all(server *s, int at)
{
    connection *c = xcalloc(MOST, sizeof *c);
    struct pollfd p[MOST + 2];
    size_t n = 0;
    for (;;) {
        bool held = false;
        p[0] = (struct pollfd){.fd = at, .events = POLLIN};
        for (size_t i = 0; i < n; i++) {
            p[i + 1] = (struct pollfd){.fd = c[i].fd, .events = c[i].held ? 0 : c[i].out.n ? POLLOUT : POLLIN};
            held = held || c[i].held;
        }
        size_t ends = n + 1;
        p[ends] = (struct pollfd){.fd = s->build.pid ? s->build.fd : -1, .events = POLLIN};
        if (poll(p, (nfds_t)n + 2, held ? 10 : n || s->build.pid ? 1000 : -1) < 0) {
            if (errno == EINTR) continue;
            break;
        }
        for (size_t i = n; i-- > 0;) /* backwards: dropping one leaves those before it in place */
            if ((p[i + 1].revents && !go_on(s, &c[i])) || ticks() > c[i].until) drop(c, &n, i);
        answer_held(s, c, n);
        if (p[0].revents && take_connection(at, c, &n)) break;
    }
    while (n) drop(c, &n, n - 1);
    free(c);
}

int serve_page(const db_options *o, const char *name, int port, err *e)
{
    server s = {.o = o, .name = name, .port = port, .started = now()};
    int at = -1;
    if (!start_build(&s, e)) { /* an unknown name is reported before listening */
        take_page(&s, true);
        at = s.why.text[0] ? fail(e, "%s", s.why.text) : listen_on(&s.port, e);
    }
    if (at >= 0) {
        fprintf(stderr, "http://127.0.0.1:%d/ (stop with Ctrl-C)\n", s.port);
        serve_all(&s, at);
        fail(e, "127.0.0.1:%d: %s", s.port, strerror(errno));
        close(at);
    }
    page_build_end(&s.build);
    str_free(&s.page);
    return -1;
}
