import type { KeyUse } from './types.ts'

/** The verdict about the use of a key, from what verifiers have reported. */
export type KeyUseSummary = {
  /**
   * - `in_use`: a token that was seen has not ended yet; without its `exp`, if it was seen within an hour.
   * - `not_reported`: all report, and none has seen it for longer than an hour and the longest interval.
   * - `unknown`: nobody reports, a verifier is silent, or the time is too short. Never take it for unused.
   */
  verdict: 'in_use' | 'not_reported' | 'unknown'
  /** The facts, in a sentence without a capital and a period. */
  text: string
}

const hourMs = 3_600_000

/** The verdict alone; `now` in epoch milliseconds. */
export function verdictOfUse(use: KeyUse, now: number): KeyUseSummary['verdict'] {
  const { since, interval, lastTime = '', lastExp, silent } = use
  const end = lastExp === undefined ? Date.parse(lastTime) + hourMs : Date.parse(lastExp)
  if (end > now) return 'in_use'
  const unseenMs = now - Math.max(Date.parse(since), Date.parse(lastTime) || 0)
  const isLong = unseenMs > Math.max(hourMs, interval * 1_000)
  return silent === 0 && isLong ? 'not_reported' : 'unknown'
}

/**
 * Puts `details.use` of a key into words, at the time `now` (epoch milliseconds). No verdict says that a
 * key is unused: nobody knows of verifiers that do not report.
 *
 * @example
 * const { details } = await client.keys.get('payments', kid)
 * console.log(summarizeUse(details.use, Date.now()).text)
 */
export function summarizeUse(use: KeyUse | undefined, now: number): KeyUseSummary {
  if (use === undefined) {
    return { verdict: 'unknown', text: 'no verifier reports uses, so it may be in use' }
  }
  const { since, lastTime, lastReporter, reporters, silent, silentSince = '' } = use
  const verdict = verdictOfUse(use, now)
  const isInUse = verdict === 'in_use'
  const seen =
    lastTime &&
    `seen ${duration(now - Date.parse(lastTime))} ago by ${lastReporter}${endText(use, now)}`
  const who =
    reporters === 1 ? 'the verifier that reports' : `the ${reporters} verifiers that report`
  const from = lastTime !== undefined && lastTime > since ? 'since then' : `since ${minute(since)}`
  const short = verdict === 'unknown' && silent === 0 ? ', too short a time to tell' : ''
  const unseen = isInUse || reporters === 0 ? '' : `no report of it ${from} by ${who}${short}`
  const have = silent === 1 ? '1 verifier has' : `${silent} verifiers have`
  const silence =
    silent > 0 &&
    `${have} been silent for ${duration(now - Date.parse(silentSince))}, so it may be in use`
  return {
    verdict,
    text: [seen, unseen, silence].filter(Boolean).join('; '),
  }
}

function endText({ lastExp }: KeyUse, now: number): string {
  if (lastExp === undefined) return ''
  return `; its last token ${Date.parse(lastExp) > now ? 'ends' : 'ended'} at ${minute(lastExp)}`
}

const units = [
  ['day', 86_400_000],
  ['hour', hourMs],
  ['minute', 60_000],
] as const

function duration(milliseconds: number): string {
  const [unit, size] = units.find(([, least]) => milliseconds >= least) ?? ['second', 1_000]
  const count = Math.max(1, Math.floor(milliseconds / size))
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** In UTC, rounded up, because a token must not seem to end earlier. */
function minute(time: string): string {
  const end = new Date(Math.ceil(Date.parse(time) / 60_000) * 60_000)
  return `${end.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
