// data.js - the tables that the page carries (page.h says how).

const utf8 = new TextDecoder();

// Bytes that are read from the front.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  varint() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  text() {
    return utf8.decode(this.take(this.varint()));
  }
}

// Names, in blocks that are decoded when one is asked for.
class NameColumn {
  constructor() {
    this.blocks = [];
  }
  add(bytes, rows) {
    this.blocks.push({ bytes, rows, names: null });
  }
  finish() {}
  get(row) {
    const block = this.blocks[row >> 10];
    block.names ??= NameColumn.decode(block);
    return block.names[row & 1023];
  }
  // All of a block are put one after the other, each ended by a zero, which no name has.
  static decode({ bytes, rows }) {
    const reader = new Reader(bytes);
    let out = new Uint8Array(bytes.length * 2 + 1024);
    let begin = 0, end = 0;
    for (let i = 0; i < rows; i++) {
      const same = reader.varint(), rest = reader.take(reader.varint());
      const next = end + (i ? 1 : 0), length = same + rest.length;
      if (next + length + 1 > out.length) {
        const larger = new Uint8Array((next + length) * 2 + 1024);
        larger.set(out);
        out = larger;
      }
      out.copyWithin(next, begin, begin + same);
      out.set(rest, next + same);
      begin = next;
      end = next + length;
      out[end] = 0;
    }
    return utf8.decode(out.subarray(0, end)).split('\0');
  }
}

// Words, as codes: 0 is NULL. They are decoded when they are asked for.
class WordColumn {
  constructor() {
    this.words = [null];
    this.places = [0]; // in the data
    this.blocks = [];
    this.rows = 0;
  }
  add(bytes, rows) {
    const reader = new Reader(bytes), codes = new Uint32Array(rows);
    for (let i = 0; i < rows; i++) {
      const code = reader.varint();
      codes[i] = code > 1 ? code - 1 : code && this.push(bytes, reader);
    }
    this.data = bytes.buffer;
    this.blocks.push(codes);
    this.rows += rows;
  }
  push(bytes, reader) {
    this.places.push(bytes.byteOffset + reader.at);
    reader.take(reader.varint());
    return this.words.push(undefined) - 1;
  }
  finish() {
    this.codes = new Uint32Array(this.rows);
    let at = 0;
    for (const codes of this.blocks) {
      this.codes.set(codes, at);
      at += codes.length;
    }
    this.blocks = null;
  }
  word(code) {
    return code ? (this.words[code] ??= new Reader(new Uint8Array(this.data, this.places[code])).text()) : null;
  }
  different() {
    return this.words.slice(1).map((_, i) => this.word(i + 1));
  }
  get(row) {
    return this.word(this.codes[row]);
  }
}

// Numbers, rounded to `digits` digits; NaN is NULL.
class NumberColumn {
  constructor(digits = 17) {
    this.digits = digits;
    this.blocks = [];
    this.rows = 0;
  }
  add(bytes, rows) {
    const copy = bytes.slice().buffer; // where numbers may begin
    this.blocks.push([bytes.length < rows * 8 ? new Float32Array(copy) : new Float64Array(copy), rows]);
    this.rows += rows;
  }
  finish() {
    this.numbers = new Float64Array(this.rows);
    let at = 0;
    for (const [numbers, rows] of this.blocks) {
      if (numbers.length < rows) this.numbers.fill(numbers[0], at, at + rows);
      else this.numbers.set(numbers, at);
      at += rows;
    }
    this.blocks = null;
  }
  get(row) {
    return this.numbers[row];
  }
}

const COLUMN_KINDS = { n: () => new NameColumn(), w: () => new WordColumn(), d: () => new NumberColumn(), r: () => new NumberColumn(7) };

// {name: {rows, columns: {name: column}}}
function decodeTables(bytes) {
  const reader = new Reader(bytes), tables = {};
  for (let length; (length = reader.varint()); ) {
    const name = utf8.decode(reader.take(length));
    const columns = [], table = { rows: 0, columns: {} };
    for (let count = reader.varint(); count > 0; count--) {
      const called = reader.text(), kind = String.fromCharCode(reader.take(1)[0]);
      columns.push((table.columns[called] = COLUMN_KINDS[kind]()));
    }
    for (let rows; (rows = reader.varint()); table.rows += rows)
      for (const column of columns) column.add(reader.take(reader.varint()), rows);
    for (const column of columns) column.finish();
    tables[name] = table;
  }
  return tables;
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const packed = atob(text), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

async function loadTables(part) {
  const element = document.getElementById(part), bytes = fromBase64(element.textContent.trim());
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return decodeTables(new Uint8Array(await new Response(stream).arrayBuffer()));
}

// The rows of a table as objects: for small ones.
function rowsOf(table) {
  const names = Object.keys(table.columns);
  return Array.from({ length: table.rows }, (_, row) =>
    Object.fromEntries(names.map((name) => [name, table.columns[name].get(row)])));
}
