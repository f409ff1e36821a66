/** Steps that pass by themselves: the answer that led to one is followed by its own, in the same request. */

import type { Engine } from './engine.ts'
import type { Asked, Visitor } from './questions.ts'
import type { Answered, Refusal } from './step.ts'

const noFields = (): string => ''

/** The last question and its outcome. */
export interface Outcome {
  readonly asked: Asked
  readonly answered: Answered | Refusal
}

export const createAutomatic =
  (engine: Pick<Engine, 'ask' | 'answer' | 'isAutomatic'>) =>
  async (visitor: Visitor, first: Outcome): Promise<Outcome> => {
    let last = first
    // Only people from an identity provider have such steps.
    while (last.answered.kind === 'went-on' && last.answered.signIn.state.broker) {
      const asked = await engine.ask(visitor, last.answered.signIn)
      if (!asked || !(await engine.isAutomatic(visitor, asked))) return last
      last = { asked, answered: await engine.answer(visitor, asked, noFields) }
    }
    return last
  }
