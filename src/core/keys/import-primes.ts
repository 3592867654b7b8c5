import type { FieldError } from '../../errors.ts'
import type { Context } from '../context.ts'
import type { KeyToImport } from '../ledger/changes.ts'
import { sharedPrime } from './admission.ts'

/** What has been read of an import: the keys that may join, and what is wrong with the others. */
export interface ReadEntries {
  keys: KeyToImport[]
  refused: FieldError[]
}

/**
 * Refuses RSA keys that share a prime with one of the project or of the import, outside of the
 * change's transaction, since it takes long; those that join the project meanwhile are compared in it.
 */
export async function withoutSharedPrimes(
  context: Context,
  projectId: string,
  { keys, refused }: ReadEntries,
): Promise<ReadEntries & { compared: string[] }> {
  if (keys.every(({ key }) => key.jwk.kty !== 'RSA')) return { keys, refused, compared: [] }
  const others = await context.store.rsaKeys(projectId)
  const known = new Set(others.map(({ thumbprint }) => thumbprint))
  const fresh = keys.flatMap(({ index, key: { jwk, thumbprint } }) =>
    jwk.kty === 'RSA' && !known.has(thumbprint) ? [{ index, n: jwk.n }] : [],
  )
  const moduli = [...others, ...fresh].map(({ n }) => n)
  const found = await context.bulk.findSharedPrimes(moduli, others.length)
  const weak = new Map<number, FieldError>()
  fresh.forEach(({ index }, place) => {
    const sharer = found[place]
    if (sharer === undefined) return
    const inImport = `at /keys/${fresh[sharer - others.length]?.index} of this import`
    const fault = sharedPrime(others[sharer]?.kid ?? inImport)
    weak.set(index, { pointer: `/keys/${index}/publicKeyPem`, ...fault })
  })
  return {
    keys: keys.filter(({ index }) => !weak.has(index)),
    refused: [...refused, ...weak.values()],
    compared: others.map(({ kid }) => kid),
  }
}
