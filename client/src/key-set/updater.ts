import type { Holding } from './cache.ts'
import { KeySetError } from './errors.ts'
import { askForKeySet, type KeySetAnswer } from './fetch.ts'
import { follow, type Hearing } from './follow.ts'
import type { KeySetOptions, KeySetState } from './options.ts'
import { waitInBackground } from './unref-sockets.ts'

/** Milliseconds that a held answer may be late before its connection counts as dead. */
const slack = 3_000

/** Keeps what is held up to date, and knows how well. */
export type Upkeep = {
  /** Asks at once, for somebody who waits for it. */
  ask(): Promise<void>
  /** Follows the key set while it is wanted; does nothing where it is followed already. */
  follow(wanted: () => boolean): void
  following(): boolean
  closed(): boolean
  state(): KeySetState
  close(): void
}

type Settings = Required<Pick<KeySetOptions, 'maxStale' | 'timeout' | 'fetch'>> &
  Pick<KeySetOptions, 'onChange'> & { url: string }

export function createUpkeep(settings: Settings, holding: Holding): Upkeep {
  const { url, maxStale, timeout, fetch } = settings
  const life = new AbortController()
  let hearing: Hearing = 'polling'
  let following = false
  /** Ends the question that waits for news. */
  let turn: AbortController | undefined
  let error: KeySetError | undefined
  const closed = () => life.signal.aborted

  function state(): KeySetState {
    const contact = holding.contact()
    return {
      status: statusOf(holding, closed() ? 'closed' : following ? hearing : 'idle', error),
      kids: [...(holding.contents()?.entries.keys() ?? [])],
      ...(contact === undefined ? {} : { contactTime: new Date(contact.wall) }),
      ...(error === undefined ? {} : { error }),
    }
  }
  const tell = announcer(state, holding, settings.onChange)
  function failed(reason: KeySetError): void {
    error = reason
    tell()
  }
  async function ask(wait: number, signal: AbortSignal) {
    const { etag } = holding.contents() ?? {}
    const asked = { etag, version: holding.version(), wait }
    const limit = wait === 0 ? timeout : wait * 1_000 + slack
    const question = { url, fetch, etag, wait, timeout: limit, signal, background: wait > 0 }
    const answer = await askForKeySet(question)
    if (closed()) throw new KeySetError('key_set_unavailable', 'The key set is closed.')
    holding.take(answer, asked)
    error = undefined
    return { answer, changed: holding.version() !== asked.version }
  }
  async function wait(seconds: number) {
    const present = new AbortController()
    turn = present
    try {
      return await ask(seconds, present.signal)
    } catch (reason) {
      if (present.signal.aborted) return undefined
      throw reason
    } finally {
      tell()
    }
  }
  return {
    async ask() {
      try {
        const { answer, changed } = await ask(0, life.signal)
        hearing = firstHearing(answer) ?? hearing
        if (!following) return
        // What waits has asked about the key set before: its answer would say nothing of this one.
        if (changed) turn?.abort()
        tell()
      } catch (reason) {
        if (reason instanceof KeySetError) failed(reason)
        throw reason
      }
    },
    follow(wanted) {
      if (following || closed()) return
      following = true
      const end = waitInBackground(url)
      const heard = (how: Hearing) => {
        hearing = how
      }
      void follow({ maxStale, wanted, wait, heard, failed }, life.signal).finally(() => {
        following = false
        end()
        tell()
      })
      tell()
    },
    following: () => following,
    closed,
    state,
    close() {
      life.abort()
      turn?.abort()
      tell()
    },
  }
}

/** Whether the first answer shows that preferences come through; it was sent with another tag. */
function firstHearing({ body, applied, age }: KeySetAnswer): Hearing | undefined {
  if (body === undefined) return undefined
  return applied !== undefined && (age ?? 0) === 0 ? 'live' : 'polling'
}

function statusOf(
  holding: Holding,
  usual: 'closed' | 'idle' | Hearing,
  error: KeySetError | undefined,
): KeySetState['status'] {
  if (usual === 'closed') return 'closed'
  if (holding.contents() === undefined) return 'empty'
  if (!holding.trusted()) return 'stale'
  return usual === 'idle' || error === undefined ? usual : 'interrupted'
}

/** Tells of changes, apart from what makes them: what the listener throws is its own affair. */
function announcer(
  state: () => KeySetState,
  holding: Holding,
  onChange: KeySetOptions['onChange'],
): () => void {
  let told = 'empty 0'
  return () => {
    if (onChange === undefined) return
    const present = state()
    const seen = `${present.status} ${holding.version()}`
    if (seen === told) return
    told = seen
    queueMicrotask(() => onChange(present))
  }
}
