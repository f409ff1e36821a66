/**
 * Stack traces that name the source. Node.js would read the map of every module as it loads it, 50 ms of CPU and 14 MB of
 * every start of the server; here a map is read when a trace goes through its file, and most processes never show one.
 */

import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Where a frame is: `file:///…/dist/chunks/app.js:5:1630`. */
const place = /(file:\/\/[^\s()]+):(\d+):(\d+)/

const readMap = (url: string): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')))
  } catch {
    // A trace as built says more than one that fails for want of a map.
    return undefined
  }
}

const sourceOf = (
  map: SourceMap,
  url: string,
  line: number,
  column: number,
): string | undefined => {
  const origin = map.findOrigin(line, column)
  if (!('fileName' in origin)) return undefined
  const file = fileURLToPath(new URL(origin.fileName, url))
  return `${file}:${origin.lineNumber}:${origin.columnNumber}`
}

const asBuilt = (frame: string): string => frame

/** Node.js reads the trace of whatever ends a stream; undici ends each connection that it closes with one of these. */
const isShown = (error: Error): boolean => !('code' in error) || error.code !== 'UND_ERR_DESTROYED'

/** From now on, in every trace that is read. */
export const nameSources = (): void => {
  const maps = new Map<string, SourceMap | undefined>()
  const named = (frame: string): string =>
    frame.replace(place, (found, url: string, line: string, column: string) => {
      if (!maps.has(url)) maps.set(url, readMap(url))
      const map = maps.get(url)
      return (map && sourceOf(map, url, Number(line), Number(column))) ?? found
    })
  Error.prepareStackTrace = (error, frames) => {
    const name = isShown(error) ? named : asBuilt
    return [
      Error.prototype.toString.call(error),
      ...frames.map((frame) => `    at ${name(String(frame))}`),
    ].join('\n')
  }
}
