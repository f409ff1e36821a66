/** Text in printable ASCII, as OAuth wants error descriptions (RFC 6749 §5.2, RFC 7591 §3.2.2). */

/** Our own signs are spelled out; any other character becomes "?". */
export const asciiText = (text: string): string =>
  text
    .replaceAll('§', 'section ')
    .replaceAll('…', '...')
    .replaceAll(/[^\x20-\x7e]/g, '?')
