/** README.md, run as a newcomer runs it. */
import { it } from 'vitest'
import { readme } from './pages.ts'
import { runPage } from './run-page.ts'

it('every command of README.md does what the page says', () => runPage(readme.text))
