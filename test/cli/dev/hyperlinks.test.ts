/** Terminals that get hyperlinks (OSC 8). Other terminals show addresses in full. */
import { describe, expect, it } from 'vitest'
import { hasHyperlinks } from '#cli/views/human/dev/hyperlinks.ts'

describe('whether a terminal opens hyperlinks', () => {
  it.each([
    { TERM_PROGRAM: 'iTerm.app' },
    { TERM_PROGRAM: 'WezTerm' },
    { TERM_PROGRAM: 'vscode' },
    { TERM_PROGRAM: 'ghostty' },
    { TERM: 'xterm-kitty' },
    { TERM: 'xterm-ghostty' },
    { TERM: 'alacritty' },
    { TERM: 'foot' },
    { WT_SESSION: 'b5e4…' },
    { KONSOLE_VERSION: '230804' },
    { VTE_VERSION: '5000' },
    { VTE_VERSION: '7600' },
  ])('is known of %j, and in no multiplexer', (env) => {
    const known: NodeJS.ProcessEnv = { TERM: 'xterm-256color', ...env }
    expect(hasHyperlinks(known)).toBe(true)
    expect(hasHyperlinks({ ...known, TMUX: '/tmp/tmux-0/default,1,0' })).toBe(false)
    expect(hasHyperlinks({ ...known, STY: '1.pts-0.host' })).toBe(false)
  })

  it.each([
    {},
    { TERM: 'xterm-256color' },
    { TERM: 'tmux-256color' },
    { TERM: 'linux' },
    { TERM_PROGRAM: 'Apple_Terminal' },
    { VTE_VERSION: '4999' },
    { VTE_VERSION: 'unknown' },
  ])('is not taken for granted of %j', (env) => {
    expect(hasHyperlinks(env)).toBe(false)
  })
})
