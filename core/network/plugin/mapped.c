#include "network/plugin/open.h"
#include <link.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uintptr_t at;
    unsigned flags;
    size_t left;
} search;

static int in_object(struct dl_phdr_info *object, size_t size, void *self)
{
    search *s = self;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum && !s->left; i++) {
        const ElfW(Phdr) *h = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && (h->p_flags & s->flags) == s->flags && s->at >= from && s->at < from + h->p_memsz)
            s->left = from + h->p_memsz - s->at;
    }
    return s->left != 0;
}

static bool anywhere;
void mapped_anywhere(bool yes) { anywhere = yes; }

size_t mapped_from(const void *p, bool writable)
{
    if (anywhere) return p ? PTRDIFF_MAX : 0;
    search s = {(uintptr_t)p, writable ? PF_R | PF_W : PF_R, 0};
    dl_iterate_phdr(in_object, &s);
    return s.left;
}

bool mapped_text(const char *s)
{
    size_t n = mapped_from(s, false);
    return n && strnlen(s, n) < n;
}

/* Searches for NULL up to the segment's end, that is beyond the object's end, which AddressSanitizer would report. */
__attribute__((no_sanitize("address"))) bool mapped_list(const void *list)
{
    const void *const *p = list;
    for (size_t n = mapped_from(p, false) / sizeof *p; n; n--, p++)
        if (!*p) return true;
    return false;
}
