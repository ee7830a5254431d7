/* words.c - splits PTX into words, numbers, names and operands. */
#include "reader.h"
#include <ctype.h>

void ptx_unknown(const char *what, const char *text)
{
    fprintf(stderr, "ptx: %s: %.*s\n", what, (int)strcspn(text, "\n"), text);
    exit(70);
}
void *grown(void *p, int n, size_t size) /* returns p, with space for element n */
{
    if (n & (n - 1)) return p;
    p = realloc(p, (size_t)(n ? 2 * n : 1) * size);
    if (!p) abort();
    return p;
}
void skip_space(reader *r)
{
    for (;;) {
        while (isspace((unsigned char)*r->s)) r->s++;
        if (r->s[0] != '/' || r->s[1] != '/') return;
        r->s += strcspn(r->s, "\n");
    }
}
static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%' || c == ':';
}
/* Reads the next name with its dots, or the next character. The colon behind a label is not read. */
const char *next_word(reader *r, char word[MOST_NAME])
{
    skip_space(r);
    size_t n = 0;
    while (in_name(r->s[n]) && !(r->s[n] == ':' && r->s[n + 1] != ':' && !(n && r->s[n - 1] == ':'))) n++;
    if (!n && *r->s) n = 1;
    if (n >= MOST_NAME) ptx_unknown("a long name", r->s);
    memcpy(word, r->s, n);
    word[n] = 0;
    r->s += n;
    return word;
}
bool take(reader *r, const char *what)
{
    char word[MOST_NAME];
    const char *before = r->s;
    if (!strcmp(next_word(r, word), what)) return true;
    r->s = before;
    return false;
}
void expect(reader *r, const char *what)
{
    const char *before = r->s;
    if (!take(r, what)) fprintf(stderr, "ptx: expected %s\n", what), ptx_unknown("found", before);
}
bool at_number(reader *r)
{
    skip_space(r);
    return isdigit((unsigned char)*r->s) || (*r->s == '-' && isdigit((unsigned char)r->s[1]));
}
word next_number(reader *r)
{
    skip_space(r);
    bool minus = *r->s == '-';
    r->s += minus;
    char kind_of = r->s[0] == '0' ? (char)tolower((unsigned char)r->s[1]) : 0, *end;
    if (kind_of == 'f' || kind_of == 'd') {
        char digits[17] = {0};
        size_t n = kind_of == 'f' ? 8 : 16;
        memcpy(digits, r->s + 2, n);
        r->s += 2 + n;
        return strtoull(digits, NULL, 16) ^ (word)minus << (4 * n - 1);
    }
    word v = strtoull(r->s, &end, 0);
    r->s = end + (*end == 'U');
    return minus ? 0 - v : v;
}
size_t type_bytes(const char *type) /* size of a type such as "f32"; 0 if it is no type, such as ".v4" */
{
    if (!strcmp(type, "pred")) return 1;
    const char *digits = type + strcspn(type, "0123456789");
    bool known = strchr("busf", *type) && digits == type + 1;
    return known ? (size_t)atoi(digits) / 8 : 0;
}

/* ---- slots ---- */

int new_slot(reader *r) { return r->p->n_slots++; }
int start_slot(reader *r, initial what, word value)
{
    program *p = r->p;
    for (int i = r->first_start; i < p->n_start; i++)
        if (p->start[i].what == what && p->start[i].value == value) return p->start[i].slot;
    int slot = new_slot(r);
    APPEND(p->start, p->n_start, (start_value){slot, what, value});
    return slot;
}
void add_name(reader *r, const char *name, int slot, int count, size_t at, size_t bytes)
{
    APPEND(r->name, r->n_names, (meaning){strdup(name), slot, count, at, bytes});
}
const meaning *find_name(const reader *r, const char *name, int *index)
{
    size_t stem = strlen(name);
    while (stem && isdigit((unsigned char)name[stem - 1])) stem--;
    *index = 0;
    for (int i = r->n_names - 1; i >= 0; i--) {
        const meaning *m = &r->name[i];
        if (m->count == 1 && !strcmp(m->name, name)) return m;
        if (m->count == 1 || strncmp(m->name, name, stem) || m->name[stem] || !name[stem]) continue;
        *index = atoi(name + stem);
        if (*index < m->count) return m;
    }
    return NULL;
}
size_t aligned(size_t at, size_t to) { return to ? (at + to - 1) / to * to : at; }
size_t in_frame(reader *r, size_t bytes, size_t align)
{
    size_t at = aligned(r->p->frame_bytes, align < 16 ? 16 : align);
    r->p->frame_bytes = at + bytes;
    return at;
}

/* Returns the slot that holds a variable's address, and sets *s to its space. */
static int variable_slot(reader *r, const char *name, space *s)
{
    for (int i = 0; i < r->p->n_parameters && r->self < 0; i++)
        if (!strcmp(r->p->parameter[i].name, name)) {
            *s = PARAM;
            return start_slot(r, IS_PARAMETER, r->p->parameter[i].at);
        }
    for (int i = 0; i < r->n_shared; i++)
        if (!strcmp(r->shared[i].name, name)) {
            *s = SHARED;
            return start_slot(r, IS_CONSTANT, r->shared[i].align);
        }
    for (int i = 0; i < r->m->n_variables; i++) {
        const variable *v = &r->m->variable[i];
        if (strcmp(v->name, name)) continue;
        *s = v->data ? GLOBAL : SHARED;
        if (v->data) return start_slot(r, IS_CONSTANT, (word)(uintptr_t)v->data);
        /* dynamic shared memory, whose size is not given, comes after all other variables (end_program) */
        size_t at = v->bytes ? aligned(r->p->shared_bytes, v->align) : (size_t)1 << 40;
        if (v->bytes) r->p->shared_bytes = at + v->bytes;
        APPEND(r->shared, r->n_shared, (variable){v->name, v->bytes, at, NULL});
        return start_slot(r, IS_CONSTANT, at);
    }
    ptx_unknown("an unknown name", name);
}

static const char *const specials[] = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                       "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                       "%nctaid.y", "%nctaid.z", "%laneid"};

int operand(reader *r, space *s)
{
    char name[MOST_NAME];
    int index;
    if (at_number(r)) return start_slot(r, IS_CONSTANT, next_number(r));
    next_word(r, name);
    if (!strcmp(name, "_")) return -1;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (!strcmp(specials[i], name)) return start_slot(r, IS_SPECIAL, i);
    const meaning *m = find_name(r, name, &index);
    if (m && m->slot >= 0) return m->slot + index;
    if (m) *s = LOCAL;
    return m ? start_slot(r, IS_LOCAL, m->at) : variable_slot(r, name, s);
}
/* Parses one operand or a list in braces. */
void operands(reader *r, instruction *i, bool to)
{
    bool list = take(r, "{");
    space s = GENERIC;
    do {
        int slot = operand(r, &s);
        if (to ? i->n_to == MOST_TO : i->n_in == MOST_IN) ptx_unknown("too many operands", i->text);
        if (to)
            i->to[i->n_to++] = slot;
        else
            i->in[i->n_in++] = slot;
    } while (list && take(r, ","));
    if (list) expect(r, "}");
}
void address(reader *r, instruction *i)
{
    space s = i->space;
    expect(r, "[");
    i->in[i->n_in++] = operand(r, &s);
    if (i->space == PARAM) i->space = s;
    if (take(r, "+")) i->offset = (int64_t)next_number(r);
    expect(r, "]");
}
