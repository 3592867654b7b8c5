import { entityTag } from '../entity-tags.ts'
import type { PublishedDocument, PublishedProject } from './publisher.ts'

/** The keys of `jwks.json`, each after a line with its kid and alg, which PEM readers skip. */
export function pemSet({ pemKeys }: PublishedProject): PublishedDocument {
  const blocks = pemKeys
    .filter(({ isCommon }) => isCommon)
    .map(({ kid, alg, publicKeyPem }) => `# kid ${kid}, alg ${alg}\n${publicKeyPem}`)
  return documentOf(blocks.length === 0 ? '# No key is active.\n' : blocks.join(''))
}

/** The PEM of an active key; undefined if there is none with this kid. */
export function pemOfKey(
  { pemKeys }: PublishedProject,
  wanted: string,
): PublishedDocument | undefined {
  const key = pemKeys.find(({ kid }) => kid === wanted)
  return key && documentOf(key.publicKeyPem)
}

function documentOf(body: string): PublishedDocument {
  return { body, etag: entityTag(body) }
}
