/* page.js - the script of a report: tables sort and are lists on a phone, metrics are chosen, a row stands out in all
 * figures, a watched page follows its sweep. Without it the page shows everything. */
'use strict';
(function () {
  const chosen = { metric: null, sort: new Map() };

  /* "-1.5 +- 0.2" as -1.5; words come after all numbers, empty cells last. */
  function value(cell) {
    const text = cell.textContent.trim().replace('\u2212', '-').replace(/^[<+]/, '');
    const number = parseFloat(text);
    return Number.isNaN(number) ? (text ? text : null) : number;
  }
  function compare(a, b) {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return typeof a === 'number' ? a - b : a.localeCompare(b);
  }
  function sort(table, column, down) {
    const body = table.tBodies[0], rows = [...body.rows];
    rows.forEach((row, i) => { if (row.dataset.ord === undefined) row.dataset.ord = i; });
    rows.sort((p, q) => {
      if (column < 0) return p.dataset.ord - q.dataset.ord;
      const a = value(p.cells[column]), b = value(q.cells[column]);
      const order = compare(a, b);
      return (down && a !== null && b !== null ? -order : order) || p.dataset.ord - q.dataset.ord;
    });
    body.append(...rows);
    [...table.tHead.rows[0].cells].forEach((th, i) => {
      if (i === column) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    });
  }
  function sortable(table, index) {
    const headings = [...table.tHead.rows[0].cells].map(th => th.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((td, i) => { td.dataset.heading = headings[i]; });
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener('click', () => {
        const now = th.getAttribute('aria-sort');
        /* ascending, descending, the table's own order */
        const next = now === null ? [column, false] : now === 'ascending' ? [column, true] : [-1, false];
        chosen.sort.set(index, next);
        sort(table, ...next);
      });
    });
    if (chosen.sort.has(index)) sort(table, ...chosen.sort.get(index));
  }

  function choose(root) {
    const box = root.querySelector('.choose'), blocks = [...root.querySelectorAll('.metric')];
    if (!box || blocks.length < 2) return;
    const show = name => {
      chosen.metric = name;
      blocks.forEach(b => { b.hidden = b.dataset.metric !== name; });
      [...box.children].forEach(b => b.setAttribute('aria-pressed', b.textContent === name));
    };
    blocks.forEach(b => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = b.dataset.metric;
      button.addEventListener('click', () => show(b.dataset.metric));
      box.append(button);
    });
    show(blocks.some(b => b.dataset.metric === chosen.metric) ? chosen.metric : blocks[0].dataset.metric);
  }

  /* The row that is pointed at or has the focus stands out wherever it is drawn. */
  function light(name) {
    document.body.classList.toggle('some', name !== null);
    document.querySelectorAll('[data-row]').forEach(e => e.classList.toggle('hot', name !== null && e.dataset.row === name));
  }
  function row_of(target) {
    const e = target.closest ? target.closest('[data-row]') : null;
    return e ? e.dataset.row : null;
  }
  document.addEventListener('pointerover', e => light(row_of(e.target)));
  document.addEventListener('pointerleave', () => light(null));
  document.addEventListener('focusin', e => light(row_of(e.target)));
  document.addEventListener('focusout', () => light(null));

  function start() {
    document.documentElement.classList.add('js');
    const main = document.querySelector('main');
    main.querySelectorAll('table').forEach(sortable);
    choose(main);
  }

  /* A page of `ablate report --watch` reloads itself, until its last one no longer asks for it. */
  function follow() {
    const key = 'open ' + location.pathname, all = [...document.querySelectorAll('details')];
    try {
      JSON.parse(sessionStorage.getItem(key) || '[]').forEach((open, i) => { if (all[i]) all[i].open = open; });
    } catch (e) { /* some browsers store nothing for file: pages */ }
    setTimeout(() => {
      try { sessionStorage.setItem(key, JSON.stringify(all.map(d => d.open))); } catch (e) { /* as above */ }
      location.reload();
    }, 5000);
  }
  start();
  if ('live' in document.body.dataset) follow();
})();
