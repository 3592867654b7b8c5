import { commands } from '../commands.ts'
import { publicKeyOf } from '../kinds/public-jwk.ts'
import { parseJson } from '../secrets/markers.ts'
import type { Fault } from '../types.ts'
import { jwkFault } from './jwk.ts'
import { readServiceKeys } from './key-service.ts'

/**
 * The one key in the JSON of a key management service, as PEM, with the JWS algorithm that the service signs
 * with, or why there is not one key that signs; undefined for any other text.
 */
export function readServiceText(text: string): { pem: string; alg?: string } | Fault | undefined {
  const service = readServiceKeys(parseJson(text.replace(/^\uFEFF/, '').trim()))
  if (service === undefined) return undefined
  const name = `This is ${service.name}`
  const [key, ...older] = service.keys
  if (service.fault !== undefined || key === undefined) {
    return { code: 'not_for_signatures', detail: `${name} ${service.fault}` }
  }
  if (older.length > 0) {
    const detail = `${name} with ${older.length + 1} versions. Send one of them, or import all (${commands.importKeys('key.json')}). To print the newest: ${commands.printTransitKey}`
    return { code: 'jwk_submitted', detail }
  }
  if ('pem' in key) return key
  const fault = jwkFault(key.jwk, name)
  if (fault !== undefined) return { code: 'jwk_submitted', detail: fault.detail }
  try {
    return { pem: publicKeyOf(key.jwk).export({ type: 'spki', format: 'pem' }).toString() }
  } catch {
    return { code: 'jwk_submitted', detail: `${name} whose members make no public key.` }
  }
}
