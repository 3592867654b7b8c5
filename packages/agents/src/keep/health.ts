import { existsSync } from 'node:fs'
import type { Clock } from '@pubring/server/runtime/clock'
import { metricsText } from '../metrics.ts'
import type { Kept } from './kept.ts'

/** The current key has to be active for this time, in which somebody can come by. */
export const soonMs = 24 * 3_600_000

/** The state of the current key. Members that are unknown are taken to be well, as they were at the switch. */
export interface Health {
  /** The path of `current.jwk`. */
  file: string
  /** Undefined while another process may keep the folder. */
  kept?: Kept
  isActive?: boolean
  isCompromised?: boolean
  expireTime?: string | undefined
  /** What the keeper waits for, in the time of its clock. */
  next?: { step: string; at: number }
  errorAt?: number
}

/** Why the current key should not be relied on; undefined while all is well. */
export function problemOf(health: Health, clock: Clock): string | undefined {
  const { file, kept, isActive = true, isCompromised = false, expireTime } = health
  const kid = kept?.current?.kid
  const hasKey = existsSync(file) && (kept === undefined || kid !== undefined)
  if (!hasKey) return 'the first key is not in the folder yet'
  if (!isActive) return `the current key ${kid} is not active`
  if (isCompromised) return `others have the current key ${kid}: deactivate it`
  if (expireTime === undefined || Date.parse(expireTime) > clock.now() + soonMs) return undefined
  return `the current key ${kid} ends at ${expireTime}`
}

export function keeperMetrics(health: Health, clock: Clock): string {
  const { kept: { current: { kid = '' } = {}, since } = {}, next, errorAt } = health
  return metricsText({
    pubring_keep_ready: [
      'Whether the current key is active, and will be for a day: 0 or 1.',
      [[{}, Number(problemOf(health, clock) === undefined)]],
    ],
    pubring_keep_key_age_seconds: [
      'Time since the signer got the current key.',
      since === undefined ? [] : [[{ kid }, (clock.now() - Date.parse(since)) / 1_000]],
    ],
    pubring_keep_next_step_timestamp_seconds: [
      'When the next step is due.',
      next && Number.isFinite(next.at) ? [[{ step: next.step }, next.at / 1_000]] : [],
    ],
    pubring_keep_last_error_timestamp_seconds: [
      'When a step failed last.',
      errorAt === undefined ? [] : [[{}, errorAt / 1_000]],
    ],
  })
}
