/* attention.js - the view of attention weights: tokens in two columns with a line per pair, or a heat map per head. */
'use strict';
(function () {
  const SVG = 'http:' + '//www.w3.org/2000/svg', COLORS = 7, DASHES = ['', '5 3', '1.5 2.5', '6 2.5 1.5 2.5'];
  const maps = JSON.parse(document.getElementById('data').textContent);
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const view = document.getElementById('view'), form = document.getElementById('choose'), says = document.getElementById('says');
  const state = { part: maps[0].part, layer: maps[0].layer, on: new Set(), token: null, heat: false };

  const weights = new Map();
  function weight(m, head, i, j) {
    if (!weights.has(m)) {
      const all = new Float32Array(m.w.length / 2);
      for (let k = 0; k < all.length; k++) all[k] = (digits.indexOf(m.w[2 * k]) * 64 + digits.indexOf(m.w[2 * k + 1])) / 4095;
      weights.set(m, all);
    }
    return weights.get(m)[(head * m.q.length + i) * m.k.length + j];
  }
  const now = () => maps.find(m => m.part === state.part && m.layer === state.layer) || maps.find(m => m.part === state.part);

  function make(name, attributes, ...children) {
    const e = document.createElementNS(SVG, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    e.append(...children);
    return e;
  }
  const color = head => 5 + head % COLORS;

  /* Two columns: queries at the left, keys at the right. */
  function lines(m) {
    const step = 24, size = 15, half = Math.max(m.q.length, m.k.length) * step + 16, width = 360, left = 130, right = 230;
    const svg = make('svg', { viewBox: `0 0 ${width} ${half}`, width: 640, role: 'group', 'aria-label': `${m.part}, layer ${m.layer}` });
    const y = i => 20 + i * step;
    const drawn = make('g', { 'aria-hidden': 'true' });
    const heads = [...state.on].sort((a, b) => a - b);
    heads.forEach((head, n) => {
      const aside = (n - (heads.length - 1) / 2) * 12 / heads.length; /* keeps lines of several heads apart */
      for (let i = 0; i < m.q.length; i++) {
        if (state.token !== null && state.token !== i) continue;
        for (let j = 0; j < m.k.length; j++) {
          const w = weight(m, head, i, j);
          if (w < 0.01) continue;
          const a = { x1: left, y1: y(i) - 5 + aside, x2: right, y2: y(j) - 5 + aside, class: 'l' + color(head),
            opacity: Math.min(1, w).toFixed(3), 'stroke-width': (0.8 + 2.4 * w).toFixed(2) };
          if (head >= COLORS) a['stroke-dasharray'] = DASHES[Math.floor(head / COLORS) % DASHES.length];
          drawn.append(make('line', a, make('title', {}, `head ${head + 1}: ${m.q[i]} to ${m.k[j]} ${w.toFixed(3)}`)));
        }
      }
    });
    svg.append(drawn);
    m.q.forEach((token, i) => {
      const text = make('text', { x: left - 6, y: y(i), 'font-size': size, 'text-anchor': 'end', tabindex: 0, role: 'button',
        class: 'f1 token' + (state.token === i ? ' on' : ''), 'aria-pressed': state.token === i,
        opacity: state.token === null || state.token === i ? 1 : 0.5 }, token);
      text.addEventListener('click', () => pick(i));
      text.addEventListener('keydown', e => {
        if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); pick(i); }
        if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
          e.preventDefault();
          pick((i + (e.key === 'ArrowDown' ? 1 : m.q.length - 1)) % m.q.length, true);
        }
        if (e.key === 'Escape') pick(null);
      });
      svg.append(text);
    });
    m.k.forEach((token, j) => {
      svg.append(make('text', { x: right + 6, y: y(j), 'font-size': size, class: 'f1' }, token));
      if (state.token === null) return;
      heads.forEach((head, n) => { /* a square per head, the fuller the more weight */
        const side = Math.min(6, 40 / state.on.size);
        svg.append(make('rect', { x: width - 2 - side * (state.on.size - n), y: y(j) - 13, width: side, height: 15, class: 'f' + color(head),
          opacity: weight(m, head, state.token, j).toFixed(3) }));
      });
    });
    return svg;
  }

  /* One head: a row per query, a column per key. */
  function heat(m, head) {
    const cell = 14, left = 90, top = 90;
    const width = left + cell * m.k.length + 4, height = top + cell * m.q.length + 4;
    const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `heat map of head ${head + 1}, ${m.part}, layer ${m.layer}` });
    m.k.forEach((token, j) => svg.append(make('text', { class: 'f2', 'font-size': 11,
      transform: `translate(${left + cell * j + 11} ${top - 4}) rotate(-90)` }, token)));
    m.q.forEach((token, i) => {
      svg.append(make('text', { class: 'f1', 'font-size': 11, x: left - 4, y: top + cell * i + 11, 'text-anchor': 'end' }, token));
      m.k.forEach((key, j) => {
        const w = weight(m, head, i, j);
        svg.append(make('rect', { x: left + cell * j, y: top + cell * i, width: cell - 1, height: cell - 1, class: 'f' + color(head),
          opacity: (0.04 + 0.96 * w).toFixed(3) }, make('title', {}, `${token} to ${key}: ${w.toFixed(3)}`)));
      });
    });
    const figure = document.createElement('figure'), caption = document.createElement('figcaption');
    caption.textContent = 'head ' + (head + 1);
    figure.append(caption, svg);
    return figure;
  }

  /* Lists the strongest keys of the chosen token in words, with numbers; screen readers read it. */
  function say(m) {
    if (state.token === null) {
      says.textContent = 'All tokens. Choose one: click it, or Tab to it and press Enter; arrow keys move on, Escape shows all.';
      return;
    }
    const parts = [...state.on].map(head => {
      let best = 0;
      for (let j = 1; j < m.k.length; j++) if (weight(m, head, state.token, j) > weight(m, head, state.token, best)) best = j;
      return `head ${head + 1}: ${m.k[best]} ${weight(m, head, state.token, best).toFixed(2)}`;
    });
    says.textContent = `"${m.q[state.token]}" attends most to: ` + parts.join('; ');
  }

  function pick(i, focus) {
    state.token = state.token === i && !focus ? null : i;
    show();
    const tokens = view.querySelectorAll('.token');
    if (i !== null && tokens[i]) tokens[i].focus();
  }

  function show() {
    const m = now();
    if (state.token !== null && state.token >= m.q.length) state.token = null;
    view.replaceChildren();
    if (state.heat) {
      const box = document.createElement('div');
      box.className = 'maps';
      for (const head of [...state.on].sort((a, b) => a - b)) box.append(heat(m, head));
      view.append(box);
    } else {
      view.append(lines(m));
    }
    say(m);
    document.getElementById('source').textContent = m.influence
      ? `Influence ${m.influence}: the norm for each key, divided by the sum over the keys. The layer has no single softmax over keys.` : '';
    form.querySelectorAll('.head').forEach((b, head) => {
      b.setAttribute('aria-pressed', state.on.has(head));
      b.style.borderColor = `var(--s${head % COLORS})`;
      b.style.background = state.on.has(head) ? `var(--s${head % COLORS})` : '';
    });
  }

  function button(text, act, pressed) {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    if (pressed !== undefined) b.setAttribute('aria-pressed', pressed);
    b.addEventListener('click', () => act(b));
    return b;
  }
  function select(label, options, value, act) {
    const box = document.createElement('label'), s = document.createElement('select');
    box.append(label + ' ', s);
    options.forEach(o => s.append(new Option(o, o, o === value, o === value)));
    s.addEventListener('change', () => act(s.value));
    return box;
  }
  function group(label, ...children) {
    const f = document.createElement('fieldset'), l = document.createElement('legend');
    l.textContent = label;
    f.append(l, ...children);
    return f;
  }

  function controls() {
    const m = now(), all = [...new Set(maps.map(x => x.part))];
    state.layer = m.layer;
    if (!state.on.size || Math.max(...state.on) >= m.heads) state.on = new Set(Array.from({ length: m.heads }, (_, h) => h));
    const heads = Array.from({ length: m.heads }, (_, head) => {
      const b = button(String(head + 1), () => { if (!state.on.delete(head)) state.on.add(head); show(); }, true);
      b.className = 'head';
      b.setAttribute('aria-label', 'head ' + (head + 1));
      return b;
    });
    form.replaceChildren(
      select('part', all, state.part, v => { state.part = v; state.token = null; controls(); }),
      select('layer', maps.filter(x => x.part === state.part).map(x => String(x.layer)), String(state.layer),
        v => { state.layer = Number(v); controls(); }),
      group('heads', ...heads, button('all', () => { state.on = new Set(heads.map((_, h) => h)); show(); }),
        button('none', () => { state.on.clear(); show(); })),
      group('view', button('lines', () => { state.heat = false; controls(); }, !state.heat),
        button('heat maps', () => { state.heat = true; controls(); }, state.heat)),
      button('all tokens', () => pick(null)), button('save SVG', save));
    show();
  }

  /* Saves the drawing as a file, with colours in place of classes. */
  function save() {
    const copy = view.querySelector('svg').cloneNode(true), from = view.querySelectorAll('svg')[0].querySelectorAll('*');
    copy.querySelectorAll('*').forEach((e, i) => {
      const style = getComputedStyle(from[i]);
      if (/^(line|path)$/.test(e.tagName)) e.setAttribute('stroke', style.stroke);
      if (/^(text|rect)$/.test(e.tagName)) e.setAttribute('fill', style.fill);
      e.removeAttribute('class');
    });
    copy.setAttribute('xmlns', SVG);
    copy.setAttribute('font-family', 'Helvetica, Arial, sans-serif');
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: 'image/svg+xml' }));
    a.download = 'attention.svg';
    a.click();
    URL.revokeObjectURL(a.href);
  }
  controls();
})();
