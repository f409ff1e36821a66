/** The languages of the pages: complete catalogues, and the choice of one for a visitor. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ClientScope } from '#schemas/kinds/clients/client-scope.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { createTranslator } from '#server/http/pages/catalogues.ts'
import { pickLocale } from '#server/http/pages/locale.ts'
import { findTemplates } from '#server/http/pages/pages.ts'
import { bareServer } from '../http/bare-server.ts'
import { examples } from './examples.ts'
import { exampleServer, rtlLocale } from './server.ts'

const templates = findTemplates()
const files = readdirSync(join(templates, 'messages'))
const read = (file: string): Record<string, string> =>
  JSON.parse(readFileSync(join(templates, 'messages', file), 'utf8'))

describe('the catalogues', () => {
  const english = read('en.json')
  const source = readdirSync(templates, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.eta'))
    .map((file) => readFileSync(join(templates, file), 'utf8'))
    .join('\n')
  const literals = [...source.matchAll(/'([a-z][\w.-]*)'/g)].map((match) => match[1] ?? '')
  const holes = (text: string | undefined) => (text ?? '').match(/\{\w+\}/g)?.sort() ?? []

  it('are those of five languages', () => {
    expect(files).toEqual(['de.json', 'en.json', 'es.json', 'fr.json', 'nl.json'])
  })

  it('have no text that no page uses', () => {
    const unused = Object.keys(english).filter(
      (key) =>
        key !== 'language' &&
        !literals.includes(key) &&
        !literals.some((start) => start.endsWith('.') && key.startsWith(start)),
    )
    expect(unused).toEqual([])
  })

  it('tell the scopes that every realm is born with in the words of the realm', () => {
    const born = seeds
      .filter(({ kind }) => kind === ClientScope)
      .map(({ doc }) => [`scope.${doc['name']}`, doc['description']])
    const told = Object.entries(english).filter(([key]) => key.startsWith('scope.'))
    expect(told).toEqual(born)
  })

  it.each(files)('%s has the same texts with the same placeholders', (file) => {
    const texts = read(file)
    expect(Object.keys(texts)).toEqual(Object.keys(english))
    for (const [key, text] of Object.entries(english))
      expect(holes(texts[key]), key).toEqual(holes(text))
  })

  it.each(files.filter((file) => file !== 'en.json'))('%s is translated', (file) => {
    const texts = read(file)
    const same = Object.keys(english).filter(
      (key) => texts[key] === english[key] && (english[key] ?? '').split(' ').length > 2,
    )
    expect(same.filter((key) => !key.startsWith('title.'))).toEqual([])
  })

  it('fr.json has no-break spaces around its punctuation: a line never begins with a question mark', () => {
    const breakable = Object.entries(read('fr.json')).filter(([, text]) => / [?!:;»]|« /.test(text))
    expect(breakable).toEqual([])
  })
})

describe('a name within a sentence', () => {
  const english = createTranslator({ dir: 'ltr', asks: '{application} asks for 1.' }, {})
  const hebrew = createTranslator({ dir: 'rtl', asks: '{application} asks for 1.' }, {})
  const asks = (application: string, say = english) => say('asks', { application })

  it('has its own direction where the sentence has another (UAX #9)', () => {
    expect(asks('Karten')).toBe('Karten asks for 1.')
    expect(asks('Karten', hebrew)).toBe('\u2068Karten\u2069 asks for 1.')
    for (const name of ['متجر', 'חנות!', 'A ܐ', '\u{1e900}'])
      expect(asks(name)).toBe(`\u2068${name}\u2069 asks for 1.`)
  })

  it('does not turn the words after it around', () => {
    for (const control of '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069') {
      expect(asks(`Maps${control}`)).toBe('Maps asks for 1.')
      expect(asks(`חנות\u2069${control}`)).toBe('\u2068חנות\u2069 asks for 1.')
    }
  })
})

describe('the language of a page', () => {
  const { app, pages } = exampleServer({})
  afterAll(() => app.close())
  const languageOf = (body: string) => /<html lang="(\w+)" dir="(\w+)">/.exec(body)?.slice(1)

  it.each([
    [[undefined], 'en'],
    [[''], 'en'],
    [['nl'], 'nl'],
    [['de-AT, en;q=0.8'], 'de'],
    [['fr, nl;q=0.5, de; q=0.7'], 'de'],
    [['nl;q=0, de;q=0.1'], 'de'],
    [['*'], 'en'],
    [['nl;q=x'], 'en'],
    [['fr de-CH nl'], 'de'],
    [['fr', 'nl'], 'nl'],
    [['de', 'nl'], 'de'],
    [[`${'xx,'.repeat(5000)}nl`], 'en'],
  ])('for %j is %s', (wishes, locale) => {
    expect(pickLocale(wishes, ['de', 'en', 'nl'], 'en')).toBe(locale)
  })

  it.each(pages.locales)('can be %s on every page', async (locale) => {
    for (const example of Object.keys(examples)) {
      const { statusCode, body } = await app.inject(`/${example}?lang=${locale}`)
      expect(statusCode, example).toBe(200)
      expect(languageOf(body), example).toEqual([locale, locale === rtlLocale ? 'rtl' : 'ltr'])
      expect(body, example).not.toMatch(/\{\w+\}|undefined|\[object/)
    }
  })

  it('is switched by a link that keeps the rest of the address, and stays switched', async () => {
    const first = await app.inject('/login?brand=a%26b&lang=de')
    expect(languageOf(first.body)).toEqual(['de', 'ltr'])
    expect(first.body).toContain(
      'href="?brand=a%26b&amp;lang=nl" lang="nl" hreflang="nl">Nederlands<',
    )
    expect(first.body).toContain('lang="de" hreflang="de" aria-current="true">Deutsch<')
    const [cookie] = first.cookies
    expect(cookie).toMatchObject({ name: 'iam-locale', value: 'de', path: '/', httpOnly: true })
    const next = await app.inject({
      url: '/totp',
      cookies: { 'iam-locale': 'de' },
      headers: { 'accept-language': 'fr' },
    })
    expect(languageOf(next.body)).toEqual(['de', 'ltr'])
    expect(next.cookies).toEqual([])
  })

  it('is not switched to what does not exist', async () => {
    const { body, cookies } = await app.inject('/login?lang=tlh&lang=xx')
    expect(languageOf(body)).toEqual(['en', 'ltr'])
    expect(cookies).toEqual([])
    const planted = await app.inject({ url: '/login', cookies: { 'iam-locale': '"><script>' } })
    expect(languageOf(planted.body)).toEqual(['en', 'ltr'])
  })

  it('is one that the realm supports, and of its own choice where nothing else decides', async () => {
    const { app: bare } = bareServer()
    const settings = { supportedLocales: ['nl', 'fr', 'tlh'], defaultLocale: 'fr' }
    bare.get<{ Querystring: { ui_locales?: string } }>('/', async (request) =>
      pages.language(request, settings, request.query.ui_locales),
    )
    const answers = await Promise.all(
      ['/?ui_locales=de', '/?ui_locales=nl-BE%20en', '/'].map(async (url) =>
        (await bare.inject(url)).json(),
      ),
    )
    expect(answers.map(({ locale }) => locale)).toEqual(['fr', 'nl', 'fr'])
    expect(answers[0].locales).toEqual(['fr', 'nl'])
    await bare.close()
  })

  it('is offered only where there is a choice, and where the page can be shown again', async () => {
    for (const example of ['recovery-codes', 'error', 'signed-out'])
      expect((await app.inject(`/${example}`)).body, example).not.toContain('class="languages"')
  })
})
