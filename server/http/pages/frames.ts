/** Pages that are the same for many requests but for the values of their `fields`: what is around the values is kept. */

import type { Branding } from './branding.ts'
import type { PageContext } from './context.ts'

export interface Rendered {
  readonly html: string
  readonly policy: string
}

type Fields = Readonly<Record<string, string>>

interface Frame {
  /** The text before, between and after the values. */
  readonly pieces: readonly string[]
  readonly policy: string
}

/** Stands for a value; where a page has the character elsewhere, it is not kept. */
const hole = '\u0000'
/** Of each realm: forms of clients, in the languages of their users. */
const most = 200
const noBranding: Branding = {}

/** `escaped` makes text for HTML of a value; `render` makes a page in the ordinary way. */
export const createFrames = (escaped: (value: string) => string) => {
  const kept = new WeakMap<Branding, Map<string, Frame>>()

  return <Model extends PageContext>(
    page: Model & { readonly fields: Fields },
    named: string,
    render: (page: Model) => Rendered,
  ): Rendered => {
    const { branding = noBranding, fields, ...rest } = page
    const ofRealm = kept.get(branding) ?? new Map<string, Frame>()
    kept.set(branding, ofRealm)
    const names = Object.keys(fields)
    const key = JSON.stringify([named, names, rest])
    let frame = ofRealm.get(key)
    if (frame === undefined) {
      const holes = Object.fromEntries(names.map((name) => [name, hole]))
      const { html, policy } = render({ ...page, fields: holes })
      const pieces = html.split(hole)
      if (pieces.length !== names.length + 1) return render(page)
      frame = { pieces, policy }
      if (ofRealm.size >= most) ofRealm.clear()
      ofRealm.set(key, frame)
    }
    const { pieces, policy } = frame
    const values = Object.values(fields)
    const parts = pieces.flatMap((piece, at) =>
      at < values.length ? [piece, escaped(values[at] ?? '')] : [piece],
    )
    return { html: parts.join(''), policy }
  }
}
