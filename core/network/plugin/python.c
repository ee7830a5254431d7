/* python.c - loads Python at run time. Its module `ablate` describes plugins given as Python files; their functions run
 * while a graph is traced, not in its steps. */
#include "network/plugin/python.h"
#include "network/plugin/attention_context.h"
#include "base/cleanup.h"
#include "base/shell.h"
#include <dlfcn.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

/* ---- services for Python's module ---- */

static const char *error_of(const ab_ctx *c) { return c->error.text; }
static void clear_error(ab_ctx *c) { c->error.text[0] = 0; }
static void shape_of(ab_ctx *c, ab_t x, int64_t dim[4])
{
    if (tape_owns(c, x)) memcpy(dim, tape_at(c, x)->dim, sizeof tape_at(c, x)->dim);
}
static void log_text(const char *text) { log_line(LOG_INFO, "%s", text); }

#define SIGNATURE(result, name, parameters, ...) #result " " #name #parameters,
#define SIZE(NAME, name, ...)                    sizeof(ab_##name##_plugin),
#define SIZE_OF(name)                            sizeof(ab_##name),

#define STRUCTURES(X) X(plugin) X(option) X(info) X(parameter) X(run_plan) X(metric) X(likelihood) X(vocabs) X(op)
static const char *const functions[] = {AB_HOST(SIGNATURE, SIGNATURE, SIGNATURE) NULL};
static const struct { /* `ServicesTable` in python/ablate/_native.py has the same fields */
    const ab_host *host;
    const char *const *functions; /* the host's functions as C prototypes, in order; ends with NULL */
    const char *(*error)(const ab_ctx *c);
    void (*clear)(ab_ctx *c);
    void (*shape)(ab_ctx *c, ab_t x, int64_t dim[4]);
    void (*log)(const char *text);
    size_t minor, sizes[9], kinds[AB_KIND_COUNT - 1]; /* sizes: of STRUCTURES */
} services = {&host_table,           functions,       error_of, clear_error, shape_of, log_text, AB_ABI_MINOR,
              {STRUCTURES(SIZE_OF)}, {AB_KINDS(SIZE)}};

/* ---- Python ---- */

#define PYTHON(X) /* a part of CPython's stable ABI */                                                                 \
    X(wchar_t *, Py_DecodeLocale, (const char *text, size_t *n))                                                       \
    X(void, Py_SetProgramName, (const wchar_t *name))                                                                  \
    X(void, Py_InitializeEx, (int signals))                                                                            \
    X(void *, PyEval_SaveThread, (void))                                                                               \
    X(int, PyGILState_Ensure, (void))                                                                                  \
    X(void, PyGILState_Release, (int before))                                                                          \
    X(void *, PySys_GetObject, (const char *name))                                                                     \
    X(void *, PyUnicode_DecodeFSDefault, (const char *text))                                                           \
    X(int, PyList_Insert, (void *list, ssize_t at, void *item))                                                        \
    X(void *, PyImport_ImportModule, (const char *name))                                                               \
    X(void *, PyObject_CallMethod, (void *object, const char *name, const char *format, ...))                          \
    X(void, PyErr_Print, (void))

#define FUNCTION(result, name, parameters) result(*name) parameters;
static struct {
    PYTHON(FUNCTION)
    char *found;  /* two lines: the interpreter, its library; NULL: not searched yet */
    void *module; /* ablate._bridge; NULL: Python has not started */
    char hash_seed[16];
} python = {.hash_seed = "0"};

/* ---- finding Python ---- */

/* Workers inherit their host's search result in this variable. */
static const char remembered[] = "ABLATE_PYTHON_FOUND";

char *plugin_python_folder(err *e)
{
    static const char *const folders[] = {"../python/ablate", "source/python/ablate", "../lib/ablate/python/ablate"};
    char *found = file_of_program(folders, LENGTH(folders)), *full = found ? realpath(found, NULL) : NULL;
    free(found);
    if (!full) return fail(e, "Python's module is missing: found no lib/ablate/python/ablate beside bin/ablate"), NULL;
    *strrchr(full, '/') = 0;
    return full;
}

int python_find(err *e)
{
    const char *asked = getenv("ABLATE_PYTHON"), *name = asked && *asked ? asked : "python3";
    CLEANUP(str_free) str script = {0}, said = {0};
    if (!python.found && getenv(remembered)) python.found = xstrdup(getenv(remembered));
    if (python.found) return 0;
    AUTOFREE char *folder = plugin_python_folder(e), *path = folder ? path_join(folder, "ablate/_find.py") : NULL;
    if (!path || file_read(path, &script, e)) return -1;
    int status = shell_run("exec \"${ABLATE_PYTHON:-python3}\" -I -S -", script.s, script.n, &said, true);
    if (!status && *str_text(&said) == '!') return fail(e, "a plugin in Python needs %s", said.s + 1);
    if (status || !strchr(str_text(&said), '\n'))
        return fail(e,
                    "a plugin in Python needs Python 3.9 or newer, and '%s' does not run; install it (Debian: apt "
                    "install python3 libpython3-dev), or name another by ABLATE_PYTHON=/path/to/python3",
                    name);
    return setenv(remembered, python.found = xstrdup(said.s), 1);
}

/* ---- starting it ---- */

static int open_library(const char *path, err *e)
{
    void *so = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE); /* global, because modules in C need its symbols */
    if (!so) return fail(e, "%s: cannot be opened: %s", path, dlerror());
#define FIND(result, name, parameters)                                                                                 \
    if (!(python.name = (result(*) parameters)dlsym(so, #name))) return fail(e, "%s: has no " #name, path);
    __extension__({PYTHON(FIND)});
    return 0;
}

static void *import_bridge(err *e)
{
    char *full = plugin_python_folder(e);
    void *module = NULL;
    if (full) {
        python.PyList_Insert(python.PySys_GetObject("path"), 0, python.PyUnicode_DecodeFSDefault(full));
        module = python.PyImport_ImportModule("ablate._bridge");
        if (module && !python.PyObject_CallMethod(module, "start", "K", (unsigned long long)(uintptr_t)&services))
            module = NULL;
        if (!module) python.PyErr_Print();
    }
    if (full && !module) fail(e, "%s/ablate: cannot be imported; the traceback is above", full);
    free(full);
    return module;
}

static int start(err *e)
{
    if (python.module) return 0;
    if (python_find(e)) return -1;
    char *found = xstrdup(python.found), *library = found, *program = strsep(&library, "\n");
    if (open_library(library ? library : "", e)) return free(found), -1;
    char *locale = xstrdup(setlocale(LC_CTYPE, NULL));
    setenv("PYTHONHASHSEED", python.hash_seed, 1);
    python.Py_SetProgramName(python.Py_DecodeLocale(program, NULL)); /* so that Python finds this program's modules */
    python.Py_InitializeEx(0);
    setlocale(LC_CTYPE, locale);
    python.module = import_bridge(e);
    python.PyEval_SaveThread();
    free(locale);
    free(found);
    return python.module ? 0 : -1;
}

/* Calls a function of ablate._bridge, which writes its result to `to`. */
static void call_bridge(const char *function, const char *text, void *to, size_t size)
{
    int before = python.PyGILState_Ensure();
    if (!python.PyObject_CallMethod(python.module, function, "yKK", text, (unsigned long long)(uintptr_t)to,
                                    (unsigned long long)size))
        python.PyErr_Print();
    python.PyGILState_Release(before);
}

const ab_plugin *python_describe(const char *path, err *e)
{
    if (start(e)) return NULL;
    python_answer *answer = xcalloc(1, sizeof *answer);
    call_bridge("describe", path, answer, sizeof *answer);
    const ab_plugin *p = answer->plugin;
    if (!p) fail(e, "%s", *answer->error ? answer->error : "a plugin in Python cannot be described");
    free(answer);
    return p;
}

void python_reword(const char *path, char *message, size_t size)
{
    if (python.module && *message && has_suffix(path, ".py")) call_bridge("reword", message, message, size);
}

void python_differ(int number)
{
    snprintf(python.hash_seed, sizeof python.hash_seed, "%d", number);
    if (python.module) call_bridge("disturb", python.hash_seed, NULL, 0);
}
