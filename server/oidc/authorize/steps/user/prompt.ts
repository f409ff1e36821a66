/** `prompt` (OIDC Core §3.1.2.1): known values, each once; `none` stands alone. */

import { invalidRequest } from '../../../errors.ts'
import type { Prompt, Step } from '../../authorize-request.ts'

export const prompts: readonly Prompt[] = ['none', 'login', 'consent', 'select_account']

const isPrompt = (text: string): text is Prompt => prompts.some((one) => one === text)

export const prompt: Step = ({ parameters }) => {
  const wanted = (parameters.get('prompt') ?? '').split(' ').filter((one) => one !== '')
  const known = wanted.filter(isPrompt)
  if (known.length < wanted.length)
    throw invalidRequest(`prompt has an unknown value: use ${prompts.join(', ')}`)
  if (known.includes('none') && known.length > 1)
    throw invalidRequest('the prompt none cannot be combined with others')
  return { prompt: [...new Set(known)] }
}
