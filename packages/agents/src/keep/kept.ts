import { join } from 'node:path'
import { present } from '@pubring/server/runtime/present'
import { AgentError } from '../error.ts'
import { inFolder } from '../folder.ts'
import { fileNameOf } from '../follow/published-keys.ts'
import { formatPair, type Pair, parsePair, privatePem } from './pair.ts'

/** A registered pair, in a folder of its own. */
export interface KeptPair extends Pair {
  kid: string
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
  const { kid, ...pair } = parsePair(text) ?? {}
  if (text !== undefined && (kid === undefined || !('jwk' in pair))) {
    throw new AgentError('error', `${join(dir, 'current.jwk')} is not a key that was kept here.`)
  }
  const pairs = (await Promise.all(names.map((name) => readPair(dir, name)))).flat()
  const found = pairs.find((one) => one.kid === kid)
  const current = found ?? (kid !== undefined && 'jwk' in pair ? { ...pair, kid } : undefined)
  const old = pairs.filter((one) => one.kid !== kid && one.kid !== next?.kid)
  return { ...present({ current, next }), old }
}

async function readPair(dir: string, name: string): Promise<KeptPair[]> {
  // The folder of a whole volume has one that only root can read.
  const isOther = ['current', 'lost+found'].includes(name) || name.endsWith('.jwk')
  if (name.startsWith('.') || isOther) return []
  return inFolder(dir, join(dir, name), async (folder) => {
    const pair = parsePair(await folder.read('key.jwk'))
    if (pair?.kid === undefined) return []
    const [since, ended] = [await folder.read('since'), await folder.read('ended')]
    return [{ ...pair, kid: pair.kid, ...present({ since, ended }) }]
  }).catch((error) => {
    // Links and files of others; a pair that cannot be read must not be taken for one that has ended.
    if (['ELOOP', 'ENOENT', 'ENOTDIR'].includes(error.code)) return []
    throw error
  })
}

export async function writeNext(dir: string, pair: Pair): Promise<void> {
  await inFolder(dir, dir, (folder) => folder.replace('next.jwk', formatPair(pair), mode))
}

/** Forgets the pair that was prepared: it is the current one, or of no use. */
export async function dropNext(dir: string): Promise<void> {
  await inFolder(dir, dir, (folder) => folder.remove('next.jwk'))
}

/** Makes it the current pair: `current.jwk` decides. Pairs that ended in an earlier turn are removed. */
export async function switchTo(
  dir: string,
  pair: Pair & { kid: string },
  old: readonly KeptPair[],
): Promise<void> {
  await inFolder(dir, pairFolder(dir, pair.kid), async (folder) => {
    await folder.replace('private.pem', privatePem(pair), mode)
    await folder.replace('kid', pair.kid, mode)
    await folder.replace('key.jwk', formatPair(pair), mode)
  })
  await inFolder(dir, dir, async (folder) => {
    for (const { kid } of old) await folder.remove(fileNameOf(kid))
    await folder.replace('current.jwk', formatPair(pair), mode)
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
