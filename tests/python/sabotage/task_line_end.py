# fails: open
# says: example 1 of train: found a line end or a NUL in 'two\nlines 0', expected one line
import ablate as ab


@ab.task(doc="examples with line ends")
class task_line_end:
    def examples(split, seed):
        return [("a source", f"two\nlines {i}") for i in range(12)]
