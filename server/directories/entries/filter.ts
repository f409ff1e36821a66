/**
 * Filters of a directory. A username becomes the value of a comparison after the configured text has been parsed, so that no
 * character of the name can be read as a part of the filter (RFC 4515 §3).
 */

import {
  AndFilter,
  EqualityFilter,
  type Filter,
  FilterParser,
  NotFilter,
  OrFilter,
  PresenceFilter,
} from 'ldapts'

const placeholder = '{0}'

export const parseFilter = (text: string): Filter => FilterParser.parseString(text)

const mapped = (filter: Filter, change: (one: EqualityFilter) => Filter): Filter => {
  if (filter instanceof EqualityFilter) return change(filter)
  if (filter instanceof AndFilter)
    return new AndFilter({ filters: filter.filters.map((one) => mapped(one, change)) })
  if (filter instanceof OrFilter)
    return new OrFilter({ filters: filter.filters.map((one) => mapped(one, change)) })
  if (filter instanceof NotFilter) return new NotFilter({ filter: mapped(filter.filter, change) })
  return filter
}

/** The filter that finds the user with this name. */
export const filterForName = (template: string, username: string): Filter =>
  mapped(parseFilter(template), (one) =>
    one.value === placeholder
      ? new EqualityFilter({ attribute: one.attribute, value: username })
      : one,
  )

/** The filter that finds every user: any name will do. */
export const filterForAll = (template: string): Filter =>
  mapped(parseFilter(template), (one) =>
    one.value === placeholder ? new PresenceFilter({ attribute: one.attribute }) : one,
  )

/** The one entry of those that the filter finds. */
export const withId = (filter: Filter, attribute: string, value: string | Buffer): Filter =>
  new AndFilter({ filters: [filter, new EqualityFilter({ attribute, value })] })
