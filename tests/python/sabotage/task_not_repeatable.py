import ablate as ab

opened = 0


@ab.task(doc="examples that change")
class task_not_repeatable:
    def examples(split, seed):
        global opened
        opened += 1
        return [("a source", f"line {i} of opening {opened}") for i in range(12)]
