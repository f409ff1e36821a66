/** Appends to the query of an address that stays as it is otherwise, byte for byte: it was registered like this. */

export const withQuery = (url: string, query: string | URLSearchParams): string =>
  `${url}${url.includes('?') ? '&' : '?'}${query}`
