// grid.js - tables of any length: only the rows in sight are elements. A column is
//
//   {title, width (px; 0: the rest, at least `least`), text(row) or node(row), sort(row): number or text, right, hint(row)}
//
// and a tree is a grid whose rows have depths.

const ROW_HEIGHT = 28;
const HEIGHT_MAX = 15e6; // pixels: browsers draw nothing that is much taller
const ROWS_PRINTED = 300;
const grids = [];

class Grid {
  constructor({ label, columns, count, open = null, empty = 'Nothing' }) {
    Object.assign(this, { columns, count, open, empty });
    this.id = `grid${grids.push(this)}`;
    this.rows = Grid.all(count);
    this.active = 0; // position in rows
    this.sorted = null; // {column, down}
    this.first = 0;
    this.body = h('tbody');
    this.table = h('table', { role: this.role(), 'aria-label': label, tabindex: 0, keydown: (e) => this.key(e) },
      h('colgroup', {}, columns.map((c) => this.col(c))),
      h('thead', {}, h('tr', { 'aria-rowindex': 1 }, columns.map((c) => this.head(c)))), this.body);
    this.table.style.minWidth = `${columns.reduce((sum, c) => sum + (c.width || Math.min(c.least ?? 220, innerWidth * 0.55)), 0)}px`;
    this.note = h('p', { class: 'note printed', hidden: true });
    this.scroller = h('div', { class: 'scroller', scroll: () => this.draw() }, this.table);
    this.element = h('div', { class: 'grid' }, this.scroller, this.note);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }
  static all(count) {
    const rows = new Uint32Array(count);
    for (let i = 0; i < count; i++) rows[i] = i;
    return rows;
  }
  role() {
    return 'grid';
  }
  col(column) {
    const col = h('col');
    if (column.width) col.style.width = `${column.width}px`;
    return col;
  }
  head(column) {
    const cell = h('th', { scope: 'col', class: column.right ? 'right' : null });
    if (column.sort) {
      cell.setAttribute('aria-sort', 'none');
      column.button = h('button', { type: 'button', click: () => this.sortBy(column) }, column.title);
      cell.append(column.button);
    } else cell.append(column.title);
    column.cell = cell;
    return cell;
  }

  // --- which rows, in which order ---
  show(rows) {
    this.rows = this.given = rows;
    this.active = 0;
    this.scroller.scrollTop = 0;
    this.renew();
  }
  renew() {
    if (this.sorted) this.arrange();
    this.draw();
  }
  sortBy(column, down = this.sorted?.column === column ? (this.sorted.down === this.firstDown(column) ? !this.sorted.down : null) : this.firstDown(column)) {
    if (this.sorted) this.sorted.column.cell.setAttribute('aria-sort', 'none');
    this.sorted = down === null ? null : { column, down };
    if (this.sorted) column.cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    this.given ??= this.rows;
    this.arrange();
    this.active = 0;
    this.scroller.scrollTop = 0;
    this.draw();
  }
  firstDown(column) {
    return column.right === true; // of numbers the largest first
  }
  arrange() {
    if (!this.sorted) {
      this.rows = this.given;
      return;
    }
    const { column, down } = this.sorted, sign = down ? -1 : 1;
    const keys = new Array(this.count), numbers = new Float64Array(this.count);
    let texts = false;
    for (const row of this.given) {
      const key = column.sort(row);
      if (typeof key === 'string') texts = true;
      keys[row] = key ?? '';
      numbers[row] = key === null || Number.isNaN(key) ? sign * Infinity : key; // what is not known comes last
    }
    const order = texts
      ? (a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b)
      : (a, b) => (numbers[a] === numbers[b] ? a - b : (numbers[a] - numbers[b]) * sign);
    this.rows = this.given.slice().sort(order);
  }

  // --- drawing ---
  get tall() {
    return this.rows.length * ROW_HEIGHT;
  }
  place() { // {first, last, above, below}: rows to be drawn, and the space around them
    const total = this.rows.length, view = this.scroller.clientHeight || 400, height = Math.min(this.tall, HEIGHT_MAX);
    const fit = Math.ceil(view / ROW_HEIGHT) + 1, top = this.scroller.scrollTop;
    if (this.tall <= HEIGHT_MAX) {
      const first = Math.max(0, Math.min(Math.floor(top / ROW_HEIGHT) - 4, total - fit));
      const last = Math.min(total, first + fit + 8);
      return { first, last, above: first * ROW_HEIGHT, below: height - last * ROW_HEIGHT };
    }
    const share = Math.min(1, top / (height + ROW_HEIGHT - view)), shown = Math.floor(view / ROW_HEIGHT) - 1;
    const first = Math.round(share * (total - shown)), last = Math.min(total, first + fit);
    const above = Math.min(top, height - (last - first) * ROW_HEIGHT);
    return { first, last, above, below: Math.max(0, height - above - (last - first) * ROW_HEIGHT) };
  }
  draw() {
    if (!this.table.isConnected) return; // it is drawn when it gets its size
    const p = this.printing ? { first: 0, last: Math.min(this.rows.length, ROWS_PRINTED), above: 0, below: 0 } : this.place();
    const lines = [];
    this.table.setAttribute('aria-rowcount', this.rows.length + 1);
    lines.push(this.space(p.above));
    for (let i = p.first; i < p.last; i++) lines.push(this.line(i));
    if (!this.rows.length) lines.push(h('tr', {}, h('td', { colspan: this.columns.length, class: 'empty' }, this.empty)));
    lines.push(this.space(p.below));
    this.body.replaceChildren(...lines.filter(Boolean));
    this.first = p.first;
    const drawn = this.rows.length && this.active >= p.first && this.active < p.last;
    if (drawn) this.table.setAttribute('aria-activedescendant', this.lineId(this.active));
    else this.table.removeAttribute('aria-activedescendant');
  }
  space(height) {
    if (height <= 0) return null;
    const cell = h('td', { colspan: this.columns.length });
    cell.style.height = `${height}px`;
    return h('tr', { 'aria-hidden': 'true', class: 'space' }, cell);
  }
  lineId(position) {
    return `${this.id}-${position}`;
  }
  line(position) {
    const row = this.rows[position];
    return h('tr', { id: this.lineId(position), 'aria-rowindex': position + 2, class: position === this.active ? 'active' : null,
      'aria-selected': this.open ? String(row === this.selected) : null, click: (e) => this.click(e, position), ...this.lineFacts(row) },
    this.columns.map((c) => h('td', { class: c.right ? 'right' : null, title: c.hint ? c.hint(row) : null }, c.node ? c.node(row) : c.text(row))));
  }
  lineFacts() {
    return {};
  }

  // --- moving ---
  click(event, position) {
    this.active = position;
    this.choose();
  }
  choose() {
    this.selected = this.rows[this.active];
    this.open?.(this.selected);
    this.draw();
  }
  moveTo(position) {
    this.active = Math.max(0, Math.min(this.rows.length - 1, position));
    const view = this.scroller.clientHeight - this.table.tHead.offsetHeight, s = this.scroller;
    if (this.tall <= HEIGHT_MAX) {
      const top = this.active * ROW_HEIGHT;
      if (top < s.scrollTop) s.scrollTop = top;
      else if (top + ROW_HEIGHT > s.scrollTop + view) s.scrollTop = top + ROW_HEIGHT - view;
    } else {
      const p = this.place(), shown = Math.floor(s.clientHeight / ROW_HEIGHT) - 1;
      const first = this.active < p.first ? this.active : this.active >= p.first + shown - 1 ? this.active - shown + 2 : p.first;
      if (first !== p.first) s.scrollTop = (first / (this.rows.length - shown)) * (HEIGHT_MAX + ROW_HEIGHT - s.clientHeight);
    }
    this.draw();
  }
  key(event) {
    if (event.target !== this.table || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
    if (event.key in steps) this.moveTo(this.active + steps[event.key]);
    else if ((event.key === 'Enter' || event.key === ' ') && this.open && this.rows.length) this.choose();
    else return;
    event.preventDefault();
  }
  print(on) {
    this.printing = on;
    for (const c of this.columns) c.cell.replaceChildren(on || !c.button ? c.title : c.button); // no page but the first would have buttons
    this.note.hidden = !on || this.rows.length <= ROWS_PRINTED;
    this.note.textContent = `The first ${ROWS_PRINTED} of ${whole.format(this.rows.length)} rows.`;
    this.draw();
  }
}

// Rows whose depth[row] is at least 1, parents before children.
class Tree extends Grid {
  constructor({ depth, name, columns, ...rest }) {
    super({ ...rest, count: depth.length, columns: [{ title: 'module', width: 0, node: (row) => this.name(row), hint: (row) => visible(name(row)) }, ...columns.map((c) => ({ ...c, sort: null }))] });
    this.depth = depth;
    this.label = name;
    this.unfolded = new Uint8Array(depth.length);
    this.hidden = null; // (row): not shown, nor what is below
    this.end = Tree.ends(depth);
    this.unfoldSome();
  }
  // Of each row, the first behind what is below it.
  static ends(depth) {
    const end = new Uint32Array(depth.length), above = [];
    for (let row = 0; row <= depth.length; row++) {
      while (above.length && (row === depth.length || depth[above.at(-1)] >= depth[row])) end[above.pop()] = row;
      above.push(row);
    }
    return end;
  }
  role() {
    return 'treegrid';
  }
  // As many levels as fit.
  unfoldSome() {
    for (let level = 1; level < 9; level++) {
      let more = 0;
      for (let row = 0; row < this.count && more < 60; row++) more += this.depth[row] <= level + 1;
      if (more >= 60) break;
      for (let row = 0; row < this.count; row++) if (this.depth[row] === level && this.end[row] > row + 1) this.unfolded[row] = 1;
    }
    this.unfold();
  }
  unfold() {
    const rows = [];
    for (let row = 0; row < this.count; ) {
      const gone = this.hidden?.(row);
      if (!gone) rows.push(row);
      row = gone || !this.unfolded[row] ? this.end[row] : row + 1;
    }
    this.rows = Uint32Array.from(rows);
    this.active = Math.max(0, Math.min(this.active, rows.length - 1));
    this.draw();
  }
  all(on) {
    this.unfolded.fill(on ? 1 : 0);
    this.active = 0;
    this.unfold();
  }
  toggle(position) {
    this.active = position;
    this.unfolded[this.rows[position]] ^= 1;
    this.unfold();
  }
  isModule(row) {
    return this.end[row] > row + 1;
  }
  name(row) {
    const mark = h('span', { class: 'twist', 'aria-hidden': 'true' }, this.isModule(row) ? (this.unfolded[row] ? '▾' : '▸') : '');
    const cell = h('span', { class: 'module' }, mark, named(this.label(row)));
    cell.style.paddingLeft = `${(Math.min(this.depth[row], 12) - 1) * 16}px`;
    return cell;
  }
  lineFacts(row) {
    return { 'aria-level': this.depth[row], 'aria-expanded': this.isModule(row) ? String(Boolean(this.unfolded[row])) : null };
  }
  click(event, position) {
    if (event.target.classList.contains('twist')) this.toggle(position);
    else super.click(event, position);
  }
  key(event) {
    const row = this.rows[this.active], right = event.key === 'ArrowRight', left = event.key === 'ArrowLeft';
    if (event.target !== this.table || row === undefined || (!right && !left)) {
      super.key(event);
      return;
    }
    event.preventDefault();
    if (this.isModule(row) && Boolean(this.unfolded[row]) === left) this.toggle(this.active);
    else if (right && this.isModule(row)) this.moveTo(this.active + 1);
    else if (left) {
      let above = this.active;
      while (above > 0 && this.depth[this.rows[above]] >= this.depth[row]) above--;
      this.moveTo(above);
    }
  }
}

addEventListener('beforeprint', () => grids.forEach((grid) => grid.print(true)));
addEventListener('afterprint', () => grids.forEach((grid) => grid.print(false)));
