/** The load generator process: runs one task after another, as its parent sends them. */
import process from 'node:process'
import { runLoad } from './run.ts'
import type { GeneratorCommand, GeneratorMessage } from './task.ts'

let stop = () => {}

process.on('message', async (command: GeneratorCommand) => {
  if ('stop' in command) return stop()
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const message: GeneratorMessage = await runLoad(command.task, stopped).then(
    (result) => ({ result }),
    (error) => ({ failure: error instanceof Error ? error.message : String(error) }),
  )
  process.send?.(message)
})
