import type { Client } from '../../../client/src/index.ts'
import { algorithmNames } from '../../contract/algorithms.ts'
import { readConfiguration } from '../connection/configuration.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { withConnection } from '../connection/session.ts'
import { uniqueLength } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** A word that the shell offers. */
export interface Value {
  text: string
  /** Shown beside it. */
  about?: string
}

/** Longer makes a prompt seem to hang. */
const timeoutMs = 1_000

type LookUp = (client: Client, project: string) => Promise<Value[]>

/** By name of an argument, an option or its placeholder. */
const lookUps: Readonly<Record<string, LookUp>> = {
  project: async (client) => (await Array.fromAsync(client.projects.all())).map(named),
  key: async (client, project) => {
    const keys = await client.keys.list(project)
    const length = uniqueLength(keys.map(({ id }) => id))
    return keys.flatMap(({ id, label, algorithm }) => [
      { text: id.slice(0, length), about: formatDescription(label) },
      { text: label, about: algorithm },
    ])
  },
  'api-key': async (client) => (await client.apiKeys.list()).map(named),
  policy: async (client) => (await client.trustPolicies.list()).map(named),
}

function named({ name, id }: { name: string; id: string }): Value {
  return { text: name, about: id }
}

/** Where the shell offers files. */
export const fileKinds = ['file', 'path', 'source']

/** The values of a kind; none if the server cannot be asked at once. */
export async function valuesOf(
  terminal: Terminal,
  kind: string,
  flags: ConnectionFlags,
): Promise<Value[]> {
  if (kind === 'algorithm') return algorithmNames.map((text) => ({ text }))
  const lookUp = lookUps[kind]
  try {
    if (kind === 'profile') {
      const { profiles } = readConfiguration(terminal.env)
      return Object.entries(profiles).map(([text, { url = '' }]) => ({ text, about: url }))
    }
    // A token of a platform is not exchanged for an API key just to look.
    const connection = resolveConnection(terminal.env, flags)
    if (lookUp === undefined || connection.apiKey === undefined) return []
    let values: Value[] = []
    await withConnection(terminal, { ...connection, timeoutMs }, async ({ client, project }) => {
      values = await lookUp(client, project)
    })
    return values
  } catch {
    // An error would be written into the line that the user types.
    return []
  }
}

/** In one line. */
export function formatDescription(text: string): string {
  return text.replace(/\s+/g, ' ')
}
