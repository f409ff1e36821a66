/**
 * Runs tasks of one name after each other, tasks of different names beside each other. Where the storage is unavailable for
 * a task, it is so for those that wait for it: they end with it, instead of one limit of time after the other.
 */

import { StorageUnavailableError } from '#server/storage/contract.ts'

export type Queue = <T>(name: string, task: () => Promise<T>) => Promise<T>

interface Waiting {
  readonly begin: () => void
  readonly reject: (error: unknown) => void
}

export const createQueue = (): Queue => {
  const lines = new Map<string, Waiting[]>()

  const turn = async (name: string): Promise<Waiting[]> => {
    const line = lines.get(name)
    if (line) {
      await new Promise<void>((begin, reject) => line.push({ begin, reject }))
      return line
    }
    const first: Waiting[] = []
    lines.set(name, first)
    return first
  }

  return async (name, task) => {
    const line = await turn(name)
    try {
      return await task()
    } catch (error) {
      if (error instanceof StorageUnavailableError)
        for (const { reject } of line.splice(0)) reject(error)
      throw error
    } finally {
      const next = line.shift()
      if (next) next.begin()
      else lines.delete(name)
    }
  }
}
