import type { JwtKey, JwtKeyUpdate } from '@pubring/client'
import { activeKeysEnd } from '@pubring/server/features/keys/patches'
import { isoTime } from '@pubring/server/kernel/values/times'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'

/** The members that decide whether, and until when, a key is active, and in which key sets. */
export type KeyState = Pick<JwtKey, 'algorithm' | 'active' | 'expireTime'>

/**
 * Every command calls this before it changes keys: asks for a confirmation, or demands `--yes`, if the
 * change leaves the project or its `jwks.json` without an active key, at once or once the last one has
 * expired.
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
  const { time, isOfCommonJwks } = end
  const [place, effect] = isOfCommonJwks
    ? [' in jwks.json', 'verifiers that read it accept no token']
    : ['', 'no token verifies']
  const key = `last active key${place} of project ${project}`
  await confirm(terminal, flags, {
    statement:
      time === now
        ? `This removes the ${key}: ${effect} then.`
        : `The ${key} then expires at ${time}: ${effect} after that.`,
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
    const { algorithm } = key
    return { algorithm, active, ...(typeof expireTime === 'string' && { expireTime }) }
  })
}
