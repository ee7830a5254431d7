/* read.c - parses PTX: a kernel and the functions that it calls become one program. Each variable of a function has a
 * fixed address in the frame, because nothing recurses. A function's body is read when a kernel first needs it. */
#include "reader.h"

/* ---- functions ---- */

static const declared *find_function(const module *m, const char *name, bool entry)
{
    for (int i = 0; i < m->n_functions; i++)
        if (m->function[i].entry == entry && !strcmp(m->function[i].name, name)) return &m->function[i];
    return NULL;
}
static int read_places(reader *r, meaning **to) /* parses (.param .., ..) and reserves addresses in the frame */
{
    int n = 0;
    if (!take(r, "(")) return 0;
    while (!take(r, ")")) {
        expect(r, ".param");
        declaration d = read_declaration(r);
        APPEND(*to, n, (meaning){strdup(d.name), -1, 1, in_frame(r, d.bytes, d.align), d.bytes});
        take(r, ",");
    }
    return n;
}
/* Returns the index of a called function. The first call reserves addresses for its parameters in the frame. */
int function_of_program(reader *r, const char *name)
{
    for (int k = 0; k < r->n_called; k++)
        if (!strcmp(r->called[k].name, name)) return k;
    const declared *d = find_function(r->m, name, false);
    if (!d) ptx_unknown("an unknown function", name);
    char word_[MOST_NAME];
    const char *here = r->s;
    inside f = {.name = d->name, .begin = -1, .return_slot = new_slot(r)};
    r->s = d->after;
    f.n_results = read_places(r, &f.result);
    next_word(r, word_);
    f.n_parameters = read_places(r, &f.parameter);
    r->s = here;
    APPEND(r->called, r->n_called, f);
    return r->n_called - 1;
}
static void read_parameters(reader *r)
{
    program *p = r->p;
    if (!take(r, "(")) return;
    while (!take(r, ")")) {
        expect(r, ".param");
        declaration d = read_declaration(r);
        size_t at = aligned(p->parameter_bytes, d.align);
        APPEND(p->parameter, p->n_parameters, (parameter){strdup(d.name), at, d.bytes});
        p->parameter_bytes = at + d.bytes;
        take(r, ",");
    }
}
static void read_limits(reader *r) /* directives between the parameters and the body */
{
    char w[MOST_NAME];
    for (skip_space(r); *r->s != '{'; skip_space(r)) {
        bool threads = !strcmp(next_word(r, w), ".maxntid");
        if (!at_number(r)) continue;
        int n = (int)next_number(r);
        while (take(r, ",")) n *= (int)next_number(r);
        if (threads) r->p->most_threads = n;
    }
}
static void read_function(reader *r)
{
    program *p = r->p;
    int first_label = r->n_labels, first_jump = r->n_jumps, k;
    r->first_start = p->n_start;
    read_limits(r);
    read_body(r);
    add(r, (instruction){.kind = EXIT, .predicate = -1});
    for (int i = first_jump; i < r->n_jumps; i++) {
        for (k = first_label; k < r->n_labels && strcmp(r->label[k].name, r->jump[i].name); k++) continue;
        if (k == r->n_labels) ptx_unknown("an unknown label", r->jump[i].name);
        p->code[r->jump[i].at].target = r->label[k].at;
    }
}
static void end_program(reader *r)
{
    program *p = r->p;
    p->shared_bytes = aligned(p->shared_bytes, 16), p->frame_bytes = aligned(p->frame_bytes, 64);
    p->label = calloc((size_t)p->n_code + 1, sizeof *p->label);
    for (int i = 0; i < r->n_labels; i++) p->label[r->label[i].at] = true;
    for (int i = 0; i < p->n_code; i++)
        if (p->code[i].kind == CALL) p->code[i].target = r->called[p->code[i].target].begin;
    for (int i = 0; i < p->n_start; i++)
        if (p->start[i].what == IS_CONSTANT && p->start[i].value == (word)1 << 40) p->start[i].value = p->shared_bytes;
}
program *ptx_program(module *m, const char *name)
{
    for (int i = 0; i < m->n_programs; i++)
        if (!strcmp(m->program[i]->name, name)) return m->program[i];
    const declared *d = find_function(m, name, true);
    if (!d) return NULL;
    program *p = calloc(1, sizeof *p);
    reader r = {.m = m, .p = p, .s = d->after, .self = -1};
    p->name = d->name;
    read_parameters(&r);
    read_function(&r);
    for (int k = 0; k < r.n_called; k++) {
        char w[MOST_NAME];
        inside *f = &r.called[k];
        r.self = k, r.n_names = 0, f->begin = p->n_code;
        for (int i = 0; i < f->n_results; i++) APPEND(r.name, r.n_names, f->result[i]);
        for (int i = 0; i < f->n_parameters; i++) APPEND(r.name, r.n_names, f->parameter[i]);
        r.s = find_function(m, f->name, false)->after;
        if (take(&r, "(")) r.s = strchr(r.s, ')') + 1;
        next_word(&r, w);
        if (take(&r, "(")) r.s = strchr(r.s, ')') + 1;
        read_function(&r);
    }
    end_program(&r);
    APPEND(m->program, m->n_programs, p);
    return p;
}

/* ---- modules ---- */

static void skip_body(reader *r)
{
    int depth = 0;
    do {
        r->s += strcspn(r->s, "{}");
        if (!*r->s) return;
        depth += *r->s++ == '{' ? 1 : -1;
    } while (depth);
}
static void add_function(reader *r, bool entry)
{
    char name[MOST_NAME];
    const char *after = r->s;
    if (take(r, "(")) r->s = strchr(r->s, ')') + 1;
    next_word(r, name);
    if (entry) after = r->s;
    r->s += strcspn(r->s, "{;");
    if (*r->s++ == ';') return; /* a declaration */
    r->s--;
    skip_body(r);
    APPEND(r->m->function, r->m->n_functions, (declared){strdup(name), after, entry});
}
static void add_variable(reader *r, bool shared)
{
    declaration d = read_declaration(r);
    char *data = shared ? NULL : memory_alloc(d.bytes);
    size_t size = d.align, n = 0;
    if (take(r, "=")) {
        bool list = take(r, "{");
        size = list ? 1 : d.bytes; /* the elements of a list are bytes */
        do {
            word v = next_number(r);
            memcpy(data + size * n++, &v, size);
        } while (list && take(r, ","));
        if (list) expect(r, "}");
        if (size * n != d.bytes) ptx_unknown("a list that is not of bytes", d.name);
    }
    expect(r, ";");
    APPEND(r->m->variable, r->m->n_variables, (variable){strdup(d.name), d.bytes, d.align, data});
}
module *ptx_module(const char *text)
{
    module *m = calloc(1, sizeof *m);
    reader r = {.m = m, .s = text};
    char w[MOST_NAME];
    while (*next_word(&r, w)) {
        if (!strcmp(w, ".entry") || !strcmp(w, ".func")) {
            add_function(&r, w[1] == 'e');
        } else if (!strcmp(w, ".shared") || !strcmp(w, ".global") || !strcmp(w, ".const")) {
            add_variable(&r, w[1] == 's');
        } else if (!strcmp(w, ".file")) {
            word n = next_number(&r);
            const char *name = strchr(r.s, '"') + 1, *end = strchr(name, '"');
            while (memchr(name, '/', (size_t)(end - name))) name = strchr(name, '/') + 1;
            if (n < 64) m->file[n] = strndup(name, (size_t)(end - name));
            r.s = end + strcspn(end, "\n");
        } else if (!strcmp(w, ".section")) {
            r.s += strcspn(r.s, "{");
            skip_body(&r);
        } else if (!strcmp(w, ".version") || !strcmp(w, ".target") || !strcmp(w, ".address_size")) {
            r.s += strcspn(r.s, "\n");
        } else if (strcmp(w, ".visible") && strcmp(w, ".weak") && strcmp(w, ".extern")) {
            ptx_unknown("an unknown declaration", w);
        }
    }
    return m;
}
