/** Links that a terminal opens: OSC 8, of which the address is whole although the text that is shown is short. */

const terminals = new Set(['iTerm.app', 'WezTerm', 'vscode', 'ghostty'])
const terminalTypes = new Set(['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot'])
/** VTE 0.50 is the first with hyperlinks. */
const firstOfVte = 5000

/** Whether the terminal is known for it: in any other, a shortened address would be of no use. */
export const hasHyperlinks = (env: NodeJS.ProcessEnv): boolean => {
  // A multiplexer inherits the variables of the terminal, and may drop the links.
  if (env['TMUX'] !== undefined || env['STY'] !== undefined) return false
  return (
    terminals.has(env['TERM_PROGRAM'] ?? '') ||
    terminalTypes.has(env['TERM'] ?? '') ||
    env['WT_SESSION'] !== undefined ||
    env['KONSOLE_VERSION'] !== undefined ||
    Number(env['VTE_VERSION'] ?? 0) >= firstOfVte
  )
}

/** The address as printable ASCII, as OSC 8 demands it: the URL parser encodes everything else. Only of http and https. */
export const addressIn = (text: string): string | undefined => {
  const [found] = /https?:\/\/\S+/.exec(text) ?? []
  const address = found === undefined ? undefined : URL.parse(found)?.href
  return address !== undefined && /^[!-~]+$/.test(address) ? address : undefined
}

/** Without its middle where it is too wide: begin and end tell links apart. */
const shortened = (text: string, width: number): string => {
  if (text.length <= width) return text
  const kept = Math.max(0, width - 1)
  const end = Math.floor(kept / 2)
  return `${text.slice(0, kept - end)}…${text.slice(text.length - end)}`
}

export const hyperlink = (address: string, width: number): string =>
  `\u001b]8;;${address}\u001b\\${shortened(address, width)}\u001b]8;;\u001b\\`
