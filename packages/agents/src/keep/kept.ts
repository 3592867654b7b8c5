import { join } from 'node:path'
import { present } from '@pubring/server/runtime/present'
import { AgentError } from '../error.ts'
import { inFolder } from '../folder.ts'
import { fileNameOf } from '../follow/published-keys.ts'
import { formatPair, type Pair, parsePair, privateKeyOf } from './pair.ts'

/** A registered pair, in a folder of its own. */
export interface KeptPair {
  kid: string
  jwk: Pair
  /** ISO 8601: from when on the signer used it. Undefined until `--exec` has succeeded. */
  since?: string
  /** ISO 8601: the end that it has in the registry. */
  ended?: string
}

/** The pairs in the folder of a keeper, which are all of its state beside the registry. */
export interface Kept {
  current?: KeptPair
  /** The pair that is being prepared. */
  next?: Pair
  old: KeptPair[]
}

/** Private keys are readable by their owner alone. */
const mode = 0o600

const pairFolder = (dir: string, kid: string) => join(dir, fileNameOf(kid))

export async function readKept(dir: string): Promise<Kept> {
  const { names, text, next } = await inFolder(dir, dir, async (folder) => ({
    names: await folder.list(),
    text: await folder.read('current.jwk'),
    next: parsePair(await folder.read('next.jwk')),
  }))
  const pairs = (await Promise.all(names.map((name) => readPair(dir, name)))).flat()
  const current = pairs.find(({ kid }) => kid === parsePair(text)?.kid)
  if (text !== undefined && current === undefined) {
    throw new AgentError('error', `${join(dir, 'current.jwk')} is not a key that was kept here.`)
  }
  const old = pairs.filter(({ kid }) => kid !== current?.kid && kid !== next?.kid)
  return { ...present({ current, next }), old }
}

async function readPair(dir: string, name: string): Promise<KeptPair[]> {
  // The folder of a whole volume has one that only root can read.
  if (name.startsWith('.') || name === 'lost+found') return []
  return inFolder(dir, join(dir, name), async (folder) => {
    const jwk = parsePair(await folder.read('key.jwk'))
    if (jwk?.kid === undefined) return []
    const [since, ended] = [await folder.read('since'), await folder.read('ended')]
    return [{ kid: jwk.kid, jwk, ...present({ since, ended }) }]
  }).catch((error) => {
    // Links and files of others; a pair that cannot be read must not be taken for one that has ended.
    if (['ELOOP', 'ENOENT', 'ENOTDIR'].includes(error.code)) return []
    throw error
  })
}

/** Keeps the pair that is being prepared, or forgets it: it is the current one, or of no use. */
export async function putNext(dir: string, pair: Pair | undefined): Promise<void> {
  await inFolder(dir, dir, async (folder) => {
    if (pair === undefined) await folder.remove('next.jwk')
    else await folder.replace('next.jwk', formatPair(pair), mode)
  })
}

/** Makes it the current pair: `current.jwk` decides. Pairs that ended in an earlier turn are removed. */
export async function switchTo(
  dir: string,
  { kid, jwk }: KeptPair,
  old: readonly KeptPair[],
): Promise<void> {
  const pem = privateKeyOf(jwk).export({ type: 'pkcs8', format: 'pem' })
  await inFolder(dir, pairFolder(dir, kid), async (folder) => {
    await folder.replace('private.pem', String(pem), mode)
    await folder.replace('kid', kid, mode)
    await folder.replace('key.jwk', formatPair(jwk), mode)
  })
  await inFolder(dir, dir, async (folder) => {
    for (const each of old) await folder.remove(fileNameOf(each.kid))
    await folder.replace('current.jwk', formatPair(jwk), mode)
  })
}

/** Lets the link lead to the folder of the pair. */
export async function linkTo(dir: string, { kid }: KeptPair): Promise<void> {
  await inFolder(dir, dir, (folder) => folder.link('current', fileNameOf(kid)))
}

export async function note(
  dir: string,
  { kid }: KeptPair,
  name: 'since' | 'ended',
  time: string,
): Promise<void> {
  await inFolder(dir, pairFolder(dir, kid), (folder) => folder.replace(name, time, mode))
}
