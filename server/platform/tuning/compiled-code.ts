/** The fast code that V8 makes of functions that are called often: when it is made, and that it is kept. */

import { executionAsyncResource } from 'node:async_hooks'
import { setV8Flags } from './v8-flags.ts'

/**
 * Left alone, V8 makes its fastest code of a function after thousands of calls. A sign-in, of which there are a few in a
 * second, was still at its slower code after eight thousand.
 *
 * It throws code away as well when no object of a layout that the code counts on is alive at a collection that is to
 * save memory. That happens to requests and their objects when the server is idle for some seconds: the next thousands of
 * sign-ins were slow again.
 *
 * Called when the server has started: what a start runs once is not worth the work.
 */
export const keepCodeFast = (): void =>
  setV8Flags(
    '--invocation-count-for-maglev=100',
    '--invocation-count-for-turbofan=500',
    '--retain-maps-for-n-gc=1000',
    '--no-memory-reducer-favors-memory',
  )

const kept: object[] = []

/**
 * Node.js makes an object for every tick, of which a request with a form takes six. Where none is alive at a collection
 * that is to save memory, V8 forgets their layout, and whatever it then compiles builds each of them by four calls to the
 * runtime: three of the fifty microseconds of a small request. One that stays keeps the layout known.
 *
 * Called before the first collection, for what is forgotten once is not learnt again.
 */
export const keepTickLayout = (): void =>
  process.nextTick(() => {
    kept[0] = executionAsyncResource()
  })
