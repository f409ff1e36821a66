/**
 * Where things are that the operations of a test made, so that what is below them can be asked for. Only the
 * description's own paths are used: a new operation finds its place without a line here.
 */

/** A name that nothing has. */
const nothing = 'nothing-has-this-name'

const nameless = (path: string): string => path.replace(/\{\w+\}/g, '{}')

export interface Place {
  readonly url: string
  /** Whether something is known to be there. */
  readonly known: boolean
}

export interface Places {
  /** Something was made: its address, and the path that the description has for it. The first one stays. */
  remember(path: string, url: string): void
  find(path: string): Place
}

export const createPlaces = (): Places => {
  /** The address of one thing, by its path without the names of parameters. */
  const things = new Map<string, string>()

  /** A parameter that names something of another collection: `roleId` is one of `roles`. */
  const elsewhere = (parameter: string): string | undefined => {
    const collection = `/${parameter.replace(/Id$/, '')}s/{}`
    const [, url] = [...things].find(([path]) => path.endsWith(collection)) ?? []
    return url?.split('/').at(-1)
  }

  return {
    remember: (path, url) => {
      if (!things.has(nameless(path))) things.set(nameless(path), url)
    },
    find: (path) => {
      let url = ''
      let prefix = ''
      let known = true
      for (const segment of path.split('/').slice(1)) {
        const parameter = /^\{(\w+)\}$/.exec(segment)?.[1]
        prefix = `${prefix}/${parameter === undefined ? segment : '{}'}`
        if (parameter === undefined) url = `${url}/${segment}`
        else {
          const there = things.get(prefix)
          const value = there === undefined ? elsewhere(parameter) : undefined
          known &&= there !== undefined || value !== undefined
          url = there ?? `${url}/${value ?? nothing}`
        }
      }
      return { url, known }
    },
  }
}
