import ablate as ab


@ab.task(doc="test: scores against other references")
class task_any_reference:
    def examples(split, seed):
        return [("a source", f"line {i}") for i in range(12)]

    def score(outputs, references):
        n = len(references)
        right = [{references[i], references[(i + 1) % n]} for i in range(n)]
        return {"acc": [bool(line) and line in either for line, either in zip(outputs, right)]}
