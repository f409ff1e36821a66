/** Runs the jobs of some queues that are due now, and no longer. */
import type { JobHandler } from '#server/jobs/job.ts'
import type { Jobs } from '#server/jobs/queue.ts'

export const runJobs = async (jobs: Jobs, ...handlers: readonly JobHandler[]): Promise<void> => {
  const running = await jobs.start(handlers)
  await running.idle()
  await running.stop()
}
