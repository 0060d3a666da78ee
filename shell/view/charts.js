// charts.js - pictures: a treemap, points over time, a histogram (d3-hierarchy, d3-scale).

// Boxes as large as what they stand for. A node is {label, value, color, children() or null, open()}.
class Treemap {
  constructor({ label, root, unit = bytesText }) {
    Object.assign(this, { label, unit, path: [root] });
    this.where = h('nav', { class: 'crumbs', 'aria-label': `${label}: place` });
    this.boxes = h('div', { class: 'treemap', role: 'group', 'aria-label': label, keydown: (e) => this.key(e) });
    this.element = h('div', {}, this.where, this.boxes);
    new ResizeObserver(() => {
      if (this.boxes.clientWidth !== this.width) this.draw();
    }).observe(this.boxes);
  }
  get root() {
    return this.path.at(-1);
  }
  // The nodes that are large enough to be seen; the others are one.
  seen(node, least, depth) {
    const kids = (depth < 6 && node.children?.()) || [];
    const large = kids.filter((kid) => kid.value >= least).sort((a, b) => b.value - a.value).slice(0, 200);
    const sum = large.reduce((total, kid) => total + kid.value, 0);
    const children = large.map((kid) => this.seen(kid, least, depth + 1));
    if (children.length && node.value - sum > least / 2)
      children.push({ node: { label: `${kids.length - large.length} smaller`, value: node.value - sum, rest: true }, own: node.value - sum });
    return children.length ? { node, children } : { node, own: node.value };
  }
  draw() {
    const width = (this.width = this.boxes.clientWidth), height = Math.max(240, Math.min(440, width * 0.55));
    if (!width) return;
    this.boxes.style.height = `${height}px`;
    const least = (this.root.value / (width * height)) * 60;
    const tree = d3.hierarchy(this.seen(this.root, least, 0)).sum((d) => d.own ?? 0);
    d3.treemap().size([width, height]).paddingInner(1).paddingOuter((n) => (n.depth ? 2 : 0)).paddingTop((n) => (n.depth && n.x1 - n.x0 > 40 ? 18 : n.depth ? 2 : 0)).round(true)(tree);
    const boxes = tree.descendants().filter((n) => n.depth && n.x1 - n.x0 >= 2 && n.y1 - n.y0 >= 2).map((n) => this.box(n));
    this.boxes.replaceChildren(...boxes);
    if (boxes[0]) boxes[0].tabIndex = 0;
    this.where.hidden = this.path.length < 2;
    this.where.replaceChildren(...this.path.map((node, i) =>
      h('button', { type: 'button', 'aria-current': i === this.path.length - 1 ? 'true' : null, click: () => this.back(i) }, named(node.label))));
  }
  box(n) {
    const { node } = n.data, wide = n.x1 - n.x0, high = n.y1 - n.y0;
    const text = `${visible(node.label)}, ${this.unit(node.value)}, ${((node.value / this.root.value) * 100).toPrecision(2)} %`;
    const box = h('button', { type: 'button', tabindex: -1, title: text, 'aria-label': text,
      class: `${n.children ? 'group' : `leaf ${node.rest ? 'rest' : node.color}`}`, click: () => this.enter(node) });
    if (wide > 34 && high > 15)
      box.append(h('span', {}, named(node.label)), n.children || high < 34 ? '' : h('small', {}, this.unit(node.value)));
    Object.assign(box.style, { left: `${n.x0}px`, top: `${n.y0}px`, width: `${wide}px`, height: `${high}px` });
    return box;
  }
  enter(node) {
    node.open?.();
    if (node.rest || !node.children?.()?.length) return;
    this.path.push(node);
    this.redraw();
  }
  back(level) {
    this.path.length = level + 1;
    this.root.open?.();
    this.redraw();
  }
  redraw() {
    this.draw();
    this.boxes.firstChild?.focus({ preventScroll: true });
  }
  key(event) {
    const boxes = [...this.boxes.children], at = boxes.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: boxes.length - 1 }[event.key];
    if (event.key === 'Escape' && this.path.length > 1) this.back(this.path.length - 2);
    else if (to !== undefined && boxes[to]) {
      boxes[Math.max(0, at)].tabIndex = -1;
      boxes[to].tabIndex = 0;
      boxes[to].focus();
    } else return;
    event.preventDefault();
  }
}

// Points {time (ms), step, run, hint} over time, the points of a run joined by a line.
class StepsChart {
  constructor({ label, points, color }) {
    Object.assign(this, { points, color });
    this.svg = h('svg', { role: 'img', 'aria-label': label, class: 'steps' });
    this.element = h('div', { class: 'chart' }, this.svg);
    new ResizeObserver(() => {
      if (this.element.clientWidth !== this.width) this.draw();
    }).observe(this.element);
  }
  draw() {
    const width = (this.width = this.element.clientWidth), height = 240, edge = { left: 64, right: 16, top: 12, bottom: 28 };
    if (!width) return;
    const times = this.points.map((p) => p.time), steps = this.points.map((p) => p.step);
    const x = d3.scaleUtc([Math.min(...times), Math.max(...times)], [edge.left, width - edge.right]).nice();
    const y = d3.scaleLinear([Math.min(0, ...steps), Math.max(1, ...steps)], [height - edge.bottom, edge.top]).nice();
    const down = y.tickFormat(5, '~s'), across = x.ticks(Math.max(2, width / 110)), format = x.tickFormat();
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.replaceChildren(
      ...y.ticks(5).map((v) => h('g', {}, h('line', { class: 'rule', x1: edge.left, x2: width - edge.right, y1: y(v), y2: y(v) }),
        h('text', { x: edge.left - 8, y: y(v), dy: '0.35em', 'text-anchor': 'end' }, down(v)))),
      ...across.map((v) => h('text', { x: x(v), y: height - 8, 'text-anchor': 'middle' }, format(v))),
      ...this.runs().map(([run, points]) => h('g', { class: `run ${this.color(run)}` },
        h('polyline', { points: points.map((p) => `${x(p.time)},${y(p.step)}`).join(' ') }),
        points.map((p) => h('circle', { cx: x(p.time), cy: y(p.step), r: 3.5 }, h('title', {}, p.hint))))));
  }
  runs() {
    const runs = new Map();
    for (const p of this.points) runs.set(p.run, [...(runs.get(p.run) ?? []), p]);
    for (const points of runs.values()) points.sort((a, b) => a.step - b.step);
    return [...runs];
  }
}

// A histogram {edges, counts}; a small one has no axis.
function histogramPicture({ edges, counts }, { width = 360, height = 140, small = false } = {}) {
  const most = Math.max(...counts), bottom = small ? height : height - 20;
  const x = d3.scaleLinear([edges[0], edges.at(-1)], [1, width - 1]), y = d3.scaleLinear([0, most], [0, bottom - 2]);
  const inside = edges.at(-1) > edges[0];
  const bars = counts.map((count, i) => {
    const left = inside ? x(edges[i]) : 1, right = inside ? x(edges[i + 1]) : width - 1;
    const bar = h('rect', { x: left, width: Math.max(0.5, right - left - (small ? 0 : 0.5)), y: bottom - y(count), height: y(count) });
    if (!small) bar.append(h('title', {}, `${realText(edges[i])} to ${realText(edges[i + 1])}: ${whole.format(count)}`));
    return bar;
  });
  const axis = small ? [] : [[edges[0], 1, 'start'], [edges.at(-1), width - 1, 'end']].map(([v, at, anchor]) => h('text', { x: at, y: height - 5, 'text-anchor': anchor }, realText(v)));
  return h('svg', { class: 'histogram', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `Histogram from ${realText(edges[0])} to ${realText(edges.at(-1))}` }, bars, axis);
}
