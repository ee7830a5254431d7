/* checkpoint.c - safetensors: 8 bytes of header length, a JSON header, then the tensors. */
#include "network/train/checkpoint.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- text entries ---- */

static checkpoint_entry *entry(const checkpoint_meta *m, const char *key)
{
    for (size_t i = 0; i < m->n; i++)
        if (same(m->at[i].key, key)) return &m->at[i];
    return NULL;
}

static void write_raw(checkpoint_meta *m, const char *key, const char *s, size_t n)
{
    checkpoint_entry *x = entry(m, key);
    if (!x) {
        m->at = grow(m->at, &m->cap, m->n + 1, sizeof *m->at);
        x = &m->at[m->n++];
        *x = (checkpoint_entry){.key = xstrdup(key)};
    }
    str_clear(&x->value);
    str_addn(&x->value, s, n);
}

void meta_write(checkpoint_meta *m, const char *key, const char *text) { write_raw(m, key, text, strlen(text)); }

void meta_write_int(checkpoint_meta *m, const char *key, int64_t x)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)x);
    meta_write(m, key, text);
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void meta_write_bytes(checkpoint_meta *m, const char *key, const void *data, size_t n)
{
    const unsigned char *b = data;
    str out = {0};
    for (size_t i = 0; i < n; i += 3) {
        uint32_t w = (uint32_t)b[i] << 16 | (i + 1 < n ? (uint32_t)b[i + 1] << 8 : 0) | (i + 2 < n ? b[i + 2] : 0);
        str_addc(&out, base64[w >> 18]);
        str_addc(&out, base64[w >> 12 & 63]);
        str_addc(&out, i + 1 < n ? base64[w >> 6 & 63] : '=');
        str_addc(&out, i + 2 < n ? base64[w & 63] : '=');
    }
    write_raw(m, key, str_text(&out), out.n);
    str_free(&out);
}

const char *meta_text(const checkpoint_meta *m, const char *key)
{
    const checkpoint_entry *x = entry(m, key);
    return x ? str_text(&x->value) : NULL;
}

bool meta_int(const checkpoint_meta *m, const char *key, int64_t *out)
{
    const char *text = meta_text(m, key);
    return text && parse_int(text, out);
}

int meta_bytes(const checkpoint_meta *m, const char *key, str *out, err *e)
{
    const char *s = meta_text(m, key);
    if (!s) return fail(e, "checkpoint: no entry '%s'", key);
    uint32_t w = 0;
    int have = 0;
    str_clear(out);
    for (; *s && *s != '='; s++) {
        const char *at = strchr(base64, *s);
        if (!at) return fail(e, "checkpoint: entry '%s' is not base64", key);
        w = w << 6 | (uint32_t)(at - base64);
        have += 6;
        if (have >= 8) str_addc(out, (char)(w >> (have -= 8) & 255));
    }
    return 0;
}

void meta_free(checkpoint_meta *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->at[i].key);
        str_free(&m->at[i].value);
    }
    free(m->at);
    *m = (checkpoint_meta){0};
}

/* ---- writing ---- */

/* Adds a header entry for the parameter's values (which 0) or a slot. */
static void add_tensor(str *header, const char *prefix, const param *p, uint32_t which, dtype type, size_t *at)
{
    extent x = param_extent(p, which);
    char *name = xprintf("%s%s", prefix, p->name);
    json_key(header, name);
    free(name);
    int first = 0;
    while (first < 3 && x.dim[first] == 1) first++;
    str_addf(header, "{\"dtype\":\"%s\",\"shape\":[", type == F64 ? "F64" : "F32");
    for (int i = first; i < 4; i++) str_addf(header, "%s%lld", i > first ? "," : "", (long long)x.dim[i]);
    size_t bytes = x.count * dtype_size(type);
    str_addf(header, "],\"data_offsets\":[%zu,%zu]}", *at, *at + bytes);
    *at += bytes;
}

static void build_header(str *h, const params *p, const char *const *slots, uint32_t n_slots, const checkpoint_meta *m)
{
    size_t at = 0;
    str_add(h, "{\"__metadata__\":{\"format\":\"ablate\"");
    for (size_t i = 0; i < m->n; i++) json_key_text(h, m->at[i].key, str_text(&m->at[i].value));
    str_addc(h, '}');
    for (uint32_t s = 0; s <= n_slots; s++)
        for (size_t i = 0; i < p->n; i++) {
            if (!param_extent(&p->p[i], s).count) continue;
            char *prefix = s ? xprintf("optim.%s.", slots[s - 1]) : xstrdup("");
            add_tensor(h, prefix, &p->p[i], s, p->type, &at);
            free(prefix);
        }
    str_addc(h, '}');
    while (h->n % 8) str_addc(h, ' ');
}

static bool write_vector(FILE *f, const params *p, uint32_t which, const char *from)
{
    size_t size = dtype_size(p->type);
    for (size_t i = 0; i < p->n; i++) {
        extent x = param_extent(&p->p[i], which);
        if (fwrite(from + x.at * size, size, x.count, f) != x.count) return false;
    }
    return true;
}

static bool write_all(FILE *f, const str *header, params *p, uint32_t n_slots, err *e)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->n >> (8 * i));
    if (fwrite(length, 1, 8, f) != 8 || fwrite(header->s, 1, header->n, f) != header->n) return false;
    for (uint32_t s = 0; s <= n_slots; s++) {
        char *from = params_host(p, s, e);
        bool ok = from && write_vector(f, p, s, from);
        if (from) params_host_done(p, s, from, false);
        if (!ok) return false;
    }
    return fflush(f) == 0 && fsync(fileno(f)) == 0;
}

int checkpoint_write(const char *path, params *p, const char *const *slots, uint32_t n_slots, const checkpoint_meta *m,
                     err *e)
{
    str header = {0};
    char *tmp = xprintf("%s.%d.tmp", path, (int)getpid());
    build_header(&header, p, slots, n_slots, m);
    FILE *f = fopen(tmp, "wb");
    bool ok = f && write_all(f, &header, p, n_slots, e);
    int why = errno;
    if (f && fclose(f)) ok = false;
    if (ok && rename(tmp, path)) ok = false, why = errno;
    if (!ok) {
        unlink(tmp);
        if (!e->text[0]) fail(e, "%s: the checkpoint could not be written: %s", path, strerror(why));
    }
    str_free(&header);
    free(tmp);
    return ok ? 0 : -1;
}

/* ---- reading ---- */

typedef struct {
    const char *map;
    size_t size;
    const char *data;
    size_t n_data;
    cJSON *header;
    const char *path;
} opened;

static void close_file(opened *o)
{
    if (o->map) munmap((void *)o->map, o->size);
    cJSON_Delete(o->header);
}

/* A whole number in the header; -1 if x is anything else. */
static int64_t whole(const cJSON *x)
{
    double v = cJSON_IsNumber(x) ? x->valuedouble : -1;
    return v >= 0 && v <= 9007199254740992.0 && v == (double)(int64_t)v ? (int64_t)v : -1;
}

static size_t type_bytes(const char *name) /* 0: a type whose size is not checked */
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                 {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
    for (size_t i = 0; i < LENGTH(types); i++)
        if (same(types[i].name, name)) return types[i].bytes;
    return 0;
}

typedef struct {
    const char *name;
    int64_t from, to;
} place;

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->from != q->from ? (p->from > q->from) - (p->from < q->from) : (p->to > q->to) - (p->to < q->to);
}

/* Checks that a tensor's type, shape and offsets agree with each other and lie within the file. */
static int check_tensor(const opened *o, const cJSON *t, place *out, err *e)
{
    const cJSON *off = cJSON_GetObjectItemCaseSensitive(t, "data_offsets"),
                *shape = cJSON_GetObjectItemCaseSensitive(t, "shape"), *dim;
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t, "dtype"));
    double elements = 1;
    *out = (place){t->string, whole(cJSON_GetArrayItem(off, 0)), whole(cJSON_GetArrayItem(off, 1))};
    if (!type || !cJSON_IsArray(shape)) return fail(e, "%s: tensor '%s' has no dtype or no shape", o->path, t->string);
    cJSON_ArrayForEach(dim, shape)
    {
        if (whole(dim) < 0)
            return fail(e, "%s: tensor '%s' has a shape with values other than whole numbers", o->path, t->string);
        elements *= dim->valuedouble;
    }
    if (cJSON_GetArraySize(off) != 2 || out->from < 0 || out->to < out->from)
        return fail(e, "%s: tensor '%s' has no valid data_offsets", o->path, t->string);
    if ((size_t)out->to > o->n_data)
        return fail(e, "%s: tensor '%s' ends at byte %lld of %zu: the file is truncated", o->path, t->string,
                    (long long)out->to, o->n_data);
    size_t each = type_bytes(type);
    if (each && elements * (double)each != (double)(out->to - out->from))
        return fail(e, "%s: tensor '%s' has a shape of %.0f elements of %s and %lld bytes", o->path, t->string,
                    elements, type, (long long)(out->to - out->from));
    return 0;
}

/* Checks that tensors are contiguous, without overlaps or gaps, as the format requires. */
static int check_tensors(const opened *o, err *e)
{
    size_t n = 0, cap = (size_t)cJSON_GetArraySize(o->header);
    place *at = xcalloc(cap + 1, sizeof *at);
    const cJSON *t;
    int bad = 0;
    cJSON_ArrayForEach(t, o->header) if (!bad && !same(t->string, "__metadata__")) bad =
        check_tensor(o, t, &at[n++], e);
    if (!bad) qsort(at, n, sizeof *at, by_place);
    for (size_t i = 1; i < n && !bad; i++)
        if (at[i].from < at[i - 1].to)
            bad = fail(e, "%s: tensors '%s' and '%s' overlap", o->path, at[i - 1].name, at[i].name);
    free(at);
    return bad;
}

static int open_file(const char *path, opened *o, err *e)
{
    *o = (opened){.path = path};
    int fd = file_open_regular(path, &o->size, e);
    if (fd < 0) return -1;
    void *map = o->size > 8 ? mmap(NULL, o->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return fail(e, "%s: not a safetensors file: it has %zu bytes", path, o->size);
    o->map = map;
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n |= (uint64_t)(unsigned char)o->map[i] << (8 * i);
    if (n > o->size - 8) {
        close_file(o);
        return fail(e, "%s: not a safetensors file: a header of %llu bytes in a file of %zu", path,
                    (unsigned long long)n, o->size);
    }
    o->header = cJSON_ParseWithLength(o->map + 8, n);
    o->data = o->map + 8 + n;
    o->n_data = o->size - 8 - n;
    if (!cJSON_IsObject(o->header)) {
        close_file(o);
        return fail(e, "%s: not a safetensors file: its header is not JSON", path);
    }
    if (check_tensors(o, e)) {
        close_file(o);
        return -1;
    }
    return 0;
}

int checkpoint_read_meta(const char *path, checkpoint_meta *out, err *e)
{
    opened o;
    if (open_file(path, &o, e)) return -1;
    const cJSON *x;
    cJSON_ArrayForEach(x, cJSON_GetObjectItemCaseSensitive(o.header, "__metadata__")) if (cJSON_IsString(x))
        meta_write(out, x->string, x->valuestring);
    close_file(&o);
    return 0;
}

/* Returns one tensor's data after checking type, shape and offsets. */
static const void *find_tensor(const opened *o, const char *prefix, const param *p, uint32_t which, dtype type, err *e)
{
    extent x = param_extent(p, which);
    char *name = xprintf("%s%s", prefix, p->name);
    const cJSON *t = cJSON_GetObjectItemCaseSensitive(o->header, name), *dim;
    const cJSON *off = cJSON_GetObjectItemCaseSensitive(t, "data_offsets"),
                *kind = cJSON_GetObjectItemCaseSensitive(t, "dtype");
    const void *found = NULL;
    double elements = 1;
    bool shaped = true; /* leading axes of length 1 are not written */
    int axis = 4 - cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(t, "shape"));
    for (int i = 0; i < axis; i++) shaped &= x.dim[i] == 1;
    cJSON_ArrayForEach(dim, cJSON_GetObjectItemCaseSensitive(t, "shape"))
    {
        elements *= dim->valuedouble;
        shaped &= axis >= 0 && axis < 4 && dim->valuedouble == (double)x.dim[axis];
        axis++;
    }
    const char *wanted = type == F64 ? "F64" : "F32";
    if (!t)
        fail(e, "%s: no tensor '%s'", o->path, name);
    else if (!cJSON_IsString(kind) || !same(kind->valuestring, wanted))
        fail(e, "%s: tensor '%s' is not %s", o->path, name, wanted);
    else if (elements != (double)x.count)
        fail(e, "%s: tensor '%s' has %.0f elements, expected %zu: was the file made with other settings?", o->path,
             name, elements, x.count);
    else if (!shaped)
        fail(e, "%s: tensor '%s' does not have the shape [%lld,%lld,%lld,%lld], apart from leading ones", o->path, name,
             (long long)x.dim[0], (long long)x.dim[1], (long long)x.dim[2], (long long)x.dim[3]);
    else
        found = o->data + whole(cJSON_GetArrayItem(off, 0));
    free(name);
    return found;
}

int checkpoint_read(const char *path, params *p, const char *const *slots, uint32_t n_slots, err *e)
{
    opened o;
    if (open_file(path, &o, e)) return -1;
    size_t size = dtype_size(p->type);
    int bad = 0;
    for (uint32_t s = 0; s <= n_slots && !bad; s++) {
        char *prefix = s ? xprintf("optim.%s.", slots[s - 1]) : xstrdup(""), *to = params_host(p, s, e);
        bad = !to;
        for (size_t i = 0; i < p->n && !bad; i++) {
            extent x = param_extent(&p->p[i], s);
            if (!x.count) continue;
            const void *from = find_tensor(&o, prefix, &p->p[i], s, p->type, e);
            if (from)
                memcpy(to + x.at * size, from, x.count * size);
            else
                bad = 1;
        }
        if (to) params_host_done(p, s, to, true);
        free(prefix);
    }
    close_file(&o);
    return bad ? -1 : 0;
}

int checkpoint_read_matching(const char *path, params *p, bool embeddings, size_t *taken, str *left, err *e)
{
    opened o;
    *taken = 0;
    if (open_file(path, &o, e)) return -1;
    char *to = params_host(p, 0, e);
    for (size_t i = 0; i < p->n && to; i++) {
        extent x = param_extent(&p->p[i], 0);
        err ignored = {0};
        bool wanted = embeddings || p->p[i].kind != AB_EMBEDDING;
        const void *from = wanted && x.count ? find_tensor(&o, "", &p->p[i], 0, p->type, &ignored) : NULL;
        if (from)
            memcpy(to + x.at * dtype_size(p->type), from, x.count * dtype_size(p->type)), *taken += !p->p[i].buffer;
        else if (x.count)
            str_addf(left, "%s%s", left->n ? ", " : "", p->p[i].name);
    }
    if (to) params_host_done(p, 0, to, true);
    close_file(&o);
    return to ? 0 : -1;
}

int checkpoint_average(const char *const *paths, size_t n, params *p, err *e)
{
    double *sum = xcalloc(p->total, sizeof *sum);
    bool wide = p->type == F64;
    int bad = 0;
    for (size_t k = 0; k < n && !bad; k++) {
        bad = checkpoint_read(paths[k], p, NULL, 0, e);
        void *v = bad ? NULL : params_host(p, 0, e);
        if ((bad = !v)) break;
        for (size_t i = 0; i < p->total; i++) sum[i] += wide ? ((double *)v)[i] : (double)((float *)v)[i];
        bool last = k + 1 == n;
        for (size_t i = 0; i < p->total && last; i++) {
            if (wide)
                ((double *)v)[i] = sum[i] / (double)n;
            else
                ((float *)v)[i] = (float)(sum[i] / (double)n);
        }
        params_host_done(p, 0, v, last);
    }
    free(sum);
    return bad ? -1 : 0;
}
