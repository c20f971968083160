/** Places in a text: the server counts bytes of UTF-8, the browser counts UTF-16 units. */

const encoder = new TextEncoder();

export function toByteOffset(text: string, offset: number): number {
  return encoder.encode(text.slice(0, offset)).length;
}

export function fromByteOffset(text: string, bytes: number): number {
  let seen = 0;
  let offset = 0;
  for (const character of text) {
    if (seen >= bytes) break;
    seen += encoder.encode(character).length;
    offset += character.length;
  }
  return offset;
}
