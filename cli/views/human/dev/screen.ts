/** Whether there is a terminal on which a screen can be drawn and keys be read. */

export const hasScreen = (): boolean =>
  process.stdout.isTTY === true && process.stdin.isTTY === true && process.env['TERM'] !== 'dumb'
