/** Text and attribute values in canonical form (https://www.w3.org/TR/xml-c14n#ProcessingModel). */

const inText: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#xD;',
}

const inAttribute: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}

export const escapeText = (text: string): string =>
  /[&<>\r]/.test(text) ? text.replace(/[&<>\r]/g, (one) => inText[one] ?? one) : text

export const escapeAttribute = (value: string): string =>
  /[&<"\t\n\r]/.test(value)
    ? value.replace(/[&<"\t\n\r]/g, (one) => inAttribute[one] ?? one)
    : value
