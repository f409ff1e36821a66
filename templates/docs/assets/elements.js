/** Makes elements. Everything is set as a property or as text, so that nothing from a document can become markup. */

export const el = (tag, properties = {}, ...children) => {
  const { role, ariaLabel, ...rest } = properties
  const element = Object.assign(document.createElement(tag), rest)
  if (role !== undefined) element.setAttribute('role', role)
  if (ariaLabel !== undefined) element.setAttribute('aria-label', ariaLabel)
  element.append(...children.filter((child) => child !== undefined))
  return element
}

export const chip = (text, kind = '') =>
  el('span', { className: `chip ${kind}`, textContent: text })

/** A `details` whose content is made when it is first opened. */
export const lazyDetails = (summary, make, properties = {}) => {
  const details = el('details', properties, summary)
  details.addEventListener('toggle', () => details.append(...make()), { once: true })
  return details
}
