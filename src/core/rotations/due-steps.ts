import { errorTable, PubringError } from '../../errors.ts'
import { readCaller } from '../access/callers.ts'
import { identityOf } from '../api-keys/authentication.ts'
import type { Context } from '../context.ts'
import type { RotationRecord } from '../records.ts'
import { now } from '../times.ts'

/** Milliseconds between two looks for due steps. */
const intervalMs = 1_000

/** Steps taken between two looks. */
const maxSteps = 100

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
  const due = await context.store.dueRotations(now(context.clock), maxSteps)
  for (const rotation of due) await takeStep(context, rotation).catch(onError)
}

/** With the rights that its author has now, and by the rules of a step by hand. */
async function takeStep(context: StepContext, rotation: RotationRecord): Promise<void> {
  const { store, clock, config } = context
  const { id, projectId, authorType, authorId } = rotation
  if (authorType === undefined || authorId === undefined) return
  const credential = { type: authorType, id: authorId }
  const origin = { requestId: id, time: now(clock) }
  try {
    const { sessionIdleTimeout, recentSignIn, jwksMaxAge } = config
    const caller = await readCaller(store, credential, origin.time, sessionIdleTimeout)
    const { actor } = identityOf(caller)
    const authorization = { credential, access: stepAccess, projectId, recentSignIn }
    await store.commit({
      type: 'rotation.step',
      origin: { ...origin, actor, authorization },
      projectId,
      id,
      jwksMaxAge,
    })
  } catch (error) {
    if (!isRefusal(error)) throw error
    await store.commit({
      type: 'rotation.wait',
      origin: { ...origin, actor: { name: 'pubring serve' } },
      projectId,
      id,
      authorId,
      reason: error.code,
    })
  }
}

/** Of the same steps by hand. */
export const stepAccess = { role: 'writer' } as const

/** Whether the error is one that repeating does not mend. */
function isRefusal(error: unknown): error is PubringError {
  return error instanceof PubringError && errorTable[error.code].status < 500
}
