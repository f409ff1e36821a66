/** Reads the sign-in form. A field that is missing or given twice is empty: nothing is guessed, nothing skipped. */

export interface LoginForm {
  readonly username: string
  readonly password: string
  readonly rememberMe: boolean
  readonly csrf: string
}

/** The longest password, every character escaped, and the other fields. */
export const FORM_LIMIT = 16_384

export const readForm = (body: unknown): LoginForm => {
  const field = (name: string): string => {
    const value: unknown =
      typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
    return typeof value === 'string' ? value : ''
  }
  return {
    username: field('username'),
    password: field('password'),
    rememberMe: field('rememberMe') === 'true',
    csrf: field('_csrf'),
  }
}
