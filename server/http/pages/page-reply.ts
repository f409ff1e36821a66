/** Pages in the API description. */

export const pageReply = (description: string) => ({
  description,
  content: { 'text/html': { schema: { type: 'string' } } },
})
