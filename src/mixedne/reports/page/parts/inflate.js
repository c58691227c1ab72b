// Unpacking without waiting (RFC 1951): a print may be made in the moment when the page is loaded,
// and the browser's own DecompressionStream answers only later.

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163,
  195, 227, 258,
];
const LENGTH_BITS = [
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
  3073, 4097, 6145, 8193, 12289, 16385, 24577,
];
const ORDER_OF_LENGTHS = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** For every sequence of `most` bits, the symbol that it begins with, and how many bits it has. */
function huffman(lengths) {
  const most = Math.max(...lengths);
  const entries = new Uint16Array(1 << most);
  let code = 0;
  for (let length = 1; length <= most; length += 1, code <<= 1) {
    for (let symbol = 0; symbol < lengths.length; symbol += 1) {
      if (lengths[symbol] !== length) continue;
      let reversed = 0;
      for (let bit = 0; bit < length; bit += 1) reversed |= ((code >> bit) & 1) << (length - 1 - bit);
      for (let place = reversed; place < entries.length; place += 1 << length) {
        entries[place] = (symbol << 4) | length;
      }
      code += 1;
    }
  }
  return { most, entries };
}

/** Bits from bytes, the lowest first. */
class Bits {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 2; // after zlib's header
    this.held = 0;
    this.count = 0;
  }

  need(count) {
    while (this.count < count) {
      this.held |= (this.bytes[this.at] ?? 0) << this.count;
      this.at += 1;
      this.count += 8;
    }
  }

  drop(count) {
    this.held >>>= count;
    this.count -= count;
  }

  take(count) {
    this.need(count);
    const value = this.held & ((1 << count) - 1);
    this.drop(count);
    return value;
  }

  symbol({ most, entries }) {
    this.need(most);
    const entry = entries[this.held & ((1 << most) - 1)];
    this.drop(entry & 15);
    return entry >> 4;
  }

  /** Whole bytes, from the next one on. */
  slice(count) {
    this.at -= this.count >> 3;
    this.held = 0;
    this.count = 0;
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
}

/** The two codes of a block: as they are written in it, or those that need no writing. */
function codesOf(bits, kind) {
  if (kind === 1) {
    const fixed = Array.from({ length: 288 }, (_, x) => (x < 144 ? 8 : x < 256 ? 9 : x < 280 ? 7 : 8));
    return [huffman(fixed), huffman(new Array(30).fill(5))];
  }
  const [literals, distances, known] = [bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4];
  const lengths = new Array(19).fill(0);
  for (let place = 0; place < known; place += 1) lengths[ORDER_OF_LENGTHS[place]] = bits.take(3);
  const code = huffman(lengths);
  const all = [];
  while (all.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) all.push(symbol);
    else {
      const [value, times] = symbol === 16
        ? [all.at(-1), bits.take(2) + 3]
        : [0, symbol === 17 ? bits.take(3) + 3 : bits.take(7) + 11];
      for (let time = 0; time < times; time += 1) all.push(value);
    }
  }
  return [huffman(all.slice(0, literals)), huffman(all.slice(literals))];
}

/** The bytes that zlib packed. */
function inflate(packed) {
  const bits = new Bits(packed);
  let out = new Uint8Array(4 * packed.length + 1024);
  let size = 0;
  const reserve = (more) => {
    if (size + more <= out.length) return;
    const larger = new Uint8Array(2 * (size + more));
    larger.set(out);
    out = larger;
  };
  for (let last = 0; last === 0; ) {
    last = bits.take(1);
    const kind = bits.take(2);
    if (kind === 0) {
      const [low, high] = bits.slice(4);
      const stored = bits.slice(low + 256 * high);
      reserve(stored.length);
      out.set(stored, size);
      size += stored.length;
      continue;
    }
    const [literals, distances] = codesOf(bits, kind);
    for (let symbol = bits.symbol(literals); symbol !== 256; symbol = bits.symbol(literals)) {
      reserve(258);
      if (symbol < 256) {
        out[size] = symbol;
        size += 1;
        continue;
      }
      const length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]);
      const far = bits.symbol(distances);
      const distance = DISTANCE_BASE[far] + bits.take(far < 2 ? 0 : (far >> 1) - 1);
      for (let end = size + length; size < end; size += 1) out[size] = out[size - distance];
    }
  }
  return out.subarray(0, size);
}
