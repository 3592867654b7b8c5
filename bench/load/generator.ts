/** The process that makes the requests: one task after the other, as its parent sends them. */
import process from 'node:process'
import { runLoad } from './run.ts'
import type { LoadMessage, LoadTask } from './task.ts'

process.on('message', async (task: LoadTask) => {
  const message: LoadMessage = await runLoad(task).then(
    (result) => ({ result }),
    (error) => ({ spoiled: error instanceof Error ? error.message : String(error) }),
  )
  process.send?.(message)
})
