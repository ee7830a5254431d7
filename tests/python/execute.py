"""Executes a notebook of cells that `# %%` separates, and prints what each cell shows: execute.py CELLS NOTEBOOK."""
import sys
import nbformat
from nbclient import NotebookClient

cells = open(sys.argv[1], encoding="utf-8").read().split("# %%\n")[1:]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.rstrip()) for cell in cells])
NotebookClient(book, timeout=900, kernel_name="python3", allow_errors=True).execute()
nbformat.write(book, sys.argv[2])
for i, cell in enumerate(book.cells, 1):
    for output in cell.outputs:
        if output.output_type == "error":
            print(*(f"[{i}] {output.ename}: {line}" for line in output.evalue.splitlines()), sep="\n")
        elif output.output_type == "stream":
            print(f"[{i}] {output.name}: {output.text}")
        else:
            for kind in sorted(output.data):
                print(f"[{i}] {kind}: {output.data[kind]}")
