/** A page that is wrong fails: the runner of the guides is itself tested with planted pages. */
import { describe, expect, it } from 'vitest'
import { stepsOf } from './blocks.ts'
import { fitsOutput, runPage } from './run-page.ts'

const withoutServer = (text: string): Promise<void> => runPage(`<!-- run: no server -->\n${text}`)

describe('a page', () => {
  it('passes, with a file, a kept variable and folder, and an expected exit code', () =>
    withoutServer(
      `
\`\`\`yaml
# some/shop.yaml
realm: shop
\`\`\`

\`\`\`sh
name=shop && cd some
\`\`\`

\`\`\`console
$ cat $name.yaml
# some/shop.yaml
realm: …
$ basename "$PWD"
some
\`\`\`

<!-- run: exit 3 -->
\`\`\`sh
true
exit 3
\`\`\`
`,
    ))

  it.each([
    ['a command that fails', '```sh\nfalse\ntrue\n```', /exit code 1 instead of 0/],
    ['another exit code', '<!-- run: exit 2 -->\n```sh\ntrue\n```', /exit code 0 instead of 2/],
    ['other output', '```console\n$ echo 1\n2\n```', /output differs/],
    ['more output', '```console\n$ echo 1; echo 2\n1\n```', /output differs/],
    ['a command that iamctl does not have', '```sh\niamctl nonesuch\n```', /unknown command/],
    [
      'a server that ends',
      '<!-- run: in the background until "ready" -->\n```sh\ntrue\n```',
      /ended early/,
    ],
  ])('fails for %s', async (_what, text, message) => {
    await expect(withoutServer(text)).rejects.toThrow(message)
  })

  it.each([
    ['a language that is not run', '```shell\ntrue\n```', /a block is sh, console/],
    ['an unknown marker', '<!-- run: never -->\n```sh\ntrue\n```', /unknown marker/],
    ['a marker without a block', '<!-- run: exit 2 -->\ntext', /line before its block/],
    ['a marker without a reason', '<!-- run: no, -->\n```sh\ntrue\n```', /unknown marker/],
    ['a block without an end', '```sh\ntrue\n', /has no end/],
  ])('is refused for %s', (_what, text, message) => {
    expect(() => stepsOf(text)).toThrow(message)
  })

  it('compares lines, with … for what differs', () => {
    expect(fitsOutput(['a', '…', 'd'], 'a\nb\nc\nd\n')).toBe(true)
    expect(fitsOutput(['revision … by …'], 'revision 7 by admin\n')).toBe(true)
    expect(fitsOutput(['a', '…', 'd'], 'a\nb\n')).toBe(false)
    expect(fitsOutput([], '')).toBe(true)
    expect(fitsOutput([], 'a\n')).toBe(false)
  })
})
