/** Picks the language of a page from `Accept-Language` (RFC 9110 §12.5.4, lookup of RFC 4647 §3.4). */

const MAX_RANGES = 20

export const pickLocale = (
  acceptLanguage: string | undefined,
  available: readonly string[],
  fallback: string,
): string => {
  const wanted = (acceptLanguage ?? '')
    .split(',', MAX_RANGES)
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  for (const { tag } of wanted) {
    const language = tag.split('-')[0]
    const found = available.find((one) => one === tag) ?? available.find((one) => one === language)
    if (found !== undefined) return found
  }
  return fallback
}
