/** Two texts as a unified diff, which `patch` and `git apply` take. */

interface Line {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

const context = 3

/** The furthest that can be come on every diagonal, step by step (Myers, 1986). */
const traceOf = (a: readonly string[], b: readonly string[]): Map<number, number>[] => {
  const trace: Map<number, number>[] = []
  const furthest = new Map([[1, 0]])
  for (let steps = 0; steps <= a.length + b.length; steps += 1) {
    trace.push(new Map(furthest))
    for (let k = -steps; k <= steps; k += 2) {
      const [left, right] = [furthest.get(k - 1) ?? -1, furthest.get(k + 1) ?? -1]
      let x = k === -steps || (k !== steps && left < right) ? right : left + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      furthest.set(k, x)
      if (x >= a.length && x - k >= b.length) return trace
    }
  }
  return trace
}

const linesBetween = (a: readonly string[], b: readonly string[]): Line[] => {
  const lines: Line[] = []
  let [x, y] = [a.length, b.length]
  for (const [steps, furthest] of [...traceOf(a, b).entries()].reverse()) {
    const k = x - y
    const [left, right] = [furthest.get(k - 1) ?? -1, furthest.get(k + 1) ?? -1]
    const isDown = k === -steps || (k !== steps && left < right)
    const fromX = isDown ? right : left
    const fromY = fromX - (isDown ? k + 1 : k - 1)
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x -= 1
      y -= 1
      lines.push({ sign: ' ', text: a[x] ?? '' })
    }
    if (steps === 0) break
    if (isDown) lines.push({ sign: '+', text: b[fromY] ?? '' })
    else lines.push({ sign: '-', text: a[fromX] ?? '' })
    x = fromX
    y = fromY
  }
  return lines.reverse()
}

/** The last line may have no break at its end, which is part of it here. */
const split = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

const printed = ({ sign, text }: Line): string =>
  text.endsWith('\n') ? sign + text : `${sign}${text}\n\\ No newline at end of file\n`

interface Hunk {
  readonly from: number
  until: number
}

/** Changes with so few lines between them that they are shown together. */
const hunksOf = (lines: readonly Line[]): Hunk[] => {
  const hunks: Hunk[] = []
  for (const [i, { sign }] of lines.entries()) {
    if (sign === ' ') continue
    const last = hunks.at(-1)
    if (last && i - last.until <= context) last.until = i + 1 + context
    else hunks.push({ from: Math.max(0, i - context), until: i + 1 + context })
  }
  return hunks
}

export const unifiedDiff = (file: string, before: string, after: string): string => {
  if (before === after) return ''
  const lines = linesBetween(split(before), split(after))
  const countIn = (from: number, until: number, skipped: '-' | '+'): number =>
    lines.slice(from, until).filter(({ sign }) => sign !== skipped).length
  const hunks = hunksOf(lines).map(({ from, until }) => {
    const [a, b] = [countIn(from, until, '+'), countIn(from, until, '-')]
    const startA = countIn(0, from, '+') + (a === 0 ? 0 : 1)
    const startB = countIn(0, from, '-') + (b === 0 ? 0 : 1)
    const body = lines.slice(from, until).map(printed).join('')
    return `@@ -${startA},${a} +${startB},${b} @@\n${body}`
  })
  return `--- a/${file}\n+++ b/${file}\n${hunks.join('')}`
}
