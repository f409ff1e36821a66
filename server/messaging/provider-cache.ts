/** Reusable objects of a provider: connections, tokens. A changed provider gets new ones. */

import type { Provider } from './driver.ts'

export interface ProviderCache<T> {
  of(provider: Provider, make: () => T): T
  drop(provider: Provider): void
  clear(): void
}

/** So many providers that were used last. */
const most = 100

export const createProviderCache = <T>(dispose: (value: T) => void): ProviderCache<T> => {
  const kept = new Map<string, { readonly version: number; readonly value: T }>()
  const drop = (id: string): void => {
    const found = kept.get(id)
    kept.delete(id)
    if (found) dispose(found.value)
  }
  return {
    of(provider, make) {
      const { id, version } = provider
      const found = kept.get(id)
      if (found?.version !== version) drop(id)
      const entry = found?.version === version ? found : { version, value: make() }
      kept.delete(id)
      kept.set(id, entry)
      const [oldest] = kept.keys()
      if (kept.size > most && oldest !== undefined) drop(oldest)
      return entry.value
    },
    drop: ({ id }) => drop(id),
    clear() {
      for (const id of [...kept.keys()]) drop(id)
    },
  }
}
