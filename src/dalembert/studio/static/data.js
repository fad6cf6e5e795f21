/** Messages of the studio: a JSON header and arrays of 32-bit floats. */

/** The header and the arrays by name. @param {ArrayBuffer} buffer */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, { shape, place }] of Object.entries(header.arrays)) {
    const size = shape.reduce((a, b) => a * b, 1);
    arrays[name] = { shape, values: new Float32Array(buffer, 4 + length + 4 * place, size) };
  }
  return { header, arrays };
}

/** The message in an exported page: gzip in base64. */
export async function unpackExported(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unpack(await new Response(stream).arrayBuffer());
}

/** The number of the last time that is not after `now`, and how far it is to the next one, from 0 to 1. */
export function place(times, now) {
  let low = 0;
  let high = times.length - 1;
  if (high < 1 || now <= times[0]) return [0, 0];
  if (now >= times[high]) return [high - 1, 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= now) low = middle;
    else high = middle;
  }
  return [low, (now - times[low]) / (times[high] - times[low])];
}

/** A number for readers. */
export function words(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}
