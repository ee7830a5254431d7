/* instructions.c - reads instructions, declarations and the body of a function. */
#include "reader.h"

/* ---- instructions ---- */

instruction *add(reader *r, instruction i)
{
    program *p = r->p;
    i.line = r->line, i.column = r->column, i.file = r->file;
    break_instruction(&i);
    APPEND(p->code, p->n_code, i);
    return &p->code[p->n_code - 1];
}

/* Modifiers that make no difference to this interpreter. */
static bool ignored(const char *part)
{
    static const char *const words[] = {"rn", "approx", "sync", "aligned", "uni", "cta", "shared::cta"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcmp(part, words[k])) return true;
    return false;
}
static bool has_part(const char *op, const char *part)
{
    size_t n = strlen(part);
    for (const char *at = strchr(op, '.'); at; at = strchr(at + 1, '.'))
        if (!strncmp(at + 1, part, n) && (!at[1 + n] || at[1 + n] == '.')) return true;
    return false;
}
static space space_of(const char *op)
{
    return has_part(op, "global")                                  ? GLOBAL
           : has_part(op, "shared") || has_part(op, "shared::cta") ? SHARED
           : has_part(op, "local")                                 ? LOCAL
           : has_part(op, "param")                                 ? PARAM
                                                                   : GENERIC;
}
static int mode_of(const char *op, const char *const modes[])
{
    for (int k = 0; modes[k]; k++)
        if (has_part(op, modes[k])) return k;
    ptx_unknown("an unknown mode", op);
}

static void read_access(reader *r, instruction *i, const char *op)
{
    const char *type = strrchr(op, '.') + 1;
    i->kind = *op == 'l' ? LOAD : STORE;
    i->space = space_of(op), i->bytes = (uint8_t)type_bytes(type), i->is_signed = *type == 's';
    if (i->kind == LOAD) operands(r, i, true), expect(r, ",");
    address(r, i);
    if (i->kind == STORE) expect(r, ","), operands(r, i, false);
}
static void read_compute(reader *r, instruction *i, const char *op)
{
    char name[MOST_NAME], copy[MOST_NAME], *rest = NULL;
    size_t n = 0;
    strcpy(copy, op);
    for (char *part = strtok_r(copy, ".", &rest); part; part = strtok_r(NULL, ".", &rest))
        if (!ignored(part)) n += (size_t)sprintf(name + n, "%s%s", n ? "." : "", part);
    i->kind = COMPUTE, i->compute = numbers_function(name);
    if (!i->compute) ptx_unknown("an unknown instruction", i->text);
    operands(r, i, true);
    while (take(r, ",")) operands(r, i, false);
}
static void copy_frame(reader *r, size_t from, size_t to, size_t bytes)
{
    add(r, (instruction){.kind = COPY_FRAME, .predicate = -1, .offset = (int64_t)from, .in = {(int)to, (int)bytes}});
}
/* call.uni (result), name, (arguments) */
static void read_call(reader *r, instruction i)
{
    meaning result = {0}, argument[32];
    char name[MOST_NAME], word_[MOST_NAME];
    int n = 0, none;
    if (take(r, "(")) {
        result = *find_name(r, next_word(r, word_), &none);
        expect(r, ")"), expect(r, ",");
    }
    next_word(r, name);
    if (take(r, ",")) {
        expect(r, "(");
        do argument[n++] = *find_name(r, next_word(r, word_), &none);
        while (take(r, ","));
        expect(r, ")");
    }
    int k = function_of_program(r, name);
    for (int a = 0; a < n; a++) copy_frame(r, argument[a].at, r->called[k].parameter[a].at, argument[a].bytes);
    i.kind = CALL, i.target = k, i.in[0] = r->called[k].return_slot;
    add(r, i);
    if (result.name) copy_frame(r, r->called[k].result[0].at, result.at, result.bytes);
}

static const char *const shuffles[] = {"bfly", "idx", "up", "down", NULL}, *const votes[] = {"any", "all", "ballot",
                                                                                             NULL};
void read_instruction(reader *r, const char *op, int predicate, bool unless, const char *text)
{
    instruction i = {.predicate = predicate, .unless = unless, .text = text, .target = -1};
    char word_[MOST_NAME];
    size_t stem = strcspn(op, ".");
#define IS(name) (stem == strlen(name) && !strncmp(op, name, stem))
    if (IS("call")) {
        read_call(r, i);
        expect(r, ";");
        return;
    }
    if (IS("ld") || IS("st")) {
        read_access(r, &i, op);
    } else if (IS("bra")) {
        i.kind = BRANCH;
        APPEND(r->jump, r->n_jumps, (place){strdup(next_word(r, word_)), r->p->n_code});
    } else if (IS("ret") || IS("exit")) {
        i.kind = IS("ret") && r->self >= 0 ? RETURN : EXIT;
        if (i.kind == RETURN) i.in[0] = r->called[r->self].return_slot;
    } else if (IS("mov")) {
        i.kind = MOVE, i.bytes = (uint8_t)type_bytes(strrchr(op, '.') + 1);
        operands(r, &i, true), expect(r, ","), operands(r, &i, false);
    } else if (IS("cvta")) {
        i.kind = TO_SPACE, i.space = space_of(op), i.from_generic = has_part(op, "to");
        operands(r, &i, true), expect(r, ","), operands(r, &i, false);
    } else if (IS("bar") && has_part(op, "warp")) {
        i.kind = WARP_BARRIER;
        operands(r, &i, false);
    } else if (IS("bar") || IS("barrier")) {
        i.kind = BARRIER;
        if (!at_number(r) || next_number(r)) ptx_unknown("a barrier with a number", text);
    } else if (IS("membar") || IS("fence")) {
        i.kind = FENCE;
    } else if (IS("shfl")) {
        i.kind = SHUFFLE, i.mode = (uint8_t)mode_of(op, shuffles);
        operands(r, &i, true);
        if (take(r, "|")) operands(r, &i, true);
        while (take(r, ",")) operands(r, &i, false);
    } else if (IS("vote")) {
        i.kind = VOTE, i.mode = (uint8_t)mode_of(op, votes);
        operands(r, &i, true);
        while (take(r, ",")) operands(r, &i, false);
    } else if (IS("mma")) {
        if (!strstr(op, "m16n8k16.row.col.f32.bf16.bf16.f32")) ptx_unknown("an unknown product", text);
        i.kind = PRODUCT;
        operands(r, &i, true);
        while (take(r, ",")) operands(r, &i, false);
    } else if (IS("atom")) {
        if (strcmp(op, "atom.global.inc.u32")) ptx_unknown("an unknown atomic", text);
        i.kind = ATOMIC_INC, i.space = GLOBAL, i.bytes = 4;
        operands(r, &i, true), expect(r, ","), address(r, &i), expect(r, ","), operands(r, &i, false);
    } else {
        read_compute(r, &i, op);
    }
    expect(r, ";");
    add(r, i);
#undef IS
}

/* ---- declarations ---- */

/* [.align n] .type name [count] after .param, .shared, .local, .global */
declaration read_declaration(reader *r)
{
    char type[MOST_NAME];
    declaration d = {.align = 0};
    while (strcmp(next_word(r, type), ".ptr") == 0 || type_bytes(type + 1) == 0)
        if (!strcmp(type, ".align")) d.align = next_number(r);
    size_t size = type_bytes(type + 1), count = 1;
    if (!d.align) d.align = size;
    do next_word(r, d.name);
    while (!strcmp(d.name, ".ptr") || !strcmp(d.name, ".global") || (!strcmp(d.name, ".align") && next_number(r)));
    while (take(r, "[")) {
        count = take(r, "]") ? 0 : count * next_number(r);
        if (count) expect(r, "]");
    }
    d.bytes = count * size;
    return d;
}
static void read_registers(reader *r)
{
    char name[MOST_NAME];
    next_word(r, name); /* the type */
    do {
        int count = 1;
        next_word(r, name);
        if (take(r, "<")) count = 1 + (int)next_number(r), expect(r, ">"); /* %r<1> declares %r0, not %r */
        add_name(r, name, r->p->n_slots, count, 0, 0);
        r->p->n_slots += count;
    } while (take(r, ","));
    expect(r, ";");
}
static void read_place(reader *r) /* .loc file line column[, function_name .., inlined_at ..] */
{
    unsigned file = (unsigned)next_number(r);
    r->file = file < 64 ? r->m->file[file] : NULL;
    r->line = (int)next_number(r), r->column = (int)next_number(r);
    r->s += strcspn(r->s, "\n");
}

void read_body(reader *r)
{
    int depth = 0, names_at[16];
    char w[MOST_NAME];
    do {
        skip_space(r);
        const char *text = r->s;
        next_word(r, w);
        if (!*w) ptx_unknown("a body without an end", text);
        if (*w == '{') {
            names_at[depth++] = r->n_names;
        } else if (*w == '}') {
            r->n_names = names_at[--depth];
        } else if (!strcmp(w, ".reg")) {
            read_registers(r);
        } else if (!strcmp(w, ".loc")) {
            read_place(r);
        } else if (!strcmp(w, ".pragma")) {
            r->s = strchr(r->s, ';') + 1;
        } else if (!strcmp(w, ".local") || !strcmp(w, ".param")) {
            declaration d = read_declaration(r);
            add_name(r, d.name, -1, 1, in_frame(r, d.bytes, d.align), d.bytes);
            expect(r, ";");
        } else if (!strcmp(w, ".shared")) {
            declaration d = read_declaration(r);
            size_t at = aligned(r->p->shared_bytes, d.align);
            r->p->shared_bytes = at + d.bytes;
            APPEND(r->shared, r->n_shared, (variable){strdup(d.name), d.bytes, at, NULL});
            expect(r, ";");
        } else if (*w == '@') {
            bool unless = take(r, "!");
            space s;
            int predicate = operand(r, &s);
            read_instruction(r, next_word(r, w), predicate, unless, text);
        } else if (take(r, ":")) {
            APPEND(r->label, r->n_labels, (place){strdup(w), r->p->n_code});
        } else {
            read_instruction(r, w, -1, false, text);
        }
    } while (depth);
}
