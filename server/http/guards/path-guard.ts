/**
 * Only one spelling of a path reaches a handler. A proxy in front of the server decides by the path as it
 * reads it; where the two read it differently (`/admin;x/`, `//`, `/%61dmin`, `/a/..%2fadmin`), its rules are
 * passed by (CVE-2026-0976, CVE-2026-15573). Parameters may hold anything percent-encoded, also slashes,
 * as the path of a group does. A path ends in a slash only where its route is declared with one.
 */

/** RFC 3986 §3.3 `pchar` and "/", without ";", which some proxies cut a segment at. */
const written = /^[A-Za-z0-9\-._~!$&'()*+,=:@%/]*$/
const dotSegment = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f]/

/** What is wrong with the path; undefined for a path in the one accepted spelling. Few need the pattern of their route. */
export const pathFault = (
  path: string,
  patternOf: () => string | undefined,
): string | undefined => {
  if (!path.startsWith('/')) return 'the request target must be a path'
  if (!written.test(path)) return 'it holds a character that must be percent-encoded'
  if (path.includes('//')) return 'it holds an empty segment'
  if (path.length > 1 && path.endsWith('/') && !patternOf()?.endsWith('/'))
    return 'it ends in a slash'
  if (dotSegment.test(path)) return 'it holds a dot segment'
  if (!path.includes('%')) return undefined
  return encodingFault(path.split('/'), patternOf()?.split('/') ?? [])
}

const encodingFault = (
  segments: readonly string[],
  pattern: readonly string[],
): string | undefined => {
  for (const [index, segment] of segments.entries()) {
    if (!segment.includes('%')) continue
    const expected = pattern[index]
    const isStatic = expected !== undefined && expected !== '*' && !expected.includes(':')
    if (isStatic) return 'a fixed part of it is percent-encoded'
    const decoded = decode(segment)
    if (decoded === undefined) return 'it holds a broken percent-encoding'
    if (control.test(decoded)) return 'it holds a control character'
    if (dotSegment.test(decoded)) return 'it holds a dot segment'
  }
  return undefined
}

const decode = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
