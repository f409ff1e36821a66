/** The page of an address that nothing is at: a fault of the page is an answer, and the server goes on. */

import { expect, it } from 'vitest'
import { createPages, type Pages } from '#server/http/pages/pages.ts'
import { createUnroutedPage } from '#server/sign-in/pages/unrouted.ts'
import { bareServer } from '../../http/bare-server.ts'

const browser = { accept: 'text/html' }

it('answers 500 where the page cannot be made, and 404 again after that', async () => {
  const pages = createPages()
  let isBroken = true
  const error: Pages['error'] = (...page) => {
    if (isBroken) throw new Error('the template is broken')
    return pages.error(...page)
  }
  const showUnrouted = createUnroutedPage({
    pages: { ...pages, error },
    settingsOf: async () => null,
  })
  const { app } = bareServer({ showUnrouted })
  const open = () => app.inject({ url: '/realms/acme/nothing', headers: browser })
  expect((await open()).statusCode).toBe(500)
  isBroken = false
  expect((await open()).statusCode).toBe(404)
  await app.close()
})
