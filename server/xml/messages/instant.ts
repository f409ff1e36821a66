/** Times of messages and metadata (SAML Core §1.3.3): xs:dateTime in UTC. */

const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/

/** In epoch milliseconds; NaN where it is no time in UTC. */
export const instantOf = (text: string): number =>
  form.test(text) ? Date.parse(text.replace(/(\.\d{3})\d+Z$/, '$1Z')) : Number.NaN

/** As it is written. */
export const instant = (ms: number): string => new Date(ms).toISOString()
