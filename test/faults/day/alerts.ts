import type { Firing } from '../../support/faults/prometheus.ts'

/** Something that was done to the system, from its beginning to its repair. Milliseconds since 1970. */
export interface Episode {
  kind: Kind
  from: number
  to: number
  /** The replica that it was done to; otherwise both. */
  instance?: string
}

type Kind =
  | 'kill'
  | 'replacement'
  | 'long death'
  | 'fail-over'
  | 'outage'
  | 'full disk'
  | 'private key'
  | 'key near its expiry'
  | 'damaged key'
  | 'wrong API keys'

/** The faults behind each alert: it must fire for the first kinds, and may for the others. */
const causes: Record<string, { must: Kind[]; may: Kind[] }> = {
  // A kill or a replacement takes longer than the alert allows if the machine is slow.
  PubringDown: { must: ['long death'], may: ['kill', 'replacement'] },
  PubringStorageUnreadable: { must: ['outage'], may: ['fail-over'] },
  PubringStorageUnwritable: { must: ['full disk'], may: ['outage', 'fail-over'] },
  PubringServesStaleKeySets: { must: ['outage'], may: ['fail-over', 'full disk'] },
  PubringErrors: { must: ['outage', 'full disk'], may: ['fail-over', 'long death', 'kill'] },
  // Changes wait for a fail-over, and here several faults follow each other in the time of the alert.
  PubringSlow: { must: [], may: ['fail-over', 'kill', 'replacement'] },
  PubringContradiction: { must: ['damaged key'], may: [] },
  PubringNoKeyBeforeExpiry: { must: ['key near its expiry'], may: [] },
  PubringPrivateKeySubmitted: { must: ['private key'], may: [] },
  PubringWrongApiKeys: { must: ['wrong API keys'], may: [] },
}

/**
 * The alerts that fired without a cause, that did not fire, and that fired more than once for the same
 * cause, which is the last one before. `slack`: milliseconds after the end of its cause in which an
 * alert may begin.
 */
export function findFaultyAlerts(
  firings: readonly Firing[],
  episodes: readonly Episode[],
  slack: number,
): string[] {
  const faults: string[] = []
  const isAt = (firing: Firing, { instance }: Episode) =>
    instance === undefined || firing.instance === '' || firing.instance === instance
  const seen = new Map<string, number>()
  for (const firing of firings) {
    const { must, may } = causes[firing.alert] ?? { must: [], may: [] }
    const cause = episodes
      .filter(({ kind }) => must.includes(kind) || may.includes(kind))
      .filter((episode) => isAt(firing, episode) && episode.from <= firing.from)
      .toSorted((a, b) => a.from - b.from)
      .at(-1)
    if (cause === undefined || firing.from > cause.to + slack)
      faults.push(`fired without a cause: ${JSON.stringify(firing)}`)
    const key = JSON.stringify([firing.alert, firing.instance, cause])
    seen.set(key, (seen.get(key) ?? 0) + 1)
  }
  for (const [key, count] of seen) if (count > 1) faults.push(`fired ${count} times: ${key}`)
  for (const [alert, { must }] of Object.entries(causes)) {
    for (const episode of episodes.filter(({ kind }) => must.includes(kind))) {
      const { from, to } = episode
      const hasFired = firings.some(
        (firing) =>
          firing.alert === alert &&
          isAt(firing, episode) &&
          firing.to >= from &&
          firing.from <= to + slack,
      )
      if (!hasFired) faults.push(`${alert} did not fire: ${JSON.stringify(episode)}`)
    }
  }
  return faults
}
