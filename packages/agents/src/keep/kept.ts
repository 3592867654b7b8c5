import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '@pubring/server/runtime/json'
import { AgentError } from '../error.ts'
import { inFolder } from '../folder.ts'
import { fileNameOf } from '../follow/published-keys.ts'
import { type Pair, privateKeyOf } from './pair.ts'

/** A registered pair. */
export type KeptPair = Pair & { kid: string }

/** What a keeper knows beside the registry: `keeper.json` in its folder. */
export interface Kept {
  current?: KeptPair
  /** ISO 8601: from when on the signer used the current pair. Undefined until `--exec` has succeeded. */
  since?: string | undefined
  /** The pair that is being prepared. */
  next?: Pair | undefined
  /** The pair before the current one, until its end is in the registry. */
  old?: KeptPair | undefined
  /** The kid of the pair whose end is in the registry: its folder goes in the next turn. */
  ended?: string
}

/** Private keys are readable by their owner alone. */
const mode = 0o600

const format = (value: object) => `${JSON.stringify(value, null, 2)}\n`

const inside: typeof inFolder = (dir, path, action) =>
  inFolder(dir, path, action).catch((error) => {
    throw new AgentError('error', `The folder ${dir} cannot be used (${error.message}).`)
  })

export async function readKept(dir: string): Promise<Kept> {
  const [state = '{}', jwk] = await inside(dir, dir, (folder) =>
    Promise.all([folder.read('keeper.json'), folder.read('current.jwk')]),
  )
  const kept: Kept = Object(parseJson(state))
  const kids = [kept.current?.kid, kept.old?.kid]
  if (jwk === undefined || kids.includes(String(Object(parseJson(jwk)).kid))) return kept
  const file = join(dir, 'current.jwk')
  const message = kept.current
    ? `${file} is not a key that was kept here. Move it to another place, and the keeper restores its own.`
    : `${join(dir, 'keeper.json')} with the state of ${file} is missing or empty. Restore it; or move current.jwk to another place, set PUBRING_API_KEY once, and start again with a new key.`
  throw new AgentError('error', message)
}

export async function writeKept(dir: string, kept: Kept): Promise<void> {
  await inside(dir, dir, (folder) => folder.replace('keeper.json', format(kept), mode))
}

/**
 * Gives the pair to the signer, writing only what is missing or different, and removes the folder of the
 * pair that has ended, unless the maker of `--from` went back to that pair.
 */
export async function handOver(dir: string, pair: KeptPair, ended?: string): Promise<void> {
  const name = fileNameOf(pair.kid)
  const pem = privateKeyOf(pair).export({ type: 'pkcs8', format: 'pem' })
  await inside(dir, join(dir, name), async (folder) => {
    await folder.replace('private.pem', String(pem), mode)
    await folder.replace('kid', pair.kid, mode)
  })
  await inside(dir, dir, async (folder) => {
    if (ended !== undefined && ended !== pair.kid) await folder.remove(fileNameOf(ended))
    await folder.replace('current.jwk', format(pair), mode)
    const target = await readlink(join(dir, 'current')).catch(() => undefined)
    if (target !== name) await folder.link('current', name)
  })
}
