/* gzip.c - unpacks member after member in parts, packs in memory. */
#include "base/gzip.h"
#include "base/cleanup.h"
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, PART = 1 << 16 }; /* 16 selects gzip's header and checksum */

typedef struct {
    const char *path;
    str *text; /* receives the output; if NULL, the file `to` receives it */
    int to;
    size_t most, n;
} target;

static int add_output(target *t, const unsigned char *data, size_t n, err *e)
{
    if (n > t->most - t->n)
        return fail(e, "%s: found more than %zu bytes when unpacked, expected at most that", t->path, t->most);
    t->n += n;
    if (t->text)
        str_addn(t->text, (const char *)data, n);
    else if (file_write_all(t->to, data, n))
        return fail(e, "%s: cannot be unpacked: %s", t->path, strerror(errno));
    return 0;
}

static int unpack(int fd, target *t, err *e)
{
    AUTOFREE unsigned char *in = xmalloc(2 * (size_t)PART);
    unsigned char *out = in + PART;
    z_stream z = {.avail_out = PART};
    ssize_t got = 1;
    int state = inflateInit2(&z, GZIP_WINDOW), rc = 0;
    while (!rc && (state == Z_OK || state == Z_STREAM_END)) {
        if (!z.avail_in && (z.avail_out || state == Z_STREAM_END)) { /* if the output was full, zlib may hold more */
            if ((got = file_read_some(fd, in, PART)) <= 0) break;
            z.next_in = in, z.avail_in = (uInt)got;
        }
        if (state == Z_STREAM_END) inflateReset(&z); /* another member */
        z.next_out = out, z.avail_out = PART;
        state = inflate(&z, Z_NO_FLUSH);
        if (state == Z_BUF_ERROR) state = Z_OK; /* nothing followed */
        rc = add_output(t, out, PART - z.avail_out, e);
    }
    if (state == Z_MEM_ERROR) out_of_memory(0);
    if (!rc && got < 0) rc = fail(e, "%s: cannot be read: %s", t->path, strerror(errno));
    if (!rc && state != Z_STREAM_END)
        rc = fail(e, "%s: found %s, expected gzip", t->path, state == Z_OK ? "a file cut short" : "something else");
    inflateEnd(&z);
    return rc;
}

int gzip_read(const char *path, size_t most, str *out, err *e)
{
    enum { FREE = 64 << 20, MOST_RATIO = 100 };
    size_t size = 0;
    unsigned char head[2] = {0};
    int fd = file_open_regular(path, &size, e);
    if (fd < 0) return -1;
    str_clear(out);
    bool packed = has_suffix(path, ".gz") || (pread(fd, head, 2, 0) == 2 && head[0] == 0x1f && head[1] == 0x8b);
    if (packed && size < (SIZE_MAX - FREE) / MOST_RATIO && FREE + size * MOST_RATIO < most)
        most = FREE + size * MOST_RATIO;
    int rc = packed ? unpack(fd, &(target){.path = path, .text = out, .most = most}, e)
                    : file_read_regular(path, most, out, e);
    close(fd);
    if (!rc && !out->n) str_add(out, "");
    return rc;
}

int gzip_unpack(const char *path, int to, err *e)
{
    size_t size;
    int fd = file_open_regular(path, &size, e);
    int rc = fd < 0 ? -1 : unpack(fd, &(target){.path = path, .to = to, .most = SIZE_MAX}, e);
    if (fd >= 0) close(fd);
    return rc;
}

int gzip_write(const char *path, const void *data, size_t n, err *e)
{
    if (!has_suffix(path, ".gz")) return file_write(path, data, n, e);
    z_stream z = {0};
    if (n > UINT32_MAX) return fail(e, "%s: found %zu bytes, expected at most 4 GB", path, n);
    if (deflateInit2(&z, 9, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) out_of_memory(0);
    size_t most = deflateBound(&z, n);
    AUTOFREE Bytef *out = xmalloc(most);
    z.next_in = (Bytef *)(uintptr_t)data, z.avail_in = (uInt)n;
    z.next_out = out, z.avail_out = (uInt)most;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) broken("base/gzip.c: deflate left bytes");
    deflateEnd(&z);
    return file_write(path, out, z.total_out, e);
}
