/** Every error has its code and place, and a suggestion where one is likely. */
import { describe, expect, it } from 'vitest'
import { codes } from '#cli/validate/codes.ts'
import { brokenRealms } from './cases.ts'
import { check, lineOf } from './check.ts'

const cases = brokenRealms()

describe.each([...cases.keys()])('%s', (name) => {
  it.each(cases.get(name) ?? [])('$title', async ({ text, expected }) => {
    const { diagnostics } = await check(text)
    expect(diagnostics.map(lineOf)).toEqual(expected)
  })
})

describe('the cases', () => {
  const all = [...cases.values()].flat()

  it('are many, and each of its own', () => {
    expect(all.length).toBeGreaterThanOrEqual(60)
    expect(new Set(all.map(({ title }) => title)).size).toBe(all.length)
  })

  it('cover every code that a realm can be given', () => {
    const shown = new Set(all.flatMap(({ expected }) => expected.map((line) => line.split(' ')[1])))
    const ofRealms = codes.filter(
      ({ code }) =>
        !/^(file|estate|yaml|realm|duplicate|overlay|variable|reference|secret)-/.test(code) ||
        code === 'secret-storage',
    )
    expect(ofRealms.map(({ code }) => code).filter((code) => !shown.has(code))).toEqual([])
  })
})
