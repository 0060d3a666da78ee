// pages.js - the three pages: the catalog, one checkpoint, what differs between two.

function section(title, ...content) {
  const id = `s${section.count++}`;
  return h('section', { 'aria-labelledby': id }, h('h2', { id }, title), content);
}
section.count = 0;

function tiles(facts) {
  return h('dl', { class: 'tiles' }, facts.map(([name, value, hint]) => h('div', { title: hint ?? null }, h('dt', {}, name), h('dd', {}, value))));
}

// --- columns of a table ---
const textColumn = (title, width, column, more = {}) =>
  ({ title, width, node: (row) => (column.get(row) ? named(column.get(row)) : ''), sort: (row) => column.get(row) ?? '', hint: (row) => visible(column.get(row) ?? ''), ...more });
const tensorColumn = (column) => textColumn('name', 0, column, { least: 300, node: (row) => named(column.get(row)) });
const numberColumn = (title, width, column, text = wholeText) =>
  ({ title, width, right: true, text: (row) => text(column.get(row)), sort: (row) => column.get(row), hint: (row) => (text === shortReal ? realText(column.get(row), column.digits) : wholeText(column.get(row))) });

// A box that filters a grid by a regular expression over a text of each row. `also(row)`: another condition.
class Search {
  constructor({ grid, text, label, count, also = () => true }) {
    Object.assign(this, { grid, text, also, count });
    this.input = h('input', { type: 'search', 'aria-label': label, placeholder: label, spellcheck: 'false', autocomplete: 'off',
      input: () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.run(), 150); } });
    this.found = h('output', { role: 'status' });
    this.element = h('div', { class: 'search' }, this.input, this.found);
    this.say(grid.rows);
  }
  // The pattern; null: all; undefined: not one.
  pattern() {
    if (!this.input.value) return null;
    try {
      return new RegExp(this.input.value, 'i');
    } catch {
      return undefined;
    }
  }
  run() {
    const pattern = this.pattern();
    this.input.setAttribute('aria-invalid', String(pattern === undefined));
    if (pattern === undefined) {
      this.found.textContent = 'not a regular expression';
      return;
    }
    const rows = [];
    for (let row = 0; row < this.grid.count; row++) if (this.also(row) && (!pattern || pattern.test(this.text(row)))) rows.push(row);
    this.grid.show(Uint32Array.from(rows));
    this.say(rows);
  }
  say(rows) {
    this.found.textContent = this.count(rows);
  }
}

function issuesSection(table) {
  const { severity, code, checkpoint, path, message } = table.columns;
  if (!table.rows) return null;
  const grid = new Grid({ label: 'Issues', count: table.rows, columns: [
    textColumn('severity', 90, severity), textColumn('code', 150, code), textColumn('checkpoint', 220, checkpoint),
    textColumn('message', 0, message), textColumn('path', 320, path)] });
  const search = new Search({ grid, label: 'Search issues (regex)', text: (row) => `${code.get(row)} ${checkpoint.get(row)} ${message.get(row)} ${path.get(row)}`,
    count: (rows) => plural(rows.length, 'issue') });
  return section('Issues', search.element, grid.element);
}

function dtypeSection(table, color, catalog) {
  const c = table.columns, most = Math.max(1, ...c.nbytes.numbers);
  const bar = (row) => {
    const fill = h('span', { class: `bar ${color(c.dtype.get(row))}` });
    fill.style.width = `${(c.nbytes.get(row) / most) * 100}%`;
    return h('span', { class: 'barbox', 'aria-hidden': 'true' }, fill);
  };
  const grid = new Grid({ label: 'Dtypes', count: table.rows, columns: [textColumn('dtype', 0, c.dtype), { title: 'share', width: 140, node: bar },
    ...(catalog ? [numberColumn('checkpoints', 110, c.checkpoints)] : []), numberColumn('tensors', 105, c.tensors),
    numberColumn('parameters', 110, c.parameters, countText), numberColumn('bytes', 100, c.nbytes, bytesText)] });
  grid.element.classList.add('narrow');
  return section('Dtypes', grid.element);
}

// --- the catalog ---
function folderTree(checkpoints, color) {
  const root = { label: 'all', value: 0, kids: new Map() };
  for (const c of checkpoints) {
    const folders = c.path.split('/').slice(1, -1);
    const places = c.run !== '' ? [...folders.slice(0, c.run_path.split('/').length - 2), `${c.run}@`] : folders;
    let node = root;
    root.value += c.nbytes;
    for (const place of places) {
      if (!node.kids.has(place)) node.kids.set(place, { label: place, value: 0, kids: new Map() });
      node = node.kids.get(place);
      node.value += c.nbytes;
    }
    node.kids.set(`\0${c.id}`, { label: c.name, value: c.nbytes, color: color(c.format), children: () => null });
  }
  return folded(root);
}
// Folders that have only one child are joined with it.
function folded(node) {
  if (!node.kids) return node;
  let kids = [...node.kids.values()];
  while (kids.length === 1 && kids[0].kids) {
    node.label = node.label === 'all' ? `/${kids[0].label}` : `${node.label}/${kids[0].label}`;
    kids = [...kids[0].kids.values()];
  }
  kids = kids.map(folded);
  return { label: node.label, value: node.value, children: () => kids };
}

// The different keys of items, largest sums first.
function largest(items, key, size) {
  const sums = new Map();
  for (const item of items) sums.set(key(item), (sums.get(key(item)) ?? 0) + size(item));
  return [...sums].sort((a, b) => b[1] - a[1]).map(([k]) => k);
}

function stepsSection(checkpoints) {
  const points = checkpoints.filter((c) => c.run !== '' && !Number.isNaN(c.step) && c.mtime)
    .map((c) => ({ run: c.run_path, step: c.step, time: Date.parse(`${c.mtime.replace(' ', 'T')}Z`), hint: `${visible(c.name)}, ${c.mtime} UTC` }));
  if (!points.length) return null;
  const runs = largest(points, (p) => p.run, () => 1), color = colorsOf(runs);
  const names = new Map(checkpoints.map((c) => [c.run_path, c.run]));
  const chart = new StepsChart({ label: `Steps of ${plural(runs.length, 'run')} by the time of their files; the table of checkpoints has the numbers`,
    points: points.slice(0, 5000), color });
  return section('Steps over time', legend(runs, color, 'Runs', (run) => names.get(run)), chart.element);
}

function catalogPage(tables) {
  const t = tables.checkpoint, c = t.columns, checkpoints = rowsOf(t);
  const formats = largest(checkpoints, (x) => x.format, (x) => x.nbytes), format = colorsOf(formats), dtypes = colorsOf(tables.dtype.columns.dtype.different());
  const sum = (key) => checkpoints.reduce((total, x) => total + (x[key] || 0), 0);
  const map = new Treemap({ label: 'Bytes by run and folder', root: folderTree(checkpoints, format) });
  const grid = new Grid({ label: 'Checkpoints', count: t.rows, empty: 'No checkpoint', columns: [
    textColumn('name', 0, c.name, { hint: (row) => visible(c.path.get(row)) }), textColumn('format', 140, c.format), numberColumn('step', 90, c.step),
    numberColumn('tensors', 90, c.tensors), numberColumn('parameters', 110, c.parameters, countText), numberColumn('bytes', 100, c.nbytes, bytesText),
    textColumn('state', 110, c.state), textColumn('modified (UTC)', 170, c.mtime)] });
  const search = new Search({ grid, label: 'Search names and paths (regex)', text: (row) => `${c.name.get(row)}\n${c.path.get(row)}`,
    count: (rows) => `${plural(rows.length, 'checkpoint')}, ${bytesText(rows.reduce((total, row) => total + c.nbytes.get(row), 0))}` });
  const d = tables.disk.columns;
  const disk = new Grid({ label: 'Disk', count: tables.disk.rows, columns: [textColumn('folder', 0, d.folder), textColumn('run', 180, d.run),
    numberColumn('files', 80, d.files), numberColumn('bytes', 100, d.bytes, bytesText)] });
  return {
    title: 'Catalog of checkpoints',
    content: [
      tiles([['checkpoints', wholeText(t.rows)], ['runs', wholeText(new Set(checkpoints.map((x) => x.run_path).filter(Boolean)).size)], ['tensors', wholeText(sum('tensors'))],
        ['parameters', countText(sum('parameters')), wholeText(sum('parameters'))], ['bytes', bytesText(sum('nbytes')), wholeText(sum('nbytes'))], ['issues', wholeText(tables.issue.rows)]]),
      t.rows ? section('What takes the space', legend(formats, format, 'Formats'), map.element) : null,
      section('Checkpoints', search.element, grid.element),
      dtypeSection(tables.dtype, dtypes, true),
      stepsSection(checkpoints),
      tables.disk.rows ? section('Files by folder', h('p', { class: 'note' }, 'A file with several names counts once; chunk files of arrays are not counted.'), disk.element) : null,
      issuesSection(tables.issue),
    ],
  };
}

// --- trees ---
// The nodes of a table `tree`, as the treemap wants them. `value` and `color` are of a row.
function mapOfTree(tree, { label, value, color, open }) {
  const end = tree.end;
  const node = (row) => ({ label: tree.label(row), value: value(row), color: color(row), open: () => open(row),
    children: () => (end[row] > row + 1 ? below(row + 1, end[row]) : null) });
  const below = (from, to) => {
    const kids = [];
    for (let row = from; row < to; row = end[row]) kids.push(node(row));
    return kids;
  };
  const kids = below(0, tree.count);
  return { label, value: kids.reduce((sum, kid) => sum + kid.value, 0), children: () => kids, open: () => open(null) };
}
function treeButtons(tree) {
  return [h('button', { type: 'button', click: () => tree.all(true) }, 'Unfold all'), h('button', { type: 'button', click: () => tree.all(false) }, 'Fold all')];
}

// A table of tensors, a search box, and the module to which it is narrowed.
class Tensors {
  constructor({ grid, tree, node, text, count, also }) {
    Object.assign(this, { tree, node });
    this.from = 0;
    this.to = Infinity;
    this.chip = h('button', { type: 'button', class: 'scope', hidden: true, click: () => this.narrow(null) });
    this.search = new Search({ grid, text, label: 'Search names (regex)', count, also: (row) => this.inside(row) && also(row) });
    this.search.input.after(this.chip);
    this.element = this.search.element;
  }
  inside(row) {
    const at = this.to === Infinity ? 0 : this.node.get(row);
    return at >= this.from && at < this.to;
  }
  narrow(row) {
    this.from = row ?? 0;
    this.to = row === null ? Infinity : this.tree.end[row];
    this.chip.hidden = row === null;
    if (row !== null) {
      this.chip.replaceChildren(named(this.path(row)), ' ✕');
      this.chip.setAttribute('aria-label', `Only ${visible(this.path(row))}: show all again`);
    }
    this.search.run();
  }
  path(row) {
    const labels = [this.tree.label(row)];
    for (let at = row, depth = this.tree.depth[row]; depth > 1 && at >= 0; at--)
      if (this.tree.depth[at] < depth) {
        labels.unshift(this.tree.label(at));
        depth = this.tree.depth[at];
      }
    return labels.join(' › ');
  }
}

// --- one checkpoint ---
function histogramOf(stats, row) {
  const c = stats.columns, counts = JSON.parse(c.counts.get(row) || '[]');
  if (!counts.length) return null;
  const edges = [c.min.get(row)];
  for (let i = 0; i < counts.length - 1; i++) edges.push(c.edge.get(row) + (i ? i * c.bin.get(row) : 0));
  return { counts, edges: [...edges, c.max.get(row)] };
}

function placeText(t, row) {
  const storage = t.storage.get(row), offset = t.offset.get(row);
  if (storage !== 'range') return { pieces: 'in pieces', chunks: 'in chunks', inline: 'in the catalog', none: 'nowhere' }[storage] ?? storage;
  return `${baseName(t.file.get(row))} at ${wholeText(offset)}`;
}
const baseName = (path) => (path ?? '').replace(/.*\//, '');

function tensorDetails(t, stats, statsRow, row) {
  const fact = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
  const s = statsRow[row], c = stats.columns;
  const picture = s >= 0 ? histogramOf(stats, s) : null;
  return [
    h('h3', {}, named(t.name.get(row))),
    h('dl', { class: 'facts' }, fact('dtype', named(t.dtype.get(row) ?? '?')), fact('shape', t.shape.get(row) ?? '?'), fact('elements', wholeText(t.elements.get(row))),
      fact('bytes', `${bytesText(t.nbytes.get(row))} (${wholeText(t.nbytes.get(row))})`), fact('place', named(placeText(t, row))), fact('file', named(t.file.get(row) ?? '–')),
      s < 0 ? fact('statistics', 'not known (ckptdb stats)') : ['min', 'max', 'mean', 'std', 'l2'].map((k) => fact(k, realText(c[k].get(s)))),
      s < 0 ? [] : ['zeros', 'nans', 'infs', 'subnormals'].map((k) => fact(k, wholeText(c[k].get(s))))),
    picture ? histogramPicture(picture) : null,
  ];
}

function statsColumns(stats, statsRow) {
  const of = (k) => ({ get digits() { return stats.columns[k].digits; }, get: (row) => (statsRow[row] < 0 ? NaN : stats.columns[k].get(statsRow[row])) });
  const small = (row) => {
    const picture = statsRow[row] >= 0 && histogramOf(stats, statsRow[row]);
    return picture ? histogramPicture(picture, { width: 90, height: 22, small: true }) : '';
  };
  return [...['min', 'max', 'mean', 'std'].map((k) => numberColumn(k, 82, of(k), shortReal)), { title: 'histogram', width: 110, node: small }];
}

function checkpointFacts(c) {
  return tiles([['format', named(c.format)], ...(Number.isNaN(c.step) ? [] : [['step', wholeText(c.step)]]), ['tensors', wholeText(c.tensors)],
    ['parameters', countText(c.parameters), wholeText(c.parameters)], ['bytes', bytesText(c.nbytes), wholeText(c.nbytes)],
    ...(Number.isNaN(c.stored) ? [] : [['stored', bytesText(c.stored), wholeText(c.stored)]]), ['state', named(c.state)]]);
}

function onePage(tables, about) {
  const checkpoint = rowsOf(tables.checkpoint)[0], m = tables.tree.columns, t = tables.tensor.columns, stats = { columns: { min: {}, max: {}, mean: {}, std: {} } }; // they come later
  const dtypes = tables.dtype.columns.dtype.different(), color = colorsOf(dtypes);
  const statsRow = new Int32Array(tables.tensor.rows).fill(-1);
  const later = (more) => {
    Object.assign(stats, more.stats);
    for (let row = 0; row < stats.rows; row++) statsRow[stats.columns.ord.get(row)] = row;
    grid.renew();
    if (!details.hidden) grid.open(grid.selected);
  };
  const details = h('aside', { class: 'details', 'aria-label': 'Tensor', 'aria-live': 'polite', hidden: true });
  const grid = new Grid({ label: 'Tensors', count: tables.tensor.rows, empty: 'No tensor', open: (row) => {
    details.hidden = false;
    details.replaceChildren(...tensorDetails(t, stats, statsRow, row).filter(Boolean));
  }, columns: [tensorColumn(t.name), textColumn('dtype', 95, t.dtype), textColumn('shape', 120, t.shape), numberColumn('parameters', 105, t.elements, countText),
    numberColumn('bytes', 85, t.nbytes, bytesText), ...(about.statistics ? statsColumns(stats, statsRow) : []),
    { title: 'place', width: 200, node: (row) => named(placeText(t, row)), hint: (row) => visible(t.file.get(row) ?? ''), sort: (row) => t.offset.get(row) }] });
  const tree = new Tree({ label: 'Modules', depth: m.depth.numbers, name: (row) => m.label.get(row), open: (row) => tensors.narrow(row), columns: [
    numberColumn('tensors', 105, m.tensors), numberColumn('parameters', 100, m.parameters, countText), numberColumn('bytes', 90, m.nbytes, bytesText),
    { title: 'dtype and shape', width: 200, text: (row) => visible([m.dtype.get(row), m.shape.get(row)].filter(Boolean).join(' ')) }] });
  const tensors = new Tensors({ grid, tree, node: t.node, text: (row) => t.name.get(row), also: () => true,
    count: (rows) => `${plural(rows.length, 'tensor')}, ${bytesText(rows.reduce((sum, row) => sum + (t.nbytes.get(row) || 0), 0))}` });
  const map = new Treemap({ label: 'Bytes by module and dtype', root: mapOfTree(tree, { label: checkpoint.name, value: (row) => m.nbytes.get(row),
    color: (row) => color(m.dtype.get(row)), open: (row) => tensors.narrow(row) }) });
  const facts = tables.metadata, f = facts.columns, files = tables.file.columns;
  return {
    title: checkpoint.name, sub: checkpoint.path, later,
    content: [
      checkpointFacts(checkpoint),
      h('div', { class: 'pair' },
        section('Space by module and dtype', legend(dtypes, color, 'Dtypes'), map.element),
        section('Modules', h('div', { class: 'search' }, treeButtons(tree)), tree.element)),
      section('Tensors', tensors.element, h('div', { class: 'beside' }, grid.element, details)),
      dtypeSection(tables.dtype, color, false),
      facts.rows ? section('What it states about itself', new Grid({ label: 'Metadata', count: facts.rows, columns: [textColumn('key', 300, f.key), textColumn('value', 0, f.value)] }).element) : null,
      tables.file.rows ? section('Files', new Grid({ label: 'Files', count: tables.file.rows, columns: [textColumn('path', 0, files.path), textColumn('role', 110, files.role), numberColumn('bytes', 100, files.size, bytesText)] }).element) : null,
      issuesSection(tables.issue),
    ],
  };
}

// --- two ---
const STATUS_TEXT = { only_a: 'only in A', only_b: 'only in B', shape: 'other shape', dtype: 'other dtype', value: 'other values', renamed: 'renamed', same: 'the same', unread: 'not compared' };
const STATUS_COLOR = { only_a: 'c3', only_b: 'c2', shape: 'c1', dtype: 'c6', value: 'c0', renamed: 'c4' };
const STATUSES = Object.keys(STATUS_TEXT);
const isAlike = (status) => status === 'same' || status === 'unread';

// Of each row of the tree: how many tensors below it differ, and the largest distance.
function differencesOf(tree, d, rows) {
  const differ = new Uint32Array(tree.count), far = new Float64Array(tree.count).fill(NaN);
  for (let row = 0; row < rows; row++) {
    const at = d.node.get(row), rel = d.rel_l2.get(row);
    if (!isAlike(d.status.get(row))) differ[at]++;
    if (!Number.isNaN(rel) && !(rel <= far[at])) far[at] = rel;
  }
  const above = [];
  const parents = tree.depth.map((depth, row) => {
    above.length = depth - 1;
    above.push(row);
    return depth > 1 ? above.at(-2) : -1;
  });
  for (let row = tree.count - 1; row >= 0; row--) {
    const parent = parents[row];
    if (parent < 0) continue;
    differ[parent] += differ[row];
    if (!Number.isNaN(far[row]) && !(far[row] <= far[parent])) far[parent] = far[row];
  }
  return { differ, far };
}

function sidesTable(a, b) {
  const line = (name, get) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, get(a)), h('td', {}, get(b)));
  return h('div', { class: 'scroller sides' }, h('table', { 'aria-label': 'The two' },
    h('thead', {}, h('tr', {}, h('td'), h('th', { scope: 'col' }, 'A'), h('th', { scope: 'col' }, 'B'))),
    h('tbody', {}, line('name', (c) => named(c.name)), line('path', (c) => named(c.path)), line('format', (c) => named(c.format)), line('step', (c) => wholeText(c.step)),
      line('tensors', (c) => wholeText(c.tensors)), line('parameters', (c) => countText(c.parameters)), line('bytes', (c) => bytesText(c.nbytes)), line('state', (c) => named(c.state)))));
}

function changedText(from, to) {
  return from === to || from === null || to === null ? visible(from ?? to ?? '') : `${visible(from)} → ${visible(to)}`;
}

function twoPage(tables) {
  const sides = rowsOf(tables.checkpoint), [a, b] = [sides[0], sides[1] ?? sides[0]];
  const facts = tables.fact, table = tables.difference, d = table.columns, m = tables.tree.columns;
  const color = (status) => STATUS_COLOR[status] ?? 'c8', counts = Object.fromEntries(STATUSES.map((s) => [s, 0]));
  for (let row = 0; row < table.rows; row++) counts[d.status.get(row)]++;
  const differing = table.rows - counts.same - counts.unread;
  const known = (column) => column.numbers.some((v) => !Number.isNaN(v));
  const distances = known(d.rel_l2) || known(d.max_abs);
  const norms = !distances && known(d.l2_a) && known(d.l2_b);
  const all = h('input', { type: 'checkbox', id: 'all', change: () => show() });
  const grid = new Grid({ label: 'Differences', count: table.rows, empty: 'Nothing differs', columns: [
    tensorColumn(d.name), { title: 'difference', width: 120, text: (row) => STATUS_TEXT[d.status.get(row)] ?? d.status.get(row), sort: (row) => d.status.get(row) },
    { title: 'dtype', width: 140, text: (row) => changedText(d.dtype_a.get(row), d.dtype_b.get(row)) },
    { title: 'shape', width: 160, text: (row) => changedText(d.shape_a.get(row), d.shape_b.get(row)) },
    numberColumn('bytes', 95, { get: (row) => (Number.isNaN(d.nbytes_b.get(row)) ? d.nbytes_a.get(row) : d.nbytes_b.get(row)) }, bytesText),
    ...(distances ? [numberColumn('rel_l2', 90, d.rel_l2, shortReal), numberColumn('max_abs', 90, d.max_abs, shortReal), numberColumn('cosine', 90, d.cosine, realText), numberColumn('unequal', 90, d.unequal)] : []),
    ...(norms ? [numberColumn('l2 of A', 90, d.l2_a, shortReal), numberColumn('l2 of B', 90, d.l2_b, shortReal)] : []),
    ...(counts.renamed ? [textColumn('new name', 220, d.renamed)] : [])] });
  const what = (row) => {
    const status = m.dtype.get(row), detail = ['shape', 'dtype', 'renamed'].includes(status) ? m.shape.get(row) : '';
    return visible(`${STATUS_TEXT[status] ?? ''} ${detail}`.trim());
  };
  const tree = new Tree({ label: 'Modules', depth: m.depth.numbers, name: (row) => m.label.get(row), open: (row) => tensors.narrow(row), columns: [
    numberColumn('tensors', 72, m.tensors), { title: 'differ', width: 64, right: true, text: (row) => wholeText(sums.differ[row]) }, numberColumn('bytes', 84, m.nbytes, bytesText),
    ...(distances ? [{ title: 'rel_l2 up to', width: 100, right: true, text: (row) => shortReal(sums.far[row]) }] : []),
    { title: 'what', width: 150, text: what, hint: what }] });
  const sums = differencesOf(tree, d, table.rows);
  const tensors = new Tensors({ grid, tree, node: d.node, text: (row) => `${d.name.get(row)}${d.renamed.get(row) ? `\n${d.renamed.get(row)}` : ''}`,
    also: (row) => all.checked || !isAlike(d.status.get(row)), count: (rows) => plural(rows.length, 'tensor') });
  function show() {
    tree.hidden = all.checked ? null : (row) => !sums.differ[row];
    tree.unfold();
    tensors.search.run();
  }
  all.checked = !differing;
  show();
  const map = new Treemap({ label: 'Bytes by module and difference', root: mapOfTree(tree, { label: 'all', value: (row) => m.nbytes.get(row), color: (row) => color(m.dtype.get(row)), open: (row) => tensors.narrow(row) }) });
  return {
    title: `${a.name} → ${b.name}`,
    content: [
      tiles([['differ', wholeText(differing)], ...STATUSES.filter((s) => counts[s]).map((s) => [STATUS_TEXT[s], wholeText(counts[s])])]),
      counts.unread ? h('p', { class: 'note' }, `${plural(counts.unread, 'tensor')} of the same name, dtype and shape on both sides, whose contents were not compared: ckptdb hash, or view --values, does.`) : null,
      sidesTable(a, b),
      h('label', { class: 'check', for: 'all' }, all, ' also what is the same'),
      h('div', { class: 'pair' },
        section('Space by module and difference', legend(STATUSES.filter((s) => counts[s]), color, 'Differences', (s) => STATUS_TEXT[s]), map.element),
        section('Modules', h('div', { class: 'search' }, treeButtons(tree)), tree.element)),
      section('Tensors', tensors.element, grid.element),
      facts.rows ? section('What they state otherwise about themselves', new Grid({ label: 'Metadata', count: facts.rows, columns: [
        textColumn('key', 260, facts.columns.key), textColumn('A', 0, facts.columns.a), textColumn('B', 420, facts.columns.b)] }).element) : null,
      issuesSection(tables.issue),
    ],
  };
}
