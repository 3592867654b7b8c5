import { errorTable, PubringError } from '../../errors.ts'
import type { Context } from '../context.ts'
import type { RotationWithActors } from '../records.ts'
import { now } from '../times.ts'

/** Milliseconds between two looks for due steps. */
const intervalMs = 1_000

/** Rotations read at once. */
const pageSize = 100

type StepContext = Pick<Context, 'store' | 'clock' | 'config'>

/**
 * Takes the scheduled steps of rotations when they are due. Every server of a database runs this: the
 * transaction of a step takes it once. A look that finds nothing costs one lookup in an index.
 */
export function createRotationSchedule(
  context: StepContext,
  onError: (error: unknown) => void,
): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function schedule(): void {
    if (isClosed) return
    timer = setTimeout(async () => {
      await takeDueSteps(context, onError).catch(onError)
      schedule()
    }, intervalMs).unref()
  }
  schedule()
  return {
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** A step that fails is left for the next look, and does not keep the others from being taken. */
export async function takeDueSteps(
  context: StepContext,
  onError: (error: unknown) => void,
): Promise<void> {
  const time = now(context.clock)
  let due = await context.store.dueRotations(time, pageSize)
  while (due.length > 0) {
    for (const rotation of due) {
      if (!rotation.contradicted) await takeStep(context, rotation).catch(onError)
    }
    due = await context.store.dueRotations(time, pageSize, due.at(-1))
  }
}

/** In the name of its author. Where that is refused, the rotation waits for a caller. */
async function takeStep(
  { store, clock, config: { jwksMaxAge } }: StepContext,
  { id, projectId, author, scheduledBy }: RotationWithActors,
): Promise<void> {
  if (author === undefined) return
  // No request made them.
  const origin = { requestId: id, time: now(clock) }
  const step = { projectId, id, authorId: author.id, jwksMaxAge }
  try {
    // The names of people are not stored with their events.
    const actor = scheduledBy.user === undefined ? scheduledBy : { ...scheduledBy, name: '' }
    await store.commit({ type: 'rotation.step', origin: { ...origin, actor }, ...step })
  } catch (error) {
    if (!isRefusal(error)) throw error
    const actor = { name: 'pubring serve' }
    const reason = error.code
    await store.commit({ type: 'rotation.wait', origin: { ...origin, actor }, ...step, reason })
  }
}

/** Whether the error is one that repeating does not mend. */
function isRefusal(error: unknown): error is PubringError {
  return error instanceof PubringError && errorTable[error.code].status < 500
}
