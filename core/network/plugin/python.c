/* python.c - loads Python at run time. Its module `ablate` describes plugins given as Python files; their functions run
 * while a graph is traced, not in its steps. */
#include "network/plugin/python.h"
#include "network/plugin/attention_context.h"
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
static const char *const functions[] = {AB_HOST(SIGNATURE, SIGNATURE, SIGNATURE) NULL};
static const struct { /* `ServicesTable` in python/ablate/_native.py has the same fields */
    const ab_host *host;
    const char *const *functions; /* the host's functions as C prototypes, in order; ends with NULL */
    const char *(*error)(const ab_ctx *c);
    void (*clear)(ab_ctx *c);
    void (*shape)(ab_ctx *c, ab_t x, int64_t dim[4]);
    void (*log)(const char *text);
    size_t minor, answer, plugin, option, info, parameter, plan, metric, likelihood, vocabs, op,
        kinds[AB_KIND_COUNT - 1];
} services = {&host_table,
              functions,
              error_of,
              clear_error,
              shape_of,
              log_text,
              AB_ABI_MINOR,
              sizeof(python_answer),
              sizeof(ab_plugin),
              sizeof(ab_option),
              sizeof(ab_info),
              sizeof(ab_parameter),
              sizeof(ab_run_plan),
              sizeof(ab_metric),
              sizeof(ab_likelihood),
              sizeof(ab_vocabs),
              sizeof(ab_op),
              {AB_KINDS(SIZE)}};

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
    char *found;  /* three lines: the interpreter, its library, "1"; NULL: not searched yet */
    void *module; /* ablate._bridge; NULL: Python has not started */
} python;

/* ---- finding Python ---- */

/* Prints the interpreter, then its library, whose folder differs between distributions and package managers; a
 * relocated Python still names the folder in which it was built. */
static const char search[] =
    "import os, sys, sysconfig\n"
    "name = 'libpython%d.%d%s.so' % (*sys.version_info[:2], getattr(sys, 'abiflags', ''))\n"
    "places = [sysconfig.get_config_var('LIBDIR') or '', sys.base_prefix + '/lib', sys.base_exec_prefix + '/lib']\n"
    "multiarch = sysconfig.get_config_var('MULTIARCH')\n"
    "places += [place + '/' + multiarch for place in places if multiarch]\n"
    "files = [os.path.join(place, name + end) for place in places for end in ('.1.0', '')]\n"
    "print(sys.executable)\n"
    "print(next((file for file in files if os.path.exists(file)), '-' + name))\n"
    "print(sys.version_info >= (3, 9) and 1 or '-' + sys.version.split()[0])\n";

/* Workers inherit their host's search result in this variable. */
static const char remembered[] = "ABLATE_PYTHON_FOUND";

int python_find(err *e)
{
    const char *asked = getenv("ABLATE_PYTHON"), *name = asked && *asked ? asked : "python3";
    str said = {0};
    if (!python.found && getenv(remembered)) python.found = xstrdup(getenv(remembered));
    if (python.found) return 0;
    int status = shell_run("exec \"${ABLATE_PYTHON:-python3}\" -I -S -", search, strlen(search), &said, true);
    char *copy = xstrdup(str_text(&said)), *rest = copy, *program = strsep(&rest, "\n"),
         *library = rest ? strsep(&rest, "\n") : NULL, *old = rest ? strsep(&rest, "\n") : NULL;
    int rc = 0;
    if (status || !old)
        rc = fail(e,
                  "a plugin in Python needs Python 3.9 or newer, and '%s' does not run; install it (Debian: apt "
                  "install python3 libpython3-dev), or name another by ABLATE_PYTHON=/path/to/python3",
                  name);
    else if (*old == '-')
        rc = fail(e,
                  "a plugin in Python needs Python 3.9 or newer, and %s is %s; name another by "
                  "ABLATE_PYTHON=/path/to/python3",
                  program, old + 1);
    else if (*library == '-')
        rc = fail(e,
                  "a plugin in Python needs Python's library, and %s has no %s; install it (Debian: apt install "
                  "libpython3-dev), or name a Python with this library, such as conda's or uv's, by "
                  "ABLATE_PYTHON=/path/to/python3",
                  program, library + 1);
    else
        setenv(remembered, python.found = xstrdup(said.s), 1);
    free(copy);
    str_free(&said);
    return rc;
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

char *plugin_python_folder(err *e)
{
    static const char *const folders[] = {"../python/ablate", "source/python/ablate", "../lib/ablate/python/ablate"};
    char *found = file_of_program(folders, LENGTH(folders)), *full = found ? realpath(found, NULL) : NULL;
    free(found);
    if (!full) return fail(e, "Python's module is missing: found no lib/ablate/python/ablate beside bin/ablate"), NULL;
    *strrchr(full, '/') = 0;
    return full;
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
    if (library) library[strcspn(library, "\n")] = 0;
    if (open_library(library ? library : "", e)) return free(found), -1;
    char *locale = xstrdup(setlocale(LC_CTYPE, NULL));
    python.Py_SetProgramName(python.Py_DecodeLocale(program, NULL)); /* so that Python finds this program's modules */
    python.Py_InitializeEx(0);
    setlocale(LC_CTYPE, locale);
    python.module = import_bridge(e);
    python.PyEval_SaveThread();
    free(locale);
    free(found);
    return python.module ? 0 : -1;
}

const ab_plugin *python_describe(const char *path, err *e)
{
    if (start(e)) return NULL;
    python_answer *answer = xcalloc(1, sizeof *answer);
    int before = python.PyGILState_Ensure();
    if (!python.PyObject_CallMethod(python.module, "describe", "sK", path, (unsigned long long)(uintptr_t)answer))
        python.PyErr_Print();
    python.PyGILState_Release(before);
    const ab_plugin *p = answer->plugin;
    if (!p) fail(e, "%s", *answer->error ? answer->error : "a plugin in Python cannot be described");
    free(answer);
    return p;
}
