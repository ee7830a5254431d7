def between(i, heads, first, last):
    return first + (last - first) * i / (heads - 1) if heads > 1 else (first + last) / 2
