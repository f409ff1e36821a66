/** Whether the terminal can draw a screen and read keys. */

export const hasScreen = (): boolean =>
  process.stdout.isTTY === true && process.stdin.isTTY === true && process.env['TERM'] !== 'dumb'
