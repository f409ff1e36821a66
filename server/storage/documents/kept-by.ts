/** Values that follow from an object, made once and collected together with it. */

export const keptBy = <Key extends object, T extends object | boolean>(
  make: (key: Key) => T,
): ((key: Key) => T) => {
  const kept = new WeakMap<Key, T>()
  return (key) => {
    const before = kept.get(key)
    if (before !== undefined) return before
    const value = make(key)
    kept.set(key, value)
    return value
  }
}
