// text.js - elements, and how names and numbers are written.

// An element: attributes, event handlers (functions) and children, which are elements or texts, never markup.
function h(tag, attributes = {}, ...children) {
  const element = document.createElementNS(
    SVG_TAGS.has(tag) ? 'http://www.w3.org/2000/svg' : 'http://www.w3.org/1999/xhtml', tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const SVG_TAGS = new Set(['svg', 'g', 'rect', 'circle', 'line', 'path', 'text', 'title', 'polyline']);

// What could be mistaken for something else: controls, marks of direction, blanks without width.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
function visible(text) {
  return text.replace(UNSEEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}
// A name, which cannot change the direction of the text around it.
function named(text) {
  return text === '' ? h('i', { class: 'empty' }, '""') : h('bdi', {}, visible(text));
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
function digits3(value) {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
function scaled(value, units, blank) {
  if (Number.isNaN(value) || value === null) return '–';
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return (unit ? digits3(value) : whole.format(value)) + (units[unit] && blank) + units[unit];
}
const bytesText = (n) => scaled(n, ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'], ' ');
const countText = (n) => scaled(n, ['', 'K', 'M', 'B', 'T', 'Q'], ' ');
const wholeText = (n) => (Number.isNaN(n) ? '–' : whole.format(n));
const plural = (n, word) => `${whole.format(n)} ${word}${n === 1 ? '' : 's'}`;
const shortReal = (n) => realText(n, 3);
function realText(n, digits = 5) {
  if (Number.isNaN(n)) return '–';
  const text = Number(n.toPrecision(digits));
  return Math.abs(text) >= 1e6 || (text && Math.abs(text) < 1e-3) ? text.toExponential().replace('e+', 'e') : String(text);
}

// A colour for each of a list of words; those after the eighth share the last.
const COLORS = 8;
function colorsOf(words) {
  const classes = new Map(words.map((word, i) => [word, `c${Math.min(i, COLORS)}`]));
  return (word) => classes.get(word) ?? `c${COLORS}`;
}
function legend(words, color, title, text = (word) => word ?? '?') {
  return h('ul', { class: 'legend', 'aria-label': title },
    words.slice(0, COLORS).map((word) => h('li', {}, h('span', { class: `chip ${color(word)}` }), named(text(word)))),
    words.length > COLORS ? h('li', {}, h('span', { class: `chip c${COLORS}` }), `${words.length - COLORS} more`) : null);
}
