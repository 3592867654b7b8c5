import type { JwtKey, JwtKeyUpdate } from '@pubring/client'
import { activeKeysEnd } from '@pubring/server/features/keys/patches'
import { isoTime } from '@pubring/server/kernel/values/times'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'

/** The members that decide whether, and until when, a key is active. */
export type KeyState = { active: boolean; expireTime?: string }

/**
 * Every command calls this before it changes keys: asks for a confirmation, or demands `--yes`, if the
 * change leaves the project without an active key, at once or once the last one has expired.
 */
export async function confirmLastActive(
  session: Session,
  { before, after }: { before: readonly KeyState[]; after: readonly KeyState[] },
  flags: YesFlag,
): Promise<void> {
  const { project, terminal } = session
  const now = isoTime(session.now())
  const activeOf = (keys: readonly KeyState[]) => keys.filter(({ active }) => active)
  const end = activeKeysEnd(activeOf(before), activeOf(after), now)
  if (end === undefined) return
  await confirm(terminal, flags, {
    statement:
      end === now
        ? `This removes the last active key of project ${project}: no token verifies then.`
        : `The last active key of project ${project} then expires at ${end}: no token verifies after that.`,
    question: 'Continue?',
    needsYes: true,
  })
}

/** The states of the keys once those with a patch, by kid, are patched. */
export function withPatches(
  keys: readonly JwtKey[],
  patches: ReadonlyMap<string, JwtKeyUpdate>,
): KeyState[] {
  return keys.map((key) => {
    const { active = key.active, expireTime = key.expireTime } = patches.get(key.id) ?? {}
    return typeof expireTime === 'string' ? { active, expireTime } : { active }
  })
}
